"""Timing: a sampler that works longer for larger noise tells how large the noise was.

A geometric variable drawn by tossing until the first head takes as many tosses as its value.  Who measures
the time of an answer knows the noise, subtracts it, and has the truth.  Discreet's sampler does the same
number of look-ups whatever it draws; how many depends on the scale only.

Work is counted twice: in coins asked for, which is exact, and in nanoseconds, which is what an attacker
sees on this machine, today, beside whatever else runs.

References.  Haeberlen, Pierce, Narayan, USENIX Security 2011; Jin, McMurtry, Rubinstein, Ohrimenko, IEEE
S&P 2022.
"""

from collections.abc import Callable
from fractions import Fraction
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attack.report import DISCREET, NAIVE, AttackReport, Figure
from discreet.audit.replay import Recorder
from discreet.exact.coins import _using, source
from discreet.exact.sample import bernoulli, two_sided_geometric


def tossed(alpha: Fraction) -> int:
    """Return two-sided geometric noise by a sign and tosses until a head: exact, slow, and telling."""
    while True:
        size, negative = 0, bernoulli(Fraction(1, 2))
        while bernoulli(alpha):
            size += 1
        # Zero has one sign only, or it would come up too often.
        if size or not negative:
            return -size if negative else size


def coins_asked(draw: Callable[[Fraction], int], alpha: Fraction, draws: int) -> NDArray[np.int64]:
    """Return each draw's absolute value and its number of requests for coins; the draws are NOT PRIVATE."""
    rows = []
    for _ in range(draws):
        recorder = Recorder(source())
        with _using(recorder):
            value = draw(alpha)
        rows.append((abs(value), len(recorder.tape)))
    return np.array(rows)


def nanoseconds(draw: Callable[[Fraction], int], alpha: Fraction, draws: int) -> NDArray[np.int64]:
    """Return for each draw its absolute value and how long it took."""
    rows = []
    for _ in range(draws):
        start = perf_counter_ns()
        value = draw(alpha)
        rows.append((abs(value), perf_counter_ns() - start))
    return np.array(rows)


def correlation(measured: NDArray[np.int64]) -> float:
    """Return Spearman's rank correlation of the two columns; 0 when one of them never varies."""
    from scipy.stats import rankdata

    ranks = [rankdata(column) for column in measured.T]
    if min(np.ptp(rank) for rank in ranks) == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def timing(scale: int = 50, draws: int = 3000) -> AttackReport:
    """Measure how much the time of one draw tells about its value."""
    alpha = 1 - Fraction(1, scale)
    samplers = {NAIVE: tossed, DISCREET: two_sided_geometric}
    found, points = {}, []
    for name, draw in samplers.items():
        draw(alpha)
        times = nanoseconds(draw, alpha, draws)
        coins = coins_asked(draw, alpha, draws // 4)
        found[name] = correlation(coins), correlation(times)
        points += _typical(times, name)
    return AttackReport(
        "timing",
        "Timing: how long the noise took",
        "Noise drawn by tossing coins until a head takes longer the larger it is. The attacker needs no "
        "answer at all, only a clock.\n\nDiscreet's sampler reads as many tables whatever it draws. "
        "Nanoseconds were measured on this machine as it was; the count of coins is exact.",
        ("sampler", "correlation of |noise| with coins used", "correlation with time"),
        tuple((name, f"{found[name][0]:.3f}", f"{found[name][1]:.3f}") for name in samplers),
        (
            Figure(
                "Time of one draw, by size of the noise",
                f"medians of {draws} draws at scale {scale}, in ten bins of equal count",
                "size of the noise",
                "microseconds",
                tuple(points),
                domain=(0.0, 1.05 * max(y for _, y, _ in points)),
            ),
        ),
        "No budget stops this one either: the leak is beside the answer. A sampler whose work does not "
        "depend on what it draws does; releasing answers at fixed times hides what the engine does.",
    )


def _typical(measured: NDArray[np.int64], name: str, bins: int = 10) -> list[tuple[float, float, str]]:
    order = measured[np.argsort(measured[:, 0], kind="stable")]
    return [
        (float(np.median(part[:, 0])), float(np.median(part[:, 1])) / 1000, name)
        for part in np.array_split(order, bins)
    ]
