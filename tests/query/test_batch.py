"""Counts, sums, averages, distributions and cubes of one table, in one plan and at one price."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.query.questions import clinic

from discreet.errors import ProofError, QueryError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.query.catalog.manifest import declare
from discreet.query.check.batch import combine
from discreet.query.check.measurement import Measurement
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.batch import parts
from discreet.query.price.either import Terms, converted
from discreet.query.price.mechanism import Price, PurePrice
from discreet.query.price.proving import declarations, proof_of
from discreet.query.price.quote import quote
from discreet.query.price.together import Swaps, Together, foreseen, moved, together
from discreet.query.proof import Blended, Claim, Reached, Swapped, SwappedAmong, prove
from discreet.query.rewrite.statements import statements
from discreet.release.opening import open as open_session
from discreet.workload import Matrix
from discreet.workload.strategy import matrix_of

MIXED = (
    "SELECT COUNT(*) AS n FROM t WHERE x > 4",
    "SELECT w, AVG(x) AS a FROM t GROUP BY w",
    "SELECT SUM(y) AS s FROM t WHERE w = 'A'",
    "SELECT CDF(x, 2) AS c FROM t",
    "SELECT w, f, COUNT(*) AS n FROM t GROUP BY CUBE (w, f)",
    "SELECT AVG(x) AS a, VAR_POP(y) AS v FROM t",
    "SELECT HISTOGRAM(x, 2) AS h FROM t WHERE f",
)
COLUMNS = {
    "x": {"type": "integer", "low": 0, "high": 9, "nullable": False},
    "y": {"type": "integer", "low": -5, "high": 20},
    "w": {"values": ["A", "B"]},
    "f": "boolean",
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(5)
    size = 300
    return pd.DataFrame(
        {
            "person": np.arange(size),
            "x": random.integers(0, 10, size),
            "y": pd.array([None if n % 7 == 0 else int(n % 26) - 5 for n in range(size)], dtype="Int64"),
            "w": random.choice(["A", "B", "Z"], size),
            "f": random.choice([True, False], size),
        }
    )


@pytest.mark.parametrize(
    "limits", [{"rows_per_unit": 1}, pytest.param({"rows_per_unit": 2}, marks=pytest.mark.fuzz)]
)
def test_a_batch_of_everything_says_what_its_questions_say_one_by_one(
    frame: pd.DataFrame, limits: dict[str, int]
) -> None:
    # Noise is held at a hundredth of a unit or so, whatever is paid.
    with open_session(t=frame, unit="person", epsilon=10**12, columns=COLUMNS, **limits) as data:
        before = data.budget.limits[0].spent.epsilon
        together = data.batch(MIXED, epsilon=10**9)
        assert data.budget.limits[0].spent.epsilon - before == 10**9  # type: ignore[operator]
        for text, release in zip(MIXED, together, strict=True):
            alone = data.query(text, epsilon=10**9)
            assert [row.key for row in release.rows] == [row.key for row in alone.rows]
            for one, other in zip(release.rows, alone.rows, strict=True):
                assert float(one.cells[-1]) == pytest.approx(float(other.cells[-1]), abs=0.7)  # type: ignore[arg-type]


def test_what_several_questions_share_is_measured_once(frame: pd.DataFrame) -> None:
    with open_session(t=frame, unit="person", rows_per_unit=1, epsilon=9, columns=COLUMNS) as data:
        priced = data.quote(list(MIXED), epsilon=1)
    names = [measured.name for measured in priced.checked.measurements]
    assert names.count("count(*)") == 1
    assert names.count("sum(x)") == 1
    # Rows, the simplex of x, the sum of y and the simplex of its squares: a quarter of the price for each.
    assert len(priced.checked.measurements) == 1 + 2 + 1 + 3
    assert priced.cost.epsilon == 1


def test_every_claim_of_a_batch_is_proved_and_a_smaller_one_refused() -> None:
    for neighbours, delta in product(("add-remove", "replace"), (None, Fraction(1, 10**6))):
        catalog = clinic(rows=3, groups=None, neighbours=neighbours)
        texts = (
            "SELECT COUNT(*) FROM visits WHERE age > 4",
            "SELECT ward, AVG(score) FROM visits GROUP BY ward",
            "SELECT SUM(cost) FROM visits",
        )
        batch = combine([check(read(text), catalog, batched=True) for text in texts], catalog)
        priced = quote(batch.whole, epsilon=1, conversion=delta)
        assert proof_of(priced, catalog)
        (statement,) = statements(batch.whole)
        values = (batch.whole.keys.columns[0].values,)
        swapped = neighbours == "replace" and delta is not None
        reaches = [share.mechanism.reach for share in priced.shares]  # type: ignore[union-attr]

        def claim(counts: int, corners: int, sums: int, keys: Any = values) -> Claim:
            kind = Reached if neighbours == "add-remove" else Swapped  # noqa: B023
            among = SwappedAmong if swapped else Blended  # noqa: B023
            return Claim(keys, (kind("m0", counts), among(("m1", "m2"), corners), kind("m3", sums)))

        assert prove([statement], declarations(catalog), [claim(reaches[0], reaches[1], reaches[3])])
        for place in range(3):
            less = [reaches[0], reaches[1], reaches[3]]
            less[place] -= 1
            with pytest.raises(ProofError, match="further than claimed"):
                prove([statement], declarations(catalog), [claim(*less)])


@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_one_simplex_serves_averages_with_and_without_all_rows(
    frame: pd.DataFrame, neighbours: str, delta: Fraction | None
) -> None:
    """COUNT(*) beside an average needs a corner for rows without a value, and another average does not."""
    texts = [
        "SELECT AVG(y) FROM t WHERE f",
        "SELECT AVG(y) AS a, COUNT(*) AS n FROM t",
        "SELECT SUM(x) FROM t",
    ]
    limits: Any = {"rows_per_unit": 1, "neighbours": neighbours}
    for order in (texts, texts[::-1]):
        with open_session(t=frame, unit="person", epsilon=10**12, columns=COLUMNS, **limits) as data:
            released = data.batch(order, epsilon=10**9)
            for text, release in zip(order, released, strict=True):
                found = [float(cell) for cell in release.rows[0].cells]  # type: ignore[arg-type]
                alone = [float(cell) for cell in data.query(text, epsilon=10**9).rows[0].cells]  # type: ignore[arg-type]
                assert found == pytest.approx(alone, abs=0.7)
            catalog = data.catalog
        whole = combine([check(read(text), catalog, batched=True) for text in order], catalog).whole
        priced = quote(whole, epsilon=1, conversion=delta)
        assert proof_of(priced, catalog)
        corners = [
            share.mechanism
            for share in priced.shares
            if isinstance(share.measured, Measurement) and share.measured.fixed.degree
        ]
        assert len(corners) == 3
        assert len({corner.cost for corner in corners if isinstance(corner, Together)}) == 1
        assert (
            len({(corner.reach, corner.stored()) for corner in corners if isinstance(corner, Together)}) == 1
        )


@pytest.mark.parametrize("bell", [True, False])
def test_whoever_is_replaced_moves_a_plan_by_no_more_than_pairs_of_units_do(bell: bool) -> None:
    """All nonnegative integers of two people who weigh at most 2, against the norms of single swaps."""
    groups = [[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1]]
    workload = Matrix.of(groups)
    matrix = matrix_of(foreseen(workload, bell).plan.strategy).astype(object)
    people = [np.array(v) for v in product(range(3), repeat=4) if sum(v) <= 2]
    changes = [matrix @ (one - other) for one in people for other in people]
    known = moved(foreseen(workload, bell).plan.strategy, swaps=Swaps())
    assert foreseen(workload, bell, Swaps()).plan.sensitivity == known
    assert max(abs(v).sum() for v in changes) == 2 * known.l1
    assert max((v * v).sum() for v in changes) == 4 * known.l2_squared
    assert max(abs(v).max() for v in changes) == 2 * known.linf


def test_replacing_people_costs_a_batch_of_gaussian_noise_what_pairs_of_cells_differ_by() -> None:
    catalog = clinic(rows=1, groups=None, neighbours="replace")
    texts = [f"SELECT COUNT(*) FROM visits WHERE ward = '{ward}'" for ward in "ABC"]
    batch = combine([check(read(text), catalog, batched=True) for text in texts], catalog)
    priced = quote(batch.whole, epsilon=1, conversion=Fraction(1, 10**6))
    (share,) = priced.shares
    assert isinstance(share.mechanism, Together)
    assert share.mechanism.swaps
    assert share.mechanism.moved == share.measured.sensitivity.l1
    assert share.mechanism.cost.rho <= priced.cost.rho
    # Calibrated for two units that come or go, each to itself, the variance would be twice that.
    plain = together(batch.whole.keys, share.measured, Concentrated(priced.cost.rho))  # type: ignore[arg-type]
    assert float(plain.variances.max()) == pytest.approx(2 * float(share.mechanism.variances.max()), rel=0.05)
    assert json.loads(share.mechanism.stored())[0] == "together/2"
    # What can be negative may move both ways at once.
    for low, back in ((-1, None), (Fraction(-1, 3), Fraction(1, 3)), (-2, Fraction(1, 2))):
        lowered = replace(share.measured, low=Fraction(low))
        made = together(batch.whole.keys, lowered, Pure(Fraction(1)), Adjacency.REPLACE)  # type: ignore[arg-type]
        assert made.swaps == (None if back is None else Swaps(back))
        assert json.loads(made.stored())[0] == ("together/3" if back else "together/1")


BACKS = [(2, 1), (3, 1), (3, 2), (1, 2), (2, 2)]


def people_of_both_signs(high: int, low: int, cells: int, weight: int) -> list[Any]:
    """Return the integers of everybody whose rows weigh so much and add from -low to high each."""
    found = set()
    for weights in product(range(weight + 1), repeat=cells):
        if sum(weights) <= weight:
            found |= set(product(*(range(-n * low, n * high + 1) for n in weights)))
    return [np.array(v) for v in found]


@pytest.mark.parametrize("bell", [True, False])
@pytest.mark.parametrize(("high", "low"), BACKS)
@pytest.mark.parametrize("groups", [[[1]], [[1, 0], [0, 1]], [[1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]]])
def test_whoever_is_replaced_moves_sums_of_both_signs_no_further(
    groups: list[list[int]], high: int, low: int, bell: bool
) -> None:
    """All integers of any two people, against the norms of single units: reached, and never exceeded."""
    workload = Matrix.of(groups)
    strategy = foreseen(workload, bell).plan.strategy
    matrix = matrix_of(strategy).astype(object)
    people = people_of_both_signs(high, low, workload.cells, 1)
    heavy = people_of_both_signs(high, low, workload.cells, 2) if workload.cells < 3 else []
    back = Fraction(min(high, low), max(high, low))
    known = moved(strategy, swaps=Swaps(back))
    for weight, some in ((1, people), (2, heavy)):
        changes = [matrix @ (one - other) for one in some for other in some]
        each = weight * max(high, low)
        if changes:
            assert max(abs(v).sum() for v in changes) == each * known.l1
            assert max((v * v).sum() for v in changes) == each**2 * known.l2_squared
            assert max(abs(v).max() for v in changes) == each * known.linf
    if workload.cells == 1:
        # The broken twin takes them for swaps of units that nobody can take away.
        broken = moved(strategy, swaps=Swaps())
        furthest = max(abs(matrix @ (one - other)).max() for one in people for other in people)
        assert furthest == (high + low) * broken.linf > max(high, low) * broken.linf


@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)])
def test_sums_of_both_signs_are_no_wider_in_a_batch_than_alone(delta: Fraction | None) -> None:
    """Where people are replaced; a sum that reaches from -5 to 7 was a sixth wider, one from -1 to 10 4/5."""
    catalog = clinic(rows=3, groups=None, neighbours="replace")
    for text in ("SELECT SUM(score) FROM visits", "SELECT ward, SUM(score) FROM visits GROUP BY ward"):
        batch = combine([check(read(text), catalog, batched=True)], catalog)
        (share,) = quote(batch.whole, epsilon=1, conversion=delta).shares
        (alone,) = quote(check(read(text), catalog), epsilon=1, conversion=delta).shares
        assert 0 < share.mechanism.swaps.back < 1  # type: ignore[union-attr]
        assert share.mechanism.radius(Fraction(1, 20)) <= alone.mechanism.radius(Fraction(1, 20)) * 1.01  # type: ignore[union-attr, operator]


@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)])
def test_sums_of_many_groups_are_no_wider_in_a_batch_than_alone_where_people_are_replaced(
    delta: Fraction | None,
) -> None:
    """Beyond 512 cells pairs were not compared: a total beside 600 groups was twice as far off as alone."""
    group = {"type": "integer", "low": 0, "high": 599, "nullable": False}
    columns = {"g": group, "x": {"type": "integer", "low": 0, "high": 9, "nullable": False}}
    table = {"neighbours": "replace", "unit": "person", "rows_per_unit": 1, "columns": columns}
    catalog = declare({"tables": {"t": table}})
    texts = ("SELECT SUM(x) FROM t", "SELECT g, SUM(x) FROM t GROUP BY g")
    batch = combine([check(read(text), catalog, batched=True) for text in texts], catalog)
    priced = quote(batch.whole, epsilon=1, conversion=delta)
    assert proof_of(priced, catalog)
    for text, (own, _) in zip(texts, parts(batch, priced), strict=True):
        kind: Terms = PurePrice if delta is None else converted(delta)
        alone = quote(check(read(text), catalog), epsilon=1, terms=partial(half, kind))
        assert own.expected[-1].radius <= alone.expected[-1].radius  # type: ignore[operator]


def half(terms: Terms, epsilon: Fraction) -> Price:
    return terms(epsilon).part(2)


@pytest.mark.parametrize("rows", [1, 3])
def test_averages_are_no_wider_in_a_batch_than_alone_where_people_are_replaced(rows: int) -> None:
    """With Gaussian noise they were wider by the root of 2: as if all corners of a simplex moved twice."""
    catalog = clinic(rows=rows, groups=None, neighbours="replace")
    texts = (
        "SELECT AVG(cost) FROM visits",
        "SELECT ward, AVG(score) FROM visits GROUP BY ward",
        "SELECT VARIANCE(age) FROM visits WHERE flag",
    )
    for text, delta in product(texts, (None, Fraction(1, 10**6))):
        batch = combine([check(read(text), catalog, batched=True)], catalog)
        priced = quote(batch.whole, epsilon=1, conversion=delta)
        alone = quote(check(read(text), catalog), epsilon=1, conversion=delta)
        assert proof_of(priced, catalog)
        for share, other in zip(priced.shares, alone.shares, strict=True):
            joint = share.mechanism
            assert isinstance(joint, Together)
            assert joint.swaps == (None if delta is None else Swaps(corners=True))
            assert json.loads(joint.stored())[0] == ("together/1" if delta is None else "together/4")
            # Half of the steps of a grid of rho is all that may be lost.
            assert joint.radius(Fraction(1, 20)) <= other.mechanism.radius(Fraction(1, 20)) * 1.0001  # type: ignore[union-attr, operator]


def test_corners_are_swapped_only_where_people_are_replaced_and_none_is_left_out() -> None:
    text = "SELECT ward, AVG(score) FROM visits GROUP BY ward"
    for neighbours in ("add-remove", "replace"):
        catalog = clinic(rows=3, groups=None, neighbours=neighbours)
        batch = combine([check(read(text), catalog, batched=True)], catalog)
        (statement,) = statements(batch.whole)
        values = (batch.whole.keys.columns[0].values,)
        each = int(batch.whole.measurements[0].sensitivity.l1) // (2 if neighbours == "replace" else 1)

        def claim(units: int, names: tuple[str, ...] = ("m0", "m1"), keys: Any = values) -> Claim:
            return Claim(keys, (SwappedAmong(names, units),))

        if neighbours == "add-remove":
            with pytest.raises(ProofError, match="not of people who are replaced"):
                prove([statement], declarations(catalog), [claim(each)])
            continue
        assert "none of it negative" in str(prove([statement], declarations(catalog), [claim(each)]))
        with pytest.raises(ProofError, match="further than claimed"):
            prove([statement], declarations(catalog), [claim(each - 1)])
        with pytest.raises(ProofError, match="not those that are claimed"):
            prove([statement], declarations(catalog), [claim(each, ("m0",))])


def test_sums_that_may_be_negative_are_proved_to_lean_as_far_as_is_claimed() -> None:
    """One takes away where another adds elsewhere: cells move by more than a pair of units does."""
    catalog = clinic(rows=3, groups=None, neighbours="replace")
    batch = combine([check(read("SELECT SUM(score) FROM visits"), catalog, batched=True)], catalog)
    priced = quote(batch.whole, epsilon=1)
    joint = priced.shares[0].mechanism
    assert isinstance(joint, Together)
    assert joint.swaps is not None
    assert proof_of(priced, catalog)
    (statement,) = statements(batch.whole)
    values = (batch.whole.keys.columns[0].values,)
    low, high = priced.shares[0].measured.low, priced.shares[0].measured.high  # type: ignore[union-attr]
    leaning = joint.swaps.back
    assert leaning == min(-low, high) / max(-low, high)
    for back in (Fraction(0), leaning - Fraction(1, 10**6)):
        with pytest.raises(ProofError, match="not counts of people who are replaced"):
            prove([statement], declarations(catalog), [Claim(values, (Swapped("m0", joint.reach, back),))])
    less = Swapped("m0", joint.reach - 1, leaning)
    with pytest.raises(ProofError, match="further than claimed"):
        prove([statement], declarations(catalog), [Claim(values, (less,))])
    # What is no number bounds nothing.
    none: Any = float("nan")
    for claimed in (Swapped("m0", none, leaning), Swapped("m0", joint.reach, none), Reached("m0", none)):
        with pytest.raises(ProofError):
            prove([statement], declarations(catalog), [Claim(values, (claimed,))])


@pytest.mark.parametrize("cells", [64, 65, 300])
def test_long_distributions_compute_their_cells_and_short_ones_ask_for_each(cells: int) -> None:
    """Numbers outside of the bounds are at their ends, and who has none is in no cell but counted."""
    values: list[float | None] = [None, -3.0, 0.0, 0.4, 7.0, 8.5, 299.0, 299.9, 300.0, 1000.0, *range(20, 60)]
    frame = pd.DataFrame({"person": range(len(values)), "x": values})
    columns = {"x": {"type": "decimal", "step": 0.1, "low": 0, "high": 300}}
    texts = [f"SELECT CDF(x, {cells}) AS n FROM t", "SELECT COUNT(*) AS n FROM t"]
    with open_session(t=frame, unit="person", rows_per_unit=1, epsilon=10**12, columns=columns) as data:
        running, count = data.batch(texts, epsilon=10**9)
        (text,) = data.quote(texts, epsilon=10**9).sql
        alone = data.query(texts[0], epsilon=10**9)
    assert float(count.value) == pytest.approx(len(values), abs=0.1)  # type: ignore[arg-type]
    assert [row.key for row in running.rows] == [row.key for row in alone.rows]
    found, expected = ([float(row.cells[-1]) for row in one.rows] for one in (running, alone))  # type: ignore[arg-type]
    assert found == pytest.approx(expected, abs=0.4)
    assert (len(text) < 20_000) is (cells > 64)


@pytest.mark.fuzz
def test_intervals_of_a_batch_hold(frame: pd.DataFrame) -> None:
    texts = ["SELECT w, AVG(x) AS a FROM t GROUP BY w", "SELECT SUM(y) AS s FROM t WHERE f", MIXED[0]]
    known = frame[frame.w != "Z"]
    truths = [
        [float(known[known.w == ward].x.mean()) for ward in "AB"],
        [float(frame[frame.f].y.sum())],
        [float((frame.x > 4).sum())],
    ]
    runs, held = 60, 0
    with open_session(t=frame, unit="person", rows_per_unit=1, epsilon=10**6, columns=COLUMNS) as data:
        for number in range(runs):
            epsilon = Fraction(1) + Fraction(number, 10**6)
            for release, truth in zip(data.batch(texts, epsilon=epsilon), truths, strict=True):
                for row, value in zip(release.rows, truth, strict=True):
                    low, high = row.spans[-1]
                    held += low <= value <= high  # type: ignore[operator]
    # Four intervals in each run, at .95; 5.3 sigma of as many independent runs.
    assert held / (4 * runs) >= 0.95 - 5.3 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MEDIAN(age) FROM visits",
        "SELECT QUANTILES(age, [0.5]) FROM visits",
        "SELECT COUNT(DISTINCT city) FROM visits",
        "SELECT city, COUNT(*) FROM visits GROUP BY city",
    ],
)
def test_what_does_not_add_up_is_refused_by_name(text: str) -> None:
    catalog = clinic()
    asked = [check(read(one), catalog, batched=True) for one in ("SELECT COUNT(*) FROM visits", text)]
    with pytest.raises(QueryError, match="question 2 of the batch"):
        combine(asked, catalog)


def test_the_parts_of_a_batch_know_their_own_errors() -> None:
    catalog = clinic(rows=1, groups=None)
    texts = ("SELECT COUNT(*) FROM visits", "SELECT ward, SUM(score) FROM visits GROUP BY ward")
    batch = combine([check(read(text), catalog, batched=True) for text in texts], catalog)
    priced = quote(batch.whole, epsilon=1)
    for own, slices in parts(batch, priced):
        for share, place in zip(own.shares, slices, strict=True):
            assert isinstance(share.measured, Measurement)
            assert len(share.mechanism.variances) == place.stop - place.start  # type: ignore[union-attr]
        assert own.expected[-1].radius > 0  # type: ignore[operator]


def test_a_batch_whose_optimum_loses_an_answer_by_rounding_is_measured_otherwise() -> None:
    asked = (
        "SELECT ward, COUNT(age) FROM visits WHERE huge > 100 GROUP BY ward",
        "SELECT CLAMP(score, 0, 2), COUNT(age) FROM visits WHERE (ward = 'B' OR (flag XOR ward = 'A')) "
        "GROUP BY CLAMP(score, 0, 2)",
        "SELECT flag, SUM(score) FROM visits WHERE LOWER('x') IN ('a', 'none') GROUP BY flag",
    )
    whole = combine([check(read(text), clinic(), batched=True) for text in asked], clinic()).whole
    priced = quote(whole, epsilon=1, conversion=Fraction(1, 10**6))
    assert all(isinstance(share.mechanism, Together) for share in priced.shares)
    assert proof_of(priced, clinic())
