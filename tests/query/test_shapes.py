"""What newer functions mean: labels of subtotals, texts that do not outgrow, ages, regular expressions."""

import re
from datetime import date, timedelta
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow
import pytest

from discreet.engines.reference.meaning import LENIENT, STRICT
from discreet.errors import QueryError
from discreet.query.catalog.manifest import declare
from discreet.query.check.afterwards import LONGEST, WORDS
from discreet.query.language.regular import matched
from discreet.query.language.said import bitwise, years
from discreet.query.language.sql import fragment
from discreet.query.plan import Among, Call, Case, Column, Literal, Scalar
from discreet.release.opening import open_catalog
from discreet.release.session import Session


def meaning(scalar: Scalar, cell: object) -> object:
    """Return what a scalar of one column is in a row, by the meanings of the reference engine."""
    match scalar:
        case Literal(value):
            return value
        case Column():
            return cell
        case Among(argument, values):
            return meaning(argument, cell) in [value.value for value in values]
        case Case(branches, otherwise):
            found = (value for test, value in branches if meaning(test, cell) is True)
            return meaning(next(found, otherwise), cell)
        case Call(name, arguments):
            cells = [meaning(argument, cell) for argument in arguments]
            return LENIENT[name](*cells) if name in LENIENT else STRICT[name](*cells)
    raise AssertionError


CELL = Column(None, "x")

EXPRESSIONS = (
    *(r"^[0-9]{2}$", r"^[ab]+$", r"^a[0-9]*$", r"[0-9]$", r"^[^ab]", r"a?b", r"^a{1,2}b?$", r"[ab][01]"),
    *(r"^\\d\\w$", r"b{2}", r"^(a|b[0-9])$", r"^.[a-c]$", r"^[a-]+$", r"[01]{2,}$", r"a.b", r"^$", r"^a|b$"),
    *(r"a*", r"^a*$", r"[^a]$", r"^[^a][^b]$"),
    *(r"a(b|01)", r"^a(?:b|c)$", r"(a|b)[01]$", r"^(aa|b)0*$", r"[a(b|c)]0", r"(0|1)-", r"a(-|_|b)a"),
)


def test_an_expression_matches_what_it_matches_elsewhere() -> None:
    random = Random(5)
    texts = ["", *("".join(random.choices("aab01-_c", k=random.randint(1, 4))) for _ in range(150))]
    for expression in EXPRESSIONS:
        condition = matched(CELL, Literal(expression))
        for text in texts:
            wanted = re.search(expression, text, re.ASCII) is not None
            assert meaning(condition, text) is wanted, (expression, text)


@pytest.mark.parametrize(
    "expression",
    [
        *("(a+)+", "^a+b+$", "[a-z]{3}b", "a{1,99}", "^[a", "a{2", "[^a]", "a**"),
        *("x(ab)+c", "x(a|b)?c", "x(?=ab)c", r"x(a|b)\1", "(a|b)c(d|e)", "x(a(b|c))d"),
    ],
)
def test_what_takes_longer_on_some_data_is_refused(expression: str) -> None:
    with pytest.raises(QueryError, match="regular expression"):
        matched(CELL, Literal(expression))


def test_an_age_is_that_of_the_calendar() -> None:
    random, first = Random(1), date(2019, 1, 1)
    days = [
        date(2020, 2, 29),
        date(2024, 2, 29),
        *(first + timedelta(random.randrange(2000)) for _ in range(60)),
    ]
    for earlier in days:
        for later in days:
            found = meaning(years(Literal(later), CELL), earlier)
            one, other = sorted((earlier, later))
            whole = other.year - one.year - ((other.month, other.day) < (one.month, one.day))
            assert found == (whole if later >= earlier else -whole)


@pytest.mark.parametrize("mask", [1, 6, 8, 5, 0, 2**30])
def test_bits_are_those_of_the_number(mask: int) -> None:
    for number in (*range(-17, 18), 2**31 + 5, -(2**33) - 7):
        assert meaning(bitwise("&", CELL, Literal(mask)), number) == number & mask
        assert meaning(bitwise("|", Literal(mask), CELL), number) == number | mask


def test_a_released_text_does_not_outgrow() -> None:
    assert len(WORDS["repeat"]("xyz", Fraction(10**12))) == LONGEST
    assert WORDS["repeat"]("xyz", Fraction(-3)) == ""
    assert len(WORDS["replace"]("x" * LONGEST, "x", "yyy")) == LONGEST
    assert len(WORDS["concat"]("x" * LONGEST, "y", 3)) == LONGEST
    assert len(WORDS["lpad"]("x", Fraction(10**12), "ab")) == LONGEST
    assert WORDS["replace"]("abab", "b", "xyz") == "axyzaxyz"
    assert WORDS["to_text"](Fraction(7, 2)) == "3.5"


def test_no_released_number_is_too_large_to_be_shown() -> None:
    """What is computed after the price is paid cannot fail: such a number is missing."""
    for number in (2**40_000, Fraction(2**40_000, 3), Fraction(3, 2**40_000), Fraction(2**3_000, 7)):
        assert WORDS["to_text"](number) is None
        assert WORDS["concat"]("n = ", number) is None


def test_constants_do_not_outgrow_while_they_are_read() -> None:
    text = "'x'"
    for _ in range(9):
        text = f"REPEAT({text}, 32)"
    found = fragment(text)
    assert isinstance(found, Literal)
    assert len(str(found.value)) <= 32 * LONGEST


VISITS = [
    {"person": n % 40, "ward": "AB"[n % 3 == 0], "flag": n % 4 == 0, "age": (7 * n) % 90} for n in range(400)
]


@pytest.fixture(scope="module")
def data() -> Session:
    columns = {
        "ward": {"type": "text", "values": ["A", "B"]},
        "flag": "boolean",
        "age": {"type": "integer", "low": 0, "high": 100},
    }
    table = {"unit": "person", "rows_per_unit": 10, "columns": columns}
    made = declare({"tables": {"visits": table}, "budget": {"epsilon": 10**9, "delta": "1e-3"}})
    return open_catalog(made, {"visits": pyarrow.Table.from_pylist(VISITS)})


def asked(data: Session, question: str) -> list[dict[str, Any]]:
    """Return an answer whose noise is next to nothing."""
    return data.query(question, epsilon=10**6).to_arrow().to_pylist()  # type: ignore[no-any-return]


def test_a_row_says_which_columns_it_leaves_out(data: Session) -> None:
    rows = asked(
        data,
        "SELECT ward, flag, GROUPING(ward) AS g, GROUPING(ward, flag) AS both, CASE WHEN GROUPING(ward) = 1 "
        "THEN 'all' ELSE ward END AS label, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, flag)",
    )
    assert len(rows) == 9
    for found in rows:
        assert found["g"] == (found["ward"] is None)
        assert found["both"] == 2 * (found["ward"] is None) + (found["flag"] is None)
        assert found["label"] == (found["ward"] or "all")


def test_what_a_person_adds_to_a_group_is_clamped(data: Session) -> None:
    """The sums of each person in each ward, clamped and added up; averages are those of people's averages."""
    sums: dict[tuple[str, int], list[int]] = {}
    for one in VISITS:
        sums.setdefault((str(one["ward"]), int(one["person"])), []).append(int(one["age"]))
    rows = asked(
        data,
        "SELECT ward, SUM(age, contribution_bounds_per_group => (30, 200)) AS s, COUNT(*, "
        "contribution_bounds_per_group => (0, 4)) AS n, COUNT(DISTINCT person) AS people FROM visits "
        "GROUP BY ward",
    )
    for found in rows:
        own = [ages for (ward, _), ages in sums.items() if ward == found["ward"]]
        assert found["s"] == pytest.approx(sum(min(max(sum(ages), 30), 200) for ages in own), abs=1)
        assert found["n"] == pytest.approx(sum(min(len(ages), 4) for ages in own), abs=0.1)
        assert found["people"] == pytest.approx(len(own), abs=0.1)


def test_many_people_decide_whether_something_holds(data: Session) -> None:
    """Where nobody decides, an extreme errs once in fifty times at any price: only the other side is sure."""
    (found,) = asked(data, "SELECT BOOL_OR(age > 80) AS a, EVERY(flag) AS b FROM visits")
    assert found == {"a": True, "b": False}


def test_released_values_are_shown_as_text(data: Session) -> None:
    (found,) = asked(data, "SELECT CONCAT('n = ', CAST(ROUND(COUNT(*)) AS VARCHAR)) AS label FROM visits")
    assert found == {"label": "n = 400"}
