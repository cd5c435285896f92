"""Overlapping groups: what one person moves, what the language means, and what the answers are worth."""

from collections import Counter
from fractions import Fraction
from random import Random

import duckdb
import numpy as np
import pandas as pd
import pytest
from tests.query.questions import Questions, clinic
from tests.query.test_error_freeness import adversarial
from tests.query.worlds import extreme, open_world, requests, row

from discreet.errors import EngineError, ParameterError, QueryError
from discreet.query.check.batch import combine
from discreet.query.check.measurement import Classes, Declared, RunningGroups, Sets
from discreet.query.check.question import check
from discreet.query.check.tables import cells, output, tables
from discreet.query.language import frame
from discreet.query.language.sql import read
from discreet.query.price.quote import quote
from discreet.query.rewrite.statements import statements
from discreet.release.noisy import draw
from discreet.release.opening import open as open_session
from discreet.release.table import rows as released_rows
from discreet.workload import MarginalPlan
from discreet.workload.strategy import matrix_of

QUESTIONS = {
    "cube": "SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag)",
    "sums": "SELECT ward, SUM(score) FROM visits GROUP BY ROLLUP (ward, flag)",
    "sets": "SELECT ward, SUM(cost) FROM visits GROUP BY GROUPING SETS ((ward), (flag), (score))",
    "cdf": "SELECT CDF(age, 10) FROM visits",
    "cdf by ward": "SELECT ward, CDF(score) FROM visits WHERE age > 3 GROUP BY ward",
    "quantiles": "SELECT flag, QUANTILES(cost, [0.5, 0.9], 8) FROM visits GROUP BY flag",
    "batch": "",
}
BATCH = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT COUNT(age) FROM visits WHERE cost > 10",
    "SELECT flag, COUNT(*) FROM visits WHERE cost > 20 AND score BETWEEN -3 AND 2 GROUP BY flag",
)
WORLDS = 4
MANY_WORLDS = 25
SLACK = Fraction(1, 10**6)


def asked(name, catalog):
    if name == "batch":
        return combine([check(read(text), catalog, batched=True) for text in BATCH], catalog).whole
    return check(read(QUESTIONS[name]), catalog)


def vector(checked, integers, position):
    """Return the integers of all cells of all tables, one table after the other."""
    return [
        np.array(
            integers.integers(output(position, place), cells(checked.keys, chosen).product()), dtype=object
        )
        for place, chosen in enumerate(tables(checked.keys))
    ]


def reached(matrix, difference, order):
    moved = np.abs(np.asarray(matrix).astype(object) @ difference)
    return Fraction(int(moved.sum())) if order == 1 else Fraction(int((moved**2).sum()))


@pytest.mark.parametrize(
    ("name", "neighbours"),
    [
        *((name, "add-remove") for name in QUESTIONS),
        *((name, "replace") for name in ("cube", "cdf", "batch")),
    ],
)
def test_a_person_moves_cells_and_measurements_no_farther_than_paid_for(name, neighbours):
    assert farthest(name, neighbours, WORLDS) == 1


@pytest.mark.fuzz
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_person_of_many_worlds_moves_them_farther(name, neighbours):
    assert farthest(name, neighbours, MANY_WORLDS) == 1


def farthest(name, neighbours, worlds):
    """Check moves in l1 over the cells and in both norms over what is measured; return the largest share.

    That share is of the claim on cells, so it is 1 where the claim is reached.
    """
    catalog = clinic(rows=3, neighbours=neighbours)
    checked = asked(name, catalog)
    priced = quote(checked, epsilon=1)
    closest = Fraction(0)
    for seed in range(worlds):
        random = Random(seed)
        others = [row(random, who) for who in ("ann", "bob", None) for _ in range(2)]
        # Besides people drawn at random, one whose rows are all alike: nobody moves one cell farther.
        worst = {"ward": "B", "flag": True, "age": 7, "score": -7, "cost": 50.0}
        alike = {**row(random, "eve", wild=False), **worst}
        mine = [alike] * 3 if seed % 3 == 0 else extreme(random, "eve")
        away = {**alike, "ward": "A", "flag": False, "age": 99}
        before = [away] * 3 if neighbours == "replace" else []
        integers = []
        for visits in (others + before, others + mine):
            with open_world(visits, [], catalog) as engine:
                integers.append(engine._exact(requests(checked), seed))
        for position, share in enumerate(priced.shares):
            one, other = (vector(checked, found, position) for found in integers)
            claim, joint = share.measured.sensitivity, share.mechanism
            assert joint.moved == claim.l1
            for left, right in zip(one, other, strict=True):
                difference = right - left
                moved = Fraction(int(np.abs(difference).sum()))
                assert moved <= claim.l1
                closest = max(closest, moved / claim.l1)
                if not isinstance(joint.plan, MarginalPlan) and joint.plan.strategy.cells <= 200:
                    matrix, unit = matrix_of_any(joint.plan.strategy), joint.plan.sensitivity
                    if joint.merged is not None:
                        difference = joint.merged.cells(difference)
                    assert reached(matrix, difference, 1) <= unit.l1 * joint.reach
                    assert reached(matrix, difference, 2) <= unit.l2_squared * joint.reach**2
    return closest


def matrix_of_any(strategy):
    factors = getattr(strategy, "factors", (strategy,))
    found = np.ones((1, 1), dtype=np.int64)
    for factor in factors:
        found = np.kron(found, matrix_of(factor))
    return found


def test_a_person_with_unbounded_rows_would_be_noticed():
    """The broken twin: were the limit on rows not enforced, cells would move farther than claimed."""
    bounded, unbounded = clinic(rows=3), clinic(rows=40)
    checked, loose = asked("cdf", bounded), asked("cdf", unbounded)
    person = [{**row(Random(1), "eve", wild=False), "age": 7} for _ in range(30)]
    with open_world(person, [], unbounded) as engine:
        moved = sum(int(v.sum()) for v in vector(loose, engine._exact(requests(loose), 1), 0))
    assert moved > checked.measurements[0].sensitivity.l1


@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)])
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_whole_question_costs_what_was_asked(name, delta):
    checked = asked(name, clinic())
    priced = quote(checked, epsilon="0.7", conversion=delta)
    spent = sum((share.mechanism.cost for share in priced.shares), start=type(priced.cost).zero)
    if delta is None:
        assert spent.epsilon <= priced.cost.epsilon == Fraction(7, 10)
        assert spent.epsilon >= Fraction(7, 10) * Fraction(999, 1000)
    else:
        assert spent.rho <= priced.cost.rho
        assert spent.rho >= priced.cost.rho * Fraction(999, 1000)
    radii = [expected.radius for expected in priced.expected if expected.radius]
    if radii:  # quantiles have none beforehand
        wished = quote(checked, within=max(radii), conversion=delta)
        assert wished.epsilon <= Fraction(7, 10) * Fraction(1001, 1000)


GRID = pd.DataFrame(
    {
        "person": np.arange(400),
        "ward": np.random.default_rng(1).choice(["A", "B", "C"], 400),
        "sex": np.random.default_rng(2).choice(["f", "m"], 400),
        "age": np.random.default_rng(3).integers(0, 100, 400),
        "cost": np.random.default_rng(4).gamma(2, 20, 400).round(1).clip(0, 200),
    }
)
COLUMNS = {
    "ward": {"values": ["A", "B", "C"], "nullable": False},
    "sex": {"values": ["f", "m"], "nullable": False},
    "age": {"type": "integer", "low": 0, "high": 99, "nullable": False},
    "cost": {"low": 0, "high": 200, "step": "0.1", "nullable": False},
}


@pytest.fixture(scope="module")
def data():
    with open_session(visits=GRID, unit="person", rows_per_unit=1, epsilon=10**9, columns=COLUMNS) as session:
        yield session


@pytest.mark.parametrize(
    "tail",
    [
        "GROUP BY CUBE (ward, sex)",
        "GROUP BY ROLLUP (ward, sex)",
        "GROUP BY ROLLUP (sex, ward)",
        "GROUP BY GROUPING SETS ((ward), (sex), ())",
        "GROUP BY ward, CUBE (sex)",
        "GROUP BY GROUPING SETS (ward, CUBE (sex))",
        "GROUP BY CUBE (ward), ROLLUP (sex)",
        "GROUP BY CUBE ((ward, sex))",
    ],
)
def test_grouping_sets_mean_what_the_engine_says_they_mean(data, tail):
    """At a price that makes the noise vanish the answer is DuckDB's own, groups without rows included."""
    question = f"SELECT ward, sex, COUNT(*) AS n, SUM(age) AS s, AVG(cost) AS c FROM visits {tail}"
    private = {row[:2]: row[2:] for row in data.query(question, epsilon=10**6)}
    with duckdb.connect() as engine:
        engine.register("visits", GRID)
        plain = {row[:2]: row[2:] for row in engine.execute(question).fetchall()}
    assert private.keys() == plain.keys()
    for key, (n, s, c) in private.items():
        assert round(n) == plain[key][0]
        assert round(s) == plain[key][1]
        assert float(c) == pytest.approx(plain[key][2], abs=0.01)


def test_distributions_are_those_of_the_data(data):
    cdf = data.query("SELECT CDF(age) AS n FROM visits", epsilon=10**6)
    assert cdf.columns == ("age", "n")
    assert [(int(a), round(n)) for a, n in cdf] == [(a, int((GRID.age <= a).sum())) for a in range(100)]
    for tail, edges in (("10", range(0, 200, 20)), ("[5, 50, 120.5]", (0, 5, 50, 120.5))):
        found = data.query(f"SELECT HISTOGRAM(cost, {tail}) AS n FROM visits", epsilon=10**6)
        counts, _ = np.histogram(GRID.cost, [*edges, 200.0001])
        assert [(float(low), round(n)) for low, _, n in found] == list(
            zip(edges, counts.tolist(), strict=True)
        )
    by = data.query(
        "SELECT ward, QUANTILES(age, [0.1, 0.5, 0.75]) AS q FROM visits GROUP BY ward ORDER BY level, ward",
        epsilon=10**6,
    )
    expected = [
        (ward, level, int(np.quantile(GRID.age[GRID.ward == ward], level, method="inverted_cdf")))
        for level in (0.1, 0.5, 0.75)
        for ward in "ABC"
    ]
    assert [(ward, float(level), int(q)) for ward, level, q in by] == expected


def test_a_batch_says_what_its_questions_say_one_by_one(data):
    questions = [
        "SELECT COUNT(*) AS n FROM visits",
        "SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 50 OR sex = 'f' GROUP BY ward",
        "SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY sex, ward HAVING COUNT(*) > 70 ORDER BY n DESC",
        "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE cost > 33.3) AS dear FROM visits WHERE cost > 12.5",
    ]
    for question, release in zip(questions, data.batch(questions, epsilon=10**6), strict=True):
        alone = data.query(question, epsilon=10**6)
        assert release.columns == alone.columns
        assert [[v if isinstance(v, str) else round(v) for v in r] for r in release] == [
            [v if isinstance(v, str) else round(v) for v in r] for r in alone
        ]


def test_one_charge_then_free_and_the_dataframe_face_asks_the_same():
    with open_session(visits=GRID, unit="person", rows_per_unit=1, epsilon=5, columns=COLUMNS) as data:
        spent = lambda: data.budget.limits[0].spent.epsilon  # noqa: E731 - read thrice
        first = data.query(
            "SELECT ward, sex, COUNT(*) AS count FROM visits GROUP BY CUBE (ward, sex)", epsilon=1
        )
        again = data.query(data.table("visits").cube("ward", "sex").count(), epsilon=1)
        assert (first.free, again.free, spent()) == (False, True, 1)
        assert list(first) == list(again)
        asked_twice = [
            data.batch(
                ["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE age < 9"], epsilon=2
            )
            for _ in range(2)
        ]
        assert [release.free for releases in asked_twice for release in releases] == [False] * 2 + [True] * 2
        assert spent() == 3
        assert asked_twice[0][0].value == asked_twice[1][0].value


VISITS = frame.table("visits")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            VISITS.rollup("ward", "flag").count(),
            "SELECT ward, flag, COUNT(*) FROM visits GROUP BY ROLLUP (ward, flag)",
        ),
        (
            VISITS.grouping(["ward"], ["flag"], []).sum("age"),
            "SELECT ward, flag, SUM(age) FROM visits GROUP BY GROUPING SETS ((ward), (flag), ())",
        ),
        (VISITS.group("ward").cdf("age", 12), "SELECT ward, CDF(age, 12) FROM visits GROUP BY ward"),
        (VISITS.histogram("cost", [10, "20.5"]), "SELECT HISTOGRAM(cost, [10, 20.5]) FROM visits"),
        (VISITS.quantiles("age", ["0.5", "0.9"]), "SELECT QUANTILES(age, [0.5, 0.9]) FROM visits"),
    ],
)
def test_python_and_sql_are_two_spellings_of_one_question(question, text):
    one, other = check(question.block, clinic()), check(read(text), clinic())
    assert type(one.keys) is type(other.keys)
    assert (
        [share.mechanism.variances.tolist() for share in quote(one, epsilon=1).shares]
        == [share.mechanism.variances.tolist() for share in quote(other, epsilon=1).shares]
        if not isinstance(one.keys, Declared)
        else one.keys == other.keys
    )


@pytest.mark.parametrize(
    ("name", "delta"),
    [
        *(("cube", None), ("quantiles", None), ("cdf", SLACK), ("batch", SLACK)),
        *(pytest.param(name, SLACK, marks=pytest.mark.fuzz) for name in ("cube", "quantiles")),
        *(pytest.param(name, None, marks=pytest.mark.fuzz) for name in ("cdf", "batch")),
    ],
)
def test_intervals_cover_and_answers_are_unbiased_and_agree(name, delta):
    """Over noise alone: 95 % intervals cover, means are right, margins add up."""
    catalog = clinic(rows=3)
    checked = asked(name, catalog)
    random = Random(8)
    visits = [row(random, f"p{n}", wild=False) for n in range(300)]
    with open_world(visits, [], catalog) as engine:
        exact = engine._exact(requests(checked), 3)
    priced = quote(checked, epsilon=1, conversion=delta)
    sharp = quote(checked, epsilon=10**7)
    truth = [row.cells for row in released_rows(sharp, draw(sharp, exact))]
    runs, covered, total = 150, 0, 0
    errors = np.zeros(len(truth))
    for _ in range(runs):
        noisy = draw(priced, exact)
        drawn = released_rows(priced, noisy, as_drawn=True)
        for place, found in enumerate(released_rows(priced, noisy)):
            low, high = found.spans[-1]
            value = Fraction(truth[place][-1])
            total += 1
            covered += (low is None or low <= value) and (high is None or value <= high)
            # What is shown never falls, and is not without bias.
            errors[place] += float(drawn[place].cells[-1] - value) / runs
        if name == "cube":
            sums = Counter()
            for key, value in zip(noisy.keys, noisy.values[0], strict=True):
                sums[key] = value
            for ward in ("A", "B", "C"):
                parts = sum(sums[ward, flag] for flag in (False, True))
                assert abs(parts - sums[ward, None]) < 1e-3
            assert abs(sum(sums[ward, None] for ward in "ABC") - sums[None, None]) < 1e-3
    # Groups share noise, so runs are what is independent: 5.3 sigma on the share of runs that miss.
    assert covered / total >= 0.95 - 5.3 * np.sqrt(0.05 * 0.95 / runs)
    if name != "quantiles":
        deviations = np.sqrt(priced.shares[0].mechanism.variances) / priced.shares[0].measured.scale
        assert (np.abs(errors) <= 6 * deviations / np.sqrt(runs)).all()


def test_together_is_better_than_one_by_one():
    """The lectures' eight running counts at an eighth each, against one measurement of all."""
    catalog = clinic(rows=1)
    together = quote(check(read("SELECT CDF(age, 8) FROM visits"), catalog), epsilon=1)
    alone = quote(check(read("SELECT COUNT(*) FROM visits WHERE age <= 60"), catalog), epsilon="1/8")
    assert together.expected[-1].radius < alone.expected[-1].radius / 2
    cube = "SELECT ward, flag, score, COUNT(*) FROM visits GROUP BY CUBE (ward, flag, score)"
    joint = quote(check(read(cube), catalog), epsilon=1, conversion=Fraction(1, 10**6))
    one = quote(
        check(read("SELECT COUNT(*) FROM visits"), catalog), epsilon="1/8", conversion=Fraction(1, 10**6)
    )
    assert joint.expected[-1].radius < one.expected[-1].radius


def test_a_column_with_one_value_has_subtotals_too(data):
    question = "SELECT ward, sex = 'f' OR sex <> 'f' AS all_of_them, COUNT(*) AS n FROM visits "
    for tail in ("GROUP BY CUBE (ward, all_of_them)", "GROUP BY ROLLUP (year, ward)"):
        text = question.replace("all_of_them", "year") if "year" in tail else question
        text = text.replace("sex = 'f' OR sex <> 'f'", "CASE WHEN age >= 0 THEN 2025 ELSE 2025 END")
        found = {row[:2]: round(row[2]) for row in data.query(text + tail, epsilon=10**6)}
        assert found[None, None] == 400
        assert sum(n for (ward, one), n in found.items() if ward is not None and one is not None) == 400


def test_large_sets_never_write_the_whole_domain():
    columns = {f"a{n}": {"type": "integer", "low": 0, "high": 9} for n in range(12)}
    from discreet.query.catalog.manifest import declare

    catalog = declare({"tables": {"t": {"columns": columns}}})
    pairs = ", ".join(f"(a{n}, a{n + 1})" for n in range(11))
    checked = check(read(f"SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ({pairs})"), catalog)
    assert isinstance(checked.keys, Sets)
    assert checked.keys.size == 1100
    priced = quote(checked, epsilon=1)
    assert len(statements(checked)) == 11
    assert priced.shares[0].mechanism.radius(Fraction(1, 20)) < 70


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.fuzz)])
def test_distributions_never_fail_on_adversarial_tables(part):
    random = Random(part)
    catalog = clinic(unit=bool(part))
    answered = 0
    with open_world(adversarial(random), [], catalog) as engine:
        while answered < (250 if part else 125):
            questions = Questions(random, unit=bool(part))
            number = questions.number()
            kind = random.choice(
                (
                    f"CDF({number})",
                    f"CDF({number}, {random.choice((1, 2, 7, 512, 4096))})",
                    f"HISTOGRAM({number}, {random.choice((1, 3, 50))})",
                    f"HISTOGRAM(CLAMP({number}, -5, 9), [-3, 0.5, 8])",
                    f"QUANTILES({number}, [0, 0.5, 1], 9)",
                )
            )
            key = random.choice(("", f"{questions.key()}, "))
            text = f"SELECT {key}{kind} FROM visits" + (f" GROUP BY {key[:-2]}" if key else "")
            try:
                checked = check(read(text), catalog)
            except QueryError:
                continue
            try:
                found = engine._exact(requests(checked), 1)
            except EngineError:
                pytest.fail(text)
            answered += 1
            if isinstance(checked.keys, RunningGroups):
                counted = vector(checked, found, 0)[0]
                assert sum(counted) <= sum(found._totals["m0"].values())


def test_the_shapes_of_overlapping_groups():
    catalog = clinic()
    assert isinstance(asked("cube", catalog).keys, Sets)
    assert isinstance(asked("cdf", catalog).keys, RunningGroups)
    assert isinstance(asked("batch", catalog).keys, Classes)
    assert isinstance(check(read("SELECT HISTOGRAM(age, 5) FROM visits"), catalog).keys, Declared)


def test_a_batch_of_one_text_or_with_limits_per_group_is_refused(data):
    with pytest.raises(ParameterError, match="list of questions"):
        data.batch("SELECT COUNT(*) FROM visits", epsilon=1)
    catalog = clinic(per_group=1)
    with pytest.raises(QueryError, match="per group"):
        combine([check(read("SELECT ward, COUNT(*) FROM visits GROUP BY ward"), catalog)], catalog)


@pytest.mark.parametrize(
    ("questions", "why"),
    [
        ([], "empty"),
        (["SELECT MEDIAN(age) FROM visits"], "does not add up"),
        (["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM people"], "other rows"),
        (["SELECT city, COUNT(*) FROM visits GROUP BY city"], "does not add up"),
        (["SELECT QUANTILES(age, [0.5]) FROM visits"], "does not add up"),
        ([f"SELECT COUNT(*) FROM visits WHERE city LIKE '{n}%'" for n in range(16)], "combinations"),
    ],
)
def test_batches_that_cannot_be_are_refused_with_a_reason(questions, why):
    catalog = clinic()
    with pytest.raises(QueryError, match=why):
        combine([check(read(text), catalog, batched=True) for text in questions], catalog)
