"""How often intervals hold the truth, for every kind of column, few people and many, at any noise."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.query.check.question import Limits
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


@pytest.mark.fuzz
@pytest.mark.parametrize("people", [40, 1000])
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.closed])
def test_intervals_of_known_laws_are_no_wider_than_they_need_be(name: str, people: int) -> None:
    """At a small epsilon, where neither steps of noise nor the end of counts at zero widen them."""
    shares = np.mean(list(holds(KINDS[name], people, "0.1" if people > 40 else "1", None, RUNS)), axis=0)
    widest = 0.97 if people > 40 else 0.99
    assert (shares <= widest + 5.5 * sqrt(widest * (1 - widest) / RUNS)).all(), shares


@pytest.mark.fuzz
@pytest.mark.parametrize("people", [0, 1, 5, 40, 1000])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("column", ["COUNT(*)", "SUM(x)", "AVG(x)"])
def test_intervals_that_allow_for_a_limit_hold_as_often_as_they_say(
    column: str, epsilon: str, people: int
) -> None:
    """A quarter of the people have as many rows as anybody is assumed to have, and large numbers."""
    rows_of = np.where(np.arange(people) % 4 == 0, 9, 2)
    ids = np.repeat(np.arange(people), rows_of)
    values = np.where(rows_of[ids] == 9, TOP, 10) if people else np.zeros(0, dtype=int)
    truth = {"COUNT(*)": float(ids.size), "SUM(x)": float(values.sum())}.get(
        column, float(values.mean()) if people else None
    )
    frame = pd.DataFrame({"person": ids, "x": values})
    columns = {"x": {"type": "integer", "low": 0, "high": TOP, "nullable": False}}
    with open_session(t=frame, unit="person", rows_per_unit=3, columns=columns, epsilon=epsilon) as data:
        priced = data.quote(f"SELECT {column} FROM t", epsilon=epsilon, limits=Limits(rows_at_most=9))
        exact = data.engine.run(proved(priced), 1)
    held = [_holds(rows(priced, draw(priced, exact))[0].spans[0], truth) for _ in range(RUNS)]
    assert np.mean(held) >= SURE - 5.5 * sqrt(SURE * (1 - SURE) / RUNS)


@pytest.mark.fuzz
@pytest.mark.parametrize("people", [0, 1, 40, 1000])
@pytest.mark.parametrize("epsilon", ["0.1", "3"])
def test_cells_of_a_sparse_histogram_hold_as_often_as_they_say(epsilon: str, people: int) -> None:
    """Cells that stand alone and cells of blocks, of data with a peak and a tail."""
    runs, cells = 100, 1024
    values = np.random.default_rng(people).geometric(0.02, people) - 1
    values[: people // 4] = 700
    truth = np.bincount(np.minimum(values, cells - 1), minlength=cells)
    frame = pd.DataFrame({"person": np.arange(people), "x": values})
    columns = {"x": {"type": "integer", "low": 0, "high": cells - 1}}
    with open_session(t=frame, unit="person", rows_per_unit=1, columns=columns, epsilon=epsilon) as data:
        priced = data.quote(f"SELECT HISTOGRAM(x, {cells}) FROM t", epsilon=epsilon)
        exact = data.engine.run(proved(priced), 1)
    held = np.zeros(cells)
    for _ in range(runs):
        spans = [row.spans[-1] for row in rows(priced, draw(priced, exact))]
        held += [float(low) <= n <= float(high) for (low, high), n in zip(spans, truth, strict=True)]  # type: ignore[arg-type]
    # 1,024 cells in eight cases, each 6.3 sigma away at most.
    assert held.min() / runs >= SURE - 6.3 * sqrt(SURE * (1 - SURE) / runs)


@pytest.mark.fuzz
@pytest.mark.parametrize("people", [5, 40, 1000])
@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_counts_of_keys_that_are_found_hold_as_often_as_they_say(epsilon: str, people: int) -> None:
    """A key is shown because its noise was large enough, and its interval allows for that."""
    frame = pd.DataFrame({"person": np.arange(people), "k": ["a"] * people})
    given: dict[str, Any] = {"unit": "person", "rows_per_unit": 1, "columns": {"k": "text"}}
    with open_session(t=frame, epsilon=epsilon, delta="1e-3", **given) as data:
        priced = data.quote("SELECT k, COUNT(*) FROM t GROUP BY k", epsilon=epsilon)
        exact = data.engine.run(proved(priced), 1)
    found = [row for _ in range(RUNS) for row in rows(priced, draw(priced, exact))]
    shown = len(found)
    held = sum(_holds(row.spans[-1], float(people)) for row in found)
    assert shown < 50 or held / shown >= SURE - 5.5 * sqrt(SURE * (1 - SURE) / shown)
    assert people < 40 or shown >= RUNS // 2
