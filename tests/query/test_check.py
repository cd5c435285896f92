"""What a question measures and claims, by example."""

from fractions import Fraction
from typing import Any

import pytest
from tests.query.questions import clinic

from discreet.errors import QueryError
from discreet.mechanisms.geometric import Geometric
from discreet.query.check.batch import combine
from discreet.query.check.identity import identity
from discreet.query.check.measurement import (
    WEIGHT,
    Checked,
    Declared,
    Measurement,
    ModeChoice,
    Private,
    QuantileChoice,
)
from discreet.query.check.question import Limits, check
from discreet.query.language.sql import read
from discreet.query.price.quote import quote


def ask(text: str, limits: Limits | None = None, **declared: Any) -> Checked:
    return check(read(text), clinic(**declared), limits)


def l1(text: str, **declared: Any) -> list[Fraction]:
    """Return each measurement's l1 claim in natural units."""
    return [m.sensitivity.l1 / m.scale for m in ask(text, **declared).measurements]


def test_claims_in_natural_units() -> None:
    assert l1("SELECT COUNT(*) FROM visits", rows=3) == [3]
    assert l1("SELECT SUM(age) FROM visits", rows=3) == [360]
    assert l1("SELECT AVG(age) FROM visits", rows=3) == [360, 360]
    assert l1("SELECT SUM(score) FROM visits", rows=3) == [21]
    assert l1("SELECT SUM(score) FROM visits", rows=3, neighbours="replace") == [36]
    assert l1("SELECT ward, SUM(score) FROM visits GROUP BY ward", rows=3, neighbours="replace") == [42]
    assert l1("SELECT COUNT(*) FROM visits", unit=False) == [1]
    assert l1("SELECT ward, COUNT(*) FROM visits GROUP BY ward", unit=False, neighbours="replace") == [2]
    assert l1("SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward", groups=2) == [2]
    assert l1("SELECT COUNT(DISTINCT person) FROM visits") == [1]
    assert l1("SELECT COUNT(DISTINCT city) FROM visits", rows=3) == [3]
    assert l1("SELECT ward, COUNT(*) FROM visits GROUP BY ward", rows=9, groups=2, per_group=2) == [4]


def test_measurements_are_shared_between_columns() -> None:
    names = [
        m.name for m in ask("SELECT COUNT(age), SUM(age), AVG(age), AVG(age) + 1 FROM visits").measurements
    ]
    assert names == ["sum(120 - age)", "sum(age)"]
    names = [m.name for m in ask("SELECT COUNT(*), AVG(score) FROM visits").measurements]
    assert names == ["sum(5 - score)", "sum(score - -7)"]
    names = [m.name for m in ask("SELECT AVG(age), SUM(score), COUNT(*) FROM visits").measurements]
    assert names == ["sum(120 - age)", "sum(age)", "age missing", "sum(score)"]


def test_a_count_of_people_who_count_for_one_row_is_a_whole_number() -> None:
    """At epsilon 3 its variance is 0.110, that of the geometric mechanism; in parts of rows it was 0.221."""
    for text in ("SELECT COUNT(*) FROM visits WHERE age > 3", "SELECT COUNT(DISTINCT person) FROM visits"):
        (share,) = quote(ask(text, rows=1), epsilon=3).shares
        assert share.measured.scale == 1
        assert share.mechanism == Geometric.calibrate(epsilon=3, sensitivity=1)
    (share,) = quote(ask("SELECT COUNT(*) FROM visits", rows=2), epsilon=3).shares
    assert share.measured.scale == WEIGHT
    together = [check(read(text), clinic(rows=1), batched=True) for text in BATCH]
    assert combine(together, clinic(rows=1)).whole.measurements[0].sensitivity.l1 == 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_histograms_of_people_who_have_one_row_are_whole_numbers(neighbours: str) -> None:
    for text in HISTOGRAMS:
        shares = quote(ask(text, rows=1, neighbours=neighbours), epsilon=3).shares
        assert {share.measured.scale for share in shares} == {1}
        moved = 1 if neighbours == "add-remove" else 2
        assert {share.measured.sensitivity.l1 for share in shares} == {moved}
        # Who asks for fewer rows than people have gets what all their rows say.
        lowered = ask(text, Limits(rows_per_unit=1), rows=3, neighbours=neighbours)
        assert {measured.scale for measured in lowered.measurements} == {WEIGHT}
    both = ask("SELECT ward, COUNT(*), SUM(age) FROM visits GROUP BY ward", rows=1)
    assert [measured.scale for measured in both.measurements] == [1, WEIGHT]


HISTOGRAMS = (
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(age) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*) FILTER (WHERE flag), COUNT(*) FROM visits GROUP BY ward",
    "SELECT ward, AVG(CASE WHEN flag THEN 1 ELSE 0 END) FROM visits GROUP BY ward",
    "SELECT HISTOGRAM(age, 4) FROM visits",
    "SELECT CDF(age, 4) FROM visits",
    "SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag)",
    "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward",
)


BATCH = "SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE age > 3"


def test_declared_keys_all_appear_and_undeclared_ones_are_private() -> None:
    declared = ask("SELECT ward, flag, COUNT(*) FROM visits GROUP BY ward, flag").keys
    assert isinstance(declared, Declared)
    assert declared.product()[0] == ("A", False)
    assert declared.size == 6
    private = ask("SELECT city, ward, COUNT(*) FROM visits GROUP BY city, ward")
    assert isinstance(private.keys, Private)
    selector = private.measurements[private.keys.people]
    assert isinstance(selector, Measurement)
    assert selector.sensitivity.l0 == 2


def test_selections_offer_public_candidates() -> None:
    median, mode = ask("SELECT MEDIAN(cost), MODE(ward) FROM visits").measurements
    assert isinstance(median, QuantileChoice)
    assert (median.size, median.value(1234)) == (5001, Fraction(1234, 100))
    assert isinstance(mode, ModeChoice)
    assert mode.values == ("A", "B", "C")
    assert mode.monotone


def test_a_question_may_only_lower_the_limits() -> None:
    lowered = ask("SELECT COUNT(*) FROM visits", Limits(rows_per_unit=1), rows=3).measurements[0]
    assert lowered.sensitivity.l1 / lowered.scale == 1
    with pytest.raises(QueryError, match="only be lowered"):
        ask("SELECT COUNT(*) FROM visits", Limits(rows_per_unit=4), rows=3)
    with pytest.raises(QueryError, match="to 1 at least"):
        ask("SELECT COUNT(*) FROM visits", Limits(rows_per_unit=0), rows=3)


def test_missing_limits_are_asked_for() -> None:
    with pytest.raises(QueryError, match="declare rows_per_unit"):
        ask("SELECT COUNT(*) FROM visits", rows=None, groups=None)
    with pytest.raises(QueryError, match="declare groups_per_unit"):
        ask("SELECT city, COUNT(DISTINCT person) FROM visits GROUP BY city", rows=None, groups=None)
    given = ask("SELECT COUNT(*) FROM visits", Limits(rows_per_unit=5), rows=None, groups=None)
    assert given.measurements[0].sensitivity.l1 / given.measurements[0].scale == 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT COUNT(*) FROM visits", "select   count( * ) from VISITS as v"),
        (
            "SELECT ward, SUM(age) AS s FROM visits GROUP BY ward",
            "SELECT v.ward, SUM(v.age) AS s FROM visits v GROUP BY 1",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE age>3",
            "SELECT COUNT(*) AS n FROM visits WHERE ((age > 3))",
        ),
    ],
)
def test_the_canonical_text_does_not_depend_on_the_writing(one: str, other: str) -> None:
    assert identity(ask(one)) == identity(ask(other))


def test_different_questions_have_different_canonical_texts() -> None:
    questions = (
        "SELECT COUNT(*) FROM visits",
        "SELECT COUNT(age) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE age > 3",
        "SELECT COUNT(*) FROM visits WHERE age > 4",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        "SELECT QUANTILE(age, 0.1) FROM visits",
        "SELECT QUANTILE(age, 0.9) FROM visits",
    )
    texts = {identity(ask(question)) for question in questions}
    texts |= {identity(ask(questions[0], rows=4)), identity(ask(questions[0], unit=False))}
    assert len(texts) == len(questions) + 2


def test_a_released_table_can_be_filtered_from_outside() -> None:
    inner = ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 5 ORDER BY n LIMIT 1")
    table = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t"
    outer = ask(f"SELECT ward, n FROM {table} WHERE n > 5 ORDER BY n LIMIT 1")
    assert inner.having == outer.having
    assert inner.measurements == outer.measurements
    assert (outer.limit, len(outer.columns)) == (1, 2)
