"""Groups that overlap are shown as they can be: not negative, in agreement, and no further from the truth."""

from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import pytest
from tests.query.questions import clinic

from discreet.query.check.batch import combine
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.expected import Quote
from discreet.query.price.quote import quote
from discreet.release.consistent import _sums, settled
from discreet.release.noisy import Noisy
from discreet.release.opening import open as open_session

CUBE = "SELECT ward, flag, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, flag)"
APART = "SELECT ward, flag, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), (flag))"
WARDS = "ABCDEFGHIJKLMNOPQRSTU"
"""So many that not one of their empty cells being drawn below zero is as good as impossible."""

BATCH = (
    "SELECT COUNT(*) FROM visits WHERE flag",
    "SELECT COUNT(*) FROM visits WHERE flag AND age > 90",
    "SELECT COUNT(*) FROM visits WHERE NOT flag",
    "SELECT COUNT(*) FROM visits",
)


def priced(*texts: str) -> Quote:
    catalog = clinic(unit=False)
    found = [check(read(text), catalog, batched=len(texts) > 1) for text in texts]
    return quote(found[0] if len(found) == 1 else combine(found, catalog).whole, epsilon=1)


@pytest.mark.parametrize("texts", [(CUBE,), (APART,), BATCH], ids=["cube", "two tables", "batch"])
def test_what_is_shown_is_possible_and_no_further_from_any_possible_truth(texts: tuple[str, ...]) -> None:
    asked = priced(*texts)
    keys = asked.checked.keys
    sums = _sums(keys)  # type: ignore[arg-type]
    random = Random(7)
    changed = False
    for _ in range(25):
        cells = np.array([random.choice((0, 0, 1, 4)) for _ in range(sums.cells)])
        off = np.array([random.gauss(0, 3) for _ in range(sums.cells)])
        truth = sums.apply(cells)
        drawn = tuple(Fraction(round(float(value) * 2**20), 2**20) for value in sums.apply(cells + off))
        found = settled(asked, Noisy(keys.product(), (drawn,)))  # type: ignore[union-attr]
        assert found is not None
        shown = np.array([float(value) for value in found.values[0]])  # type: ignore[arg-type]
        assert (shown >= 0).all()
        changed |= found.values[0] != drawn
        before, after = (float(((one - truth) ** 2).sum()) for one in (np.array(drawn, dtype=float), shown))
        assert after <= before * (1 + 1e-6) + 1e-6
        # The conditions of Karush, Kuhn and Tucker: no cell could be moved to come nearer.
        pull = sums.adjoint(shown - np.array(drawn, dtype=float))
        assert pull.min() >= -1e-3
    assert changed


def test_a_cube_adds_up_exactly_and_points_are_inside_their_intervals() -> None:
    """The twin that raises each cell to zero by itself contradicts its own totals."""
    frame = pd.DataFrame({"person": range(6), "ward": ["A", "A", "B", "B", "B", "B"], "flag": [True] * 6})
    columns = {"ward": {"values": [*WARDS]}, "flag": "boolean"}
    with open_session(people=frame, unit="person", rows_per_unit=1, epsilon=9, columns=columns) as data:
        asked = "SELECT ward, flag, COUNT(*) AS n FROM people GROUP BY CUBE (ward, flag)"
        # Points are outside of intervals that are rarely right: those are widened, and no point is moved.
        answer = data.query(asked, epsilon="0.5", confidence="0.1")
        table = {row.key: row.cells[-1] for row in answer.rows}
        drawn = {row.key: row.cells[-1] for row in data.query(asked, epsilon="0.5", postprocess=False).rows}
        spent = data.budget.limits[0].spent.epsilon
    assert spent == Fraction(1, 2)
    assert min(table.values()) >= 0  # type: ignore[type-var, operator]
    for shown in (table, drawn):
        for ward in WARDS:
            assert abs(sum(shown[ward, flag] for flag in (True, False)) - shown[ward, None]) < 1e-4  # type: ignore[misc]
    assert sum(table[ward, None] for ward in WARDS) == table[None, None]  # type: ignore[misc]
    assert min(drawn.values()) < 0  # type: ignore[type-var, operator]
    raised = {key: max(value, 0) for key, value in drawn.items()}  # type: ignore[type-var]
    assert sum(raised[ward, None] for ward in WARDS) != raised[None, None]
    for row in answer.intervals("0.1"):
        assert row["n_low"] <= row["n"] <= row["n_high"]


def test_a_batch_agrees_with_itself_and_its_intervals_stay_around_what_was_drawn() -> None:
    frame = pd.DataFrame({"person": range(3), "age": [30, 40, 50]})
    columns = {"age": {"type": "integer", "low": 0, "high": 99}}
    pairs = [f"SELECT COUNT(*) AS n FROM people WHERE age BETWEEN {k} AND {k + 1}" for k in range(0, 60, 2)]
    asked = [*pairs, "SELECT COUNT(*) AS n FROM people WHERE age < 60"]
    with open_session(people=frame, unit="person", rows_per_unit=1, epsilon=9, columns=columns) as data:
        released = data.batch(asked, epsilon="0.5")
        plain = data.batch(asked, epsilon="0.5", postprocess=False)
    *parts, whole = (release.value for release in released)
    assert min(parts) >= 0  # type: ignore[type-var, operator]
    assert sum(parts) == whole  # type: ignore[arg-type]
    assert min(release.value for release in plain) < 0  # type: ignore[type-var, operator]
    for one, other in zip(released, plain, strict=True):
        ((low, high),) = (row.spans[0] for row in one.rows)
        ((least, most),) = (row.spans[0] for row in other.rows)
        assert low <= one.value <= high  # type: ignore[operator]
        assert low <= least  # type: ignore[operator]
        assert high >= most  # type: ignore[operator]
