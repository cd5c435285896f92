"""Whether the runs of a black box look independent of each other, which every bound of an audit presumes.

Theorem.  If runs on the same input are independent and alike, their order carries nothing: given which
outputs occurred, all orders are equally likely.  Hence, exactly and for every mechanism,

    the number of runs of values above the median follows the law of Wald and Wolfowitz,
    the number of values above the median in the first half is hypergeometric, and
    among disjoint pairs of runs, those that are a fixed number of calls apart, or at the same place of two
    calls for many runs, hold two equal outputs as often as others: given how many do, the number among the
    former is hypergeometric.

The first notices noise that is correlated from call to call, the second a mechanism that changes with its
calls, the third answers that are remembered and noise that is used again.  A warning is given when the
smallest of all tails is below LEVEL divided by their number: independent runs cause one warning in a
thousand million audits.

A mechanism that answers the same in *every* run has either no noise or a memory, and no sequence of its
answers tells which: see `fresh`.

References.  Wald, Wolfowitz, Annals of Mathematical Statistics 11, 1940.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from discreet.audit.features import Column
from discreet.audit.grid import Grid
from discreet.audit.outputs import Layout, Matrix

LEVEL = 1e-9
"""The chance of a warning about runs that are independent."""

CONSIDERED = 20_000
"""Runs per input that are looked at."""

FEWEST = 20
"""Fewer runs than this say nothing about their order."""

COLUMNS = 4
"""Positions of an output whose order is tested."""

LAGS = (1, 2, 3, 4, 8, 10, 16, 32, 64, 100, 128, 256, 512, 1000, 1024)
"""How many calls apart outputs are compared."""


def dependence(layout: Layout, *inputs: Sequence[Matrix]) -> str | None:
    """Return why the runs behind these rows are not independent, if so.

    For each input the rows of several calls are given, in order.
    """
    found: list[tuple[float, str]] = []
    for calls in inputs:
        rows = np.concatenate(calls) if calls else np.empty((0, layout.columns))
        if len(rows) >= FEWEST:
            found += [*_tails(layout, rows[:CONSIDERED]), *_recurrences(layout, calls)]
    least, why = min(found, default=(0.0, ""))
    return why if found and least < log(LEVEL / len(found)) else None


def constant(layout: Layout, rows: Matrix) -> bool:
    """Return whether all of these rows are the same."""
    keys = Grid(tuple(range(layout.columns))).keys(rows)
    return len(rows) >= FEWEST and bool((keys == keys[0]).all())


def _tails(layout: Layout, rows: Matrix) -> Iterator[tuple[float, str]]:
    """Yield the logarithm of each tail, and what its smallness would mean."""
    for column in rows.T[: min(COLUMNS, layout.width)]:
        values = np.nan_to_num(column, nan=0.0)
        middle = np.median(values)
        for name, marks in (
            ("values", values > middle),
            ("sizes", np.abs(values - middle) > np.median(np.abs(values - middle))),
        ):
            yield _runs(marks), f"the {name} of consecutive outputs depend on each other"
            yield _halves(marks), f"the {name} of outputs change in the course of the runs"
    keys = Grid(tuple(range(layout.columns))).keys(rows)
    for lag in LAGS:
        if 8 * lag <= len(keys):
            words = "on consecutive calls" if lag == 1 else f"{lag} calls apart"
            yield _repeats(keys, lag), f"outputs {words} are the same far more often than others"


def _recurrences(layout: Layout, calls: Sequence[Matrix]) -> Iterator[tuple[float, str]]:
    grid = Grid(tuple(range(layout.columns)))
    for one, two in pairwise(calls):
        first, second = grid.keys(one), grid.keys(two)
        size = min(len(first), len(second) - 1) // 2 * 2
        if size >= FEWEST:
            # Even places are compared with the same place of the next call, odd ones with the place after it.
            same, other = first[:size:2] == second[:size:2], first[1:size:2] == second[2 : size + 1 : 2]
            yield _excess(same, other), "outputs of one call for many runs recur in the next"


def _runs(marks: NDArray[np.bool_]) -> float:
    """Return the logarithm of twice the smaller tail of the number of runs."""
    ones = int(marks.sum())
    zeros = len(marks) - ones
    if not ones or not zeros:
        return 0.0
    seen = 1 + int(np.count_nonzero(marks[1:] != marks[:-1]))
    runs = np.arange(2, 2 * min(ones, zeros) + 2)
    half = runs // 2
    even = log(2) + _choose(ones - 1, half - 1) + _choose(zeros - 1, half - 1)
    odd = np.logaddexp(
        _choose(ones - 1, half) + _choose(zeros - 1, half - 1),
        _choose(ones - 1, half - 1) + _choose(zeros - 1, half),
    )
    law = np.where(runs % 2 == 0, even, odd) - _choose(len(marks), np.array(ones))
    return _smaller(law[runs <= seen], law[runs >= seen])


def _halves(marks: NDArray[np.bool_]) -> float:
    """Return the logarithm of twice the smaller tail of how many marks lie in the first half."""
    first, ones = len(marks) // 2, int(marks.sum())
    seen = int(marks[:first].sum())
    law, where = _hypergeometric(len(marks), ones, first)
    return _smaller(law[where <= seen], law[where >= seen])


def _repeats(keys: NDArray[np.uint64], lag: int) -> float:
    """Return the logarithm of the upper tail of equal pairs `lag` apart, given how many pairs are equal."""
    half = len(keys) // 2
    near, far = keys[:half], keys[half:]
    # One block of pairs starts at an even call and one at an odd call: reuse may begin at either.
    quarter = half // 2
    parts = [near[:quarter], near[quarter + 1 :]]
    blocks = [part[: len(part) // (2 * lag) * 2 * lag].reshape(-1, 2, lag) for part in parts]
    close = np.concatenate([(block[:, 0] == block[:, 1]).ravel() for block in blocks])
    # Pairs folded around the middle have every distance, so that no period is common to them.
    folded = far[: len(far) // 2] == far[::-1][: len(far) // 2]
    return _excess(close, folded)


def _excess(some: NDArray[np.bool_], others: NDArray[np.bool_]) -> float:
    """Return the logarithm of the chance that so many marks, given their number, fall on `some`."""
    marked = int(some.sum()) + int(others.sum())
    law, where = _hypergeometric(len(some) + len(others), marked, len(some))
    return _total(law[where >= int(some.sum())])


def _hypergeometric(total: int, marked: int, drawn: int) -> tuple[Column, NDArray[np.intp]]:
    """Return the logarithms of the law of how many of the drawn are marked, and their values."""
    where = np.arange(max(0, drawn + marked - total), min(drawn, marked) + 1)
    law = _choose(marked, where) + _choose(total - marked, drawn - where)
    return law - _choose(total, np.array(drawn)), where


def _choose(n: int, k: NDArray[np.intp]) -> Column:
    """Return log of n over k, minus infinity where there is no way."""
    from scipy.special import gammaln

    inside = (k >= 0) & (k <= n)
    safe = np.where(inside, k, 0)
    ways = gammaln(n + 1.0) - gammaln(safe + 1.0) - gammaln(n - safe + 1.0)
    return np.where(inside, ways, -np.inf)


def _smaller(one: Column, two: Column) -> float:
    return min(0.0, log(2) + min(_total(one), _total(two)))


def _total(logs: Column) -> float:
    return float(np.logaddexp.reduce(logs)) if logs.size else -np.inf
