"""How often intervals hold the truth, for every kind of column, few people and many, at any noise."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.release.noisy import draw
from discreet.release.opening import open as open_session
from discreet.release.session import proved
from discreet.release.table import rows

TOP, SURE, RUNS = 100, 0.95, 2_000

Truth = Callable[[Any, Any], list[float | None]]


@dataclass(frozen=True)
class Kind:
    """A question with one measured column, its last, and the truth of its rows."""

    text: str
    truth: Truth
    closed: bool = True
    """Whether the noise has a closed form, so that intervals need not be wider than they say."""


def _spread(values: Any, *, sample: bool) -> float | None:
    return None if values.size < 2 else float(values.var(ddof=int(sample)))


def _cube(values: Any, wards: Any) -> list[float | None]:
    table = [[int(((wards == ward) & (values // 50 == half)).sum()) for half in (0, 1, 2)] for ward in (0, 1)]
    cells = [float(n) for line in table for n in line]
    return [
        *cells,
        *map(float, map(sum, table)),
        *map(float, np.sum(table, axis=0)),
        float(len(values)),
    ]


KINDS = {
    "count": Kind("SELECT COUNT(*) FROM t", lambda x, w: [float(x.size)]),
    "sum": Kind("SELECT SUM(x) FROM t", lambda x, w: [float(x.sum())]),
    "sum of two": Kind("SELECT COUNT(*) + SUM(x) FROM t", lambda x, w: [float(x.size + x.sum())]),
    "average": Kind("SELECT AVG(x) FROM t", lambda x, w: [float(x.mean()) if x.size else None]),
    "variance": Kind("SELECT VARIANCE(x) FROM t", lambda x, w: [_spread(x, sample=True)], closed=False),
    "deviation": Kind(
        "SELECT STDDEV_POP(x) FROM t",
        lambda x, w: [None if (v := _spread(x, sample=False)) is None else sqrt(v)],
        closed=False,
    ),
    "ratio": Kind(
        "SELECT SUM(x) / COUNT(*) FROM t", lambda x, w: [float(x.mean()) if x.size else None], closed=False
    ),
    "histogram": Kind(
        "SELECT w, COUNT(*) FROM t GROUP BY w", lambda x, w: [float((w == ward).sum()) for ward in (0, 1)]
    ),
    "averages": Kind(
        "SELECT w, AVG(x) FROM t GROUP BY w",
        lambda x, w: [float(x[w == ward].mean()) if (w == ward).any() else None for ward in (0, 1)],
    ),
    "distribution": Kind(
        "SELECT CDF(x, 4) FROM t",
        lambda x, w: [float((x * 4 // (TOP + 1) <= cell).sum()) for cell in range(4)],
        closed=False,
    ),
    "quantiles": Kind(
        "SELECT QUANTILES(x, [0.5]) FROM t",
        lambda x, w: [float(np.sort(x)[(x.size - 1) // 2]) if x.size else None],
        closed=False,
    ),
    "cube": Kind("SELECT w, h, COUNT(*) FROM t GROUP BY CUBE (w, h)", _cube, closed=False),
}


def holds(kind: Kind, people: int, epsilon: str, delta: str | None, runs: int) -> Iterator[list[bool]]:
    """Yield for every run whether each interval holds, in the order of rows."""
    random = np.random.default_rng(people)
    values, wards = random.integers(0, TOP + 1, people), np.arange(people) % 2
    frame = pd.DataFrame({"person": np.arange(people), "x": values, "w": wards, "h": values // 50})
    columns = {
        "x": {"type": "integer", "low": 0, "high": TOP, "nullable": False},
        "w": {"type": "integer", "low": 0, "high": 1},
        "h": {"type": "integer", "low": 0, "high": 2},
    }
    truths = kind.truth(values, wards)
    given = {"epsilon": epsilon} if delta is None else {"epsilon": epsilon, "delta": delta}
    with open_session(t=frame, unit="person", rows_per_unit=1, columns=columns, **given) as data:
        priced = data.quote(kind.text, epsilon=epsilon)
        exact = data.engine.run(proved(priced), 1)
    for _ in range(runs):
        found = rows(priced, draw(priced, exact))
        assert len(found) == len(truths)
        yield [_holds(row.spans[-1], truth) for row, truth in zip(found, truths, strict=True)]


def _holds(span: tuple[Fraction | None, Fraction | None], truth: float | None) -> bool:
    low, high = span
    # A thousandth of a unit for what floats make of the truth of a variance.
    return truth is None or (
        (low is None or float(low) <= truth + 1e-3) and (high is None or truth - 1e-3 <= float(high))
    )


@pytest.mark.fuzz
@pytest.mark.parametrize("people", [0, 1, 5, 40, 1000])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("delta", [None, "1e-5"])
@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_as_often_as_they_say(name: str, delta: str | None, epsilon: str, people: int) -> None:
    kind = KINDS[name]
    shares = np.mean(list(holds(kind, people, epsilon, delta, RUNS)), axis=0)
    # The suite has some hundreds of rows: 5.5 sigma below is a false alarm less than once in 10^7.
    assert (shares >= SURE - 5.5 * sqrt(SURE * (1 - SURE) / RUNS)).all(), shares
