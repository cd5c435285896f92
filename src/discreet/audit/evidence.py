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

Theorem (betting).  For an event fixed before the game, 0 <= f < 1 and b = f / (exp(epsilon) + delta), the
capital  product over trials of 1 + b (correct - exp(epsilon) wrong - delta)  has mean at most 1, because the
bracket has mean c - exp(epsilon) w - delta <= 0 in every trial; so has an average over a fixed list of f,
and by Markov's inequality it reaches 1 / a with probability at most a.  At small a this refutes more by rare
decisive guesses than taking free ones away does, which pays for the worst number of them *and* for the worst
number of wrong guesses.  Report the last point of a fixed grid of epsilons up to
which all are refuted: it exceeds the truth e only if the first grid point at or above e was refuted, and e
private is private at that point too.  With delta, each of the two bounds is computed at a / 2.

References.  Clopper, Pearson, Biometrika 26, 1934.  Guessing with the option to pass: Steinke, Nasr,
Jagielski, NeurIPS 2023; Kairouz, Oh, Viswanath, ICML 2015 for privacy as a guessing game.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import log, nextafter

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

HAIR = 1e-9
"""Relative safety against rounding inside the incomplete beta function, which is good to about 1e-13."""

WORN = 1e-6
"""What rounding may have added to the logarithm of a capital, over as many as a billion trials."""

BETS = 12
"""Bets in the mixture: fractions of the largest admissible one, from a thousandth to nearly all."""

GRID = np.unique(np.concatenate([np.linspace(0, 4, 801), np.geomspace(1e-3, 40, 200)]))
"""The epsilons against which a capital is computed; the bound is one of them."""


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
    """Return the largest epsilon that this game refutes at confidence 1 - alpha; 0 when it refutes none.

    The event must have been fixed before the game.
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie strictly between 0 and 1, got {alpha}")
    if not delta:
        return guess_bound(tally.correct, tally.guesses, alpha)
    free = free_guesses(tally.trials, delta, tally.sides, alpha / 20)
    taken = guess_bound(tally.correct - free, tally.guesses - free, alpha * 9 / 20)
    return max(taken, betting_bound(tally, alpha / 2, delta))


def free_guesses(trials: int, delta: Fraction | float, sides: int, alpha: float) -> int:
    """Return how many guesses delta may have made right, but for a chance of alpha."""
    return upper_count(trials, min(1.0, nextafter(float(delta) * sides / 2, 2.0)), alpha) if delta else 0


def guess_bound(correct: int, guesses: int, alpha: float) -> float:
    """Return the epsilon whose share of right guesses is the lower Clopper-Pearson limit; at least 0."""
    q = lower_limit(max(0, correct), max(0, guesses), alpha)
    return max(0.0, (log(q) - log(1 - q)) * (1 - HAIR)) if q > 0.5 else 0.0


def betting_bound(tally: Tally, alpha: float, delta: Fraction | float) -> float:
    """Return the last epsilon of the grid up to which a mixture of bets refutes every one; at least 0."""
    mixed = mixture(log_capital(tally, GRID, float(delta) * tally.sides / 2))
    standing = np.flatnonzero(mixed < -log(alpha) + WORN)
    first = int(standing[0]) if standing.size else GRID.size
    return float(GRID[first - 1]) if first else 0.0


def log_capital(tally: Tally, grid: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    """Return the logarithm of the capital after these trials, for every epsilon and every bet."""
    loss, slack = np.exp(grid)[:, None] * (1 + HAIR), delta * (1 + HAIR)
    bets = np.geomspace(1e-3, 0.999, BETS)[None, :] / (loss + slack)
    return np.asarray(
        tally.correct * np.log1p(bets * (1 - slack))
        + tally.wrong * np.log1p(-bets * (loss + slack))
        + (tally.trials - tally.guesses) * np.log1p(-bets * slack)
    )


def mixture(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the average of capitals along the last axis."""
    peak = logs.max(axis=-1, keepdims=True)
    return np.asarray(peak[..., 0] + np.log(np.exp(logs - peak).mean(axis=-1)))
