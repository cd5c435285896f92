"""Refuting by running: when probabilities cannot be computed, they are estimated, and labelled as such.

Half of the runs choose the event, the other half test it.  With k hits in n fresh runs, the Clopper-Pearson
bounds contain the true probability with the stated confidence whatever it is; their quotient bounds the loss.
The verdict is about the program as executed, with continuous laws on their declared grid.
"""

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import islice

from flint import arb, ctx

from discreet.errors import ProgramError
from discreet.exact.number import exp_up, float_down, log_down
from discreet.verify.candidate import pairs
from discreet.verify.check import CheckedProgram
from discreet.verify.refute import claimed
from discreet.verify.run import ExactDraws, Value, execute
from discreet.verify.space import NeighbourPair
from discreet.verify.witness import Witness

ERROR = Fraction(1, 10**9)
"""The probability that a correct program is refuted, over the whole search."""
PAIRS = 12
MACHINE = ExactDraws(grid=Fraction(1, 1024))


def refute_by_sampling(checked: CheckedProgram, samples: int) -> Witness | None:
    """Return a counterexample that holds with confidence 1 - 10**-9, or None."""
    for pair in islice(pairs(checked), PAIRS):
        try:
            found = _test(checked, pair, samples)
        except ProgramError:
            continue
        if found is not None:
            return found
    return None


def _test(checked: CheckedProgram, pair: NeighbourPair, samples: int) -> Witness | None:
    claim = claimed(checked, pair.first)
    if claim is None:
        return None
    epsilon, delta = claim
    laws = [
        [_rounded(execute(checked, v, MACHINE)) for _ in range(samples)] for v in (pair.first, pair.second)
    ]
    half = samples // 2
    counts = [Counter(law[:half]) for law in laws]
    for first, second in ((0, 1), (1, 0)):
        event = max(counts[first], key=lambda o: counts[first][o] / (1 + counts[second][o]))
        hits = [sum(o == event for o in laws[side][half:]) for side in (first, second)]
        share = ERROR / (4 * PAIRS)
        low = lower_bound(hits[0], samples - half, share)
        high = upper_bound(hits[1], samples - half, share)
        if low > exp_up(epsilon) * high + delta:
            inputs = (pair.first, pair.second) if first == 0 else (pair.second, pair.first)
            return Witness(
                "sampled",
                {k: inputs[0][k] for k in pair.private},
                {k: inputs[1][k] for k in pair.private},
                {k: v for k, v in pair.first.items() if k not in pair.private},
                f"output rounds to {event}",
                (low, upper_bound(hits[0], samples - half, share)),
                (lower_bound(hits[1], samples - half, share), high),
                epsilon,
                delta,
                float_down(log_down(low / high)),
                1 - ERROR,
            )
    return None


def _rounded(output: tuple[Value, ...]) -> Hashable:
    """Return an output with its numbers rounded to a power of two, signs kept: a coarse partition."""

    def coarse(value: Value) -> Hashable:
        if isinstance(value, list):
            return tuple(coarse(v) for v in value)
        if isinstance(value, Fraction):
            return (value > 0) - (value < 0), int(abs(value)).bit_length()
        return value if isinstance(value, bool | int) else str(value)

    return tuple(coarse(v) for v in output)


def lower_bound(hits: int, runs: int, error: Fraction) -> Fraction:
    """Return p such that at least this many hits have probability at most `error` under p or less."""
    return 1 - upper_bound(runs - hits, runs, error)


def upper_bound(hits: int, runs: int, error: Fraction) -> Fraction:
    """Return p such that at most this many hits have probability at most `error` under p or more."""
    if hits >= runs:
        return Fraction(1)
    low, high = Fraction(hits, runs), Fraction(1)
    for _ in range(40):
        middle = (low + high) / 2
        if _tail_at_most(hits, runs, middle, error):
            high = middle
        else:
            low = middle
    return high


def _tail_at_most(hits: int, runs: int, p: Fraction, error: Fraction) -> bool:
    """Decide, erring towards no, whether Pr[Binomial(runs, p) <= hits] <= error."""
    with ctx.workprec(128):
        x = arb(p.numerator) / arb(p.denominator)
        # Pr[X <= k] is the regularised incomplete beta function I_{1-p}(n - k, k + 1).
        tail = (1 - x).beta_lower(arb(runs - hits), arb(hits + 1), regularized=True)
        return bool(tail <= arb(error.numerator) / arb(error.denominator))
