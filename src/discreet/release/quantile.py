"""Quantiles read off released running counts: post-processing, so all levels come at the price of one.

The value at level q is where the running count first reaches the share q of the whole.  Its interval holds
every value for which that cannot be told apart with the stated confidence: see `discreet.workload.quantile`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.query.check.formula import Formula, Public, evaluate
from discreet.query.check.measurement import Measurement, RunningGroups
from discreet.query.plan import given
from discreet.query.price.expected import Quote
from discreet.query.price.together import Together, foreseen
from discreet.release.noisy import Key, Noisy
from discreet.workload.plan import Plan
from discreet.workload.quantile import read_quantiles, running_covariance


@dataclass(frozen=True, slots=True)
class Read:
    """A quantile of one group: the key with its level, the value, and the ends of its interval."""

    key: Key
    value: Fraction
    low: Fraction
    high: Fraction


def quantiles(priced: Quote, keys: RunningGroups, noisy: Noisy, confidence: Fraction) -> Iterator[Read]:
    """Yield the quantiles of every group, level by level."""
    match priced.shares:
        case [share] if isinstance(share.mechanism, Together) and isinstance(share.mechanism.plan, Plan):
            joint, plan = share.mechanism, share.mechanism.plan
        case _:
            raise TypeError("quantiles are read off one measurement of running counts")
    scale = share.measured.scale if isinstance(share.measured, Measurement) else 1
    known = foreseen(plan.workload, joint.bell)
    covariance = running_covariance(known.estimate) * (known.scale_to(plan) / scale**2)
    # One group after the other; where there are several, the first factor is theirs.
    own = np.diagonal(known.estimate.inverses[0]) if len(known.estimate.inverses) > 1 else np.ones(1)
    size = len(keys.columns[-1].values or ())
    low, high = given(keys.columns[-1].ends)
    for group, spread in enumerate(own):
        first = group * size
        running = np.array([float(value) for value in noisy.values[0][first : first + size]])  # type: ignore[arg-type]
        found = read_quantiles(
            running,
            covariance * spread,
            keys.levels,
            bell=joint.bell,
            grain=joint.grain,
            beta=1 - confidence,
        )
        key = noisy.keys[first][:-1]
        for level, quantile in zip(keys.levels, found, strict=True):
            yield Read(
                (*key, level),
                _end(high, key, quantile.cell),
                _end(low, key, quantile.low),
                _end(high, key, quantile.high),
            )


def _end(edge: Formula, key: tuple[Public, ...], cell: int) -> Fraction:
    value = evaluate(edge, (*key, cell), {})
    if not isinstance(value, int | Fraction):
        raise TypeError("the ends of cells are numbers")
    return Fraction(value)
