"""From a guessing game to a lower bound on epsilon.

The game.  Toss a fair coin in secret, run the mechanism on the left or on the right input accordingly, and
look only at the output: guess the coin, or pass.  Let c and w be the chances of a correct and of a wrong
guess in one trial.

Theorem.  If the mechanism is (epsilon, delta)-private on this pair, c <= exp(epsilon) w + delta. Proof.
"Right" is guessed on some set of outputs R, "left" on a disjoint L.  Then 2 c = Pr_right[R] + Pr_left[L]
and 2 w = Pr_left[R] + Pr_right[L]; apply the definition to R and to L and add.  If only one side is ever
guessed, delta / 2 suffices.

Theorem (pure).  Among m guesses of independent trials the number of correct ones is stochastically at most
Binomial(m, q), q = exp(epsilon) / (1 + exp(epsilon)).  So the Clopper-Pearson lower limit for q, turned back
into epsilon, holds with the stated confidence: exactly, for every sample size, both directions at once.
Proof.  Given that a trial is a guess, it is correct with probability c / (c + w) <= q.  It matters that the
coin is tossed afresh in every trial; with a fixed number of runs per input this would not be binomial.

Theorem (with delta).  A correct guess is called free with probability d / c, where d <= delta is what exceeds
exp(epsilon) w.  Free guesses are Binomial(N, d) among N trials, and given their number f the other correct
ones are at most Binomial(m - f, q).  Let f* be the upper limit for f at confidence 1 - a / 10.  Removing f*
guesses from both counts and applying Clopper-Pearson at 1 - 9 a / 10 gives a bound at confidence 1 - a, since
Pr[Binomial(m - f, q) >= k - f] grows with f.

References.  Clopper, Pearson, Biometrika 26, 1934.  Guessing with the option to pass: Steinke, Nasr,
Jagielski, NeurIPS 2023; Kairouz, Oh, Viswanath, ICML 2015 for privacy as a guessing game.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import log, nextafter

from discreet.errors import ParameterError

HAIR = 1e-9
"""Relative safety against rounding inside the incomplete beta function, which is good to about 1e-13."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How a guessing game went: trials played, guesses that were right and that were wrong."""

    trials: int
    correct: int
    wrong: int
    sides: int = 2

    def __post_init__(self) -> None:
        if min(self.trials, self.correct, self.wrong) < 0 or self.correct + self.wrong > self.trials:
            raise ParameterError("a tally needs correct + wrong guesses among its trials, none negative")

    @property
    def guesses(self) -> int:
        """Return how often a guess was made."""
        return self.correct + self.wrong

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.trials + other.trials,
            self.correct + other.correct,
            self.wrong + other.wrong,
            max(self.sides, other.sides),
        )


def lower_limit(successes: int, trials: int, alpha: float) -> float:
    """Return a p such that Pr[Binomial(trials, p) >= successes] <= alpha: the lower Clopper-Pearson limit."""
    from scipy.special import betainc, betaincinv

    if successes <= 0:
        return 0.0
    a, b = float(successes), float(trials - successes + 1)
    limit = float(betaincinv(a, b, alpha))
    # The inverse is only a guess; the tail itself decides, with room for its own rounding.
    shrink = HAIR
    while limit > 0 and float(betainc(a, b, limit)) > alpha * (1 - HAIR):
        limit *= 1 - shrink
        shrink *= 2
    return limit


def upper_count(trials: int, chance: float, alpha: float) -> int:
    """Return the least f with Pr[Binomial(trials, chance) > f] <= alpha."""
    from scipy.special import betainc

    def exceeds(f: int) -> bool:
        if f >= trials:
            return False
        return float(betainc(f + 1.0, float(trials - f), chance)) > alpha * (1 - HAIR)

    low, high = -1, 1
    while exceeds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return min(high, trials)


def epsilon_lower(tally: Tally, alpha: float, delta: Fraction | float = 0) -> float:
    """Return the largest epsilon that this game refutes at confidence 1 - alpha; 0 when it refutes none."""
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie strictly between 0 and 1, got {alpha}")
    correct, guesses, error = tally.correct, tally.guesses, alpha
    if delta:
        chance = nextafter(float(delta) * tally.sides / 2, 1.0)
        free = upper_count(tally.trials, chance, alpha / 10)
        correct, guesses, error = max(0, correct - free), max(0, guesses - free), alpha * 9 / 10
    q = lower_limit(correct, guesses, error)
    if q <= 0.5:
        return 0.0
    return max(0.0, (log(q) - log(1 - q)) * (1 - HAIR))
