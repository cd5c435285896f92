"""What the checker says of values holds in the engine, and what leaves the engine stays told apart."""

from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import Any

import duckdb
import pytest
from tests.query.proof.world import c, f

from discreet.engines.duckdb.render import literal, scalar_text
from discreet.engines.exact import EngineRequest, collect
from discreet.errors import EngineError, ProofError, QueryError
from discreet.query.plan import Call, Column, Literal, Scalar
from discreet.query.proof.function import FUNCTIONS, aggregate, evaluate
from discreet.query.proof.value import YEARS, Kind, Value, stored

ROWS = """(VALUES (-9223372036854775808, -1e308), (9223372036854775807, 'nan'::DOUBLE), (0, 'inf'::DOUBLE),
    (NULL, NULL), (-1, 0.3e0)) AS "t"("x", "y")"""
X, Y = c("t", "x"), c("t", "y")
NUMBERS: tuple[Scalar, ...] = (X, Y, *map(Literal, (None, 1, -7, 2**63 - 1, -(2**63), Fraction(1, 2))))
WIDE: tuple[Scalar, ...] = tuple(map(Literal, (2**63, 2**64, 2**127, -(2**127) - 1, 2**128)))
NOON = datetime(2001, 2, 3, 12)
WORDS: tuple[Scalar, ...] = tuple(map(Literal, ("year", "2001-02-03", True, date(2001, 2, 3), NOON)))


def leaf(scalar: Scalar) -> Value | None:
    return stored("integer" if scalar == X else "decimal", "") if isinstance(scalar, Column) else None


def holds(value: Value, found: Any) -> bool:
    """Whether what the engine found is what the checker said."""
    if found is None:
        return value.null
    match value.kind:
        case Kind.WHOLE:
            return type(found) is int and value.low <= found <= value.high
        case Kind.REAL if not isfinite(found):
            return not value.finite
        case Kind.REAL:
            return type(found) is float and (not value.bounded or value.low <= Fraction(found) <= value.high)
        case Kind.DAY | Kind.MOMENT:
            return isinstance(found, date) and value.low <= found.year <= value.high
        case kind:
            return kind is not Kind.NULL


def tried(name: str, arguments: tuple[Scalar, ...]) -> str:
    call = Call(name, arguments)
    try:
        value = evaluate(call, leaf)
    except (ProofError, ValueError, IndexError, TypeError, AttributeError, OverflowError):
        # The door of the checker turns all of these into refusals.
        return "refused"
    assert not any(argument in WIDE for argument in arguments), call
    try:
        rows = duckdb.execute(f"SELECT {scalar_text(call)} FROM {ROWS}").fetchall()
    except (duckdb.BinderException, AssertionError):
        return "never runs, whatever the data"
    assert all(holds(value, found) for (found,) in rows), (call, value, rows)
    return "right"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_of_null_and_wide_constants_are_refused_or_right(name: str) -> None:
    few = (X, Y, *map(Literal, (None, 1, 2**63 - 1, 2**64, "year", date(2001, 2, 3))))
    lists = [(a,) for a in (*NUMBERS, *WIDE, *WORDS)]
    lists += list(product((*NUMBERS, *WIDE[:3], *WORDS), repeat=2)) + list(product(few, repeat=3))  # type: ignore[arg-type]
    seen = Counter(tried(name, arguments) for arguments in lists)
    assert seen["refused"] > 0 or name in ("is_null", "slot"), seen
    assert seen["right"] > 0 or name in ("fixed", "like", "ilike", "mean"), seen


def test_a_mask_of_null_alone_is_null() -> None:
    mask = aggregate(f("bits_or", f("clamp", X, 0, 1)), leaf, None, grouped=True)
    assert mask is not None
    assert mask.null
    assert duckdb.execute(f"SELECT bit_or(x) FROM {ROWS} WHERE x IS NULL").fetchall() == [(None,)]


LATE = (
    *("0000-12-31", " 0000-01-01", "0000-01-01 00:00:00Z", "10000-01-01", "294247-01-10", "5881580-07-10"),
    *("0044-03-15 (BC)", "5877642-06-25 (BC)", "-0044-03-15", "+9999-12-31", "9999-12-32", "infinity"),
    *("9999-12-31 24:00:00", "9999-12-31 23:59:60", "9999-12-31 23:59:59-15:00", "epoch", "2000-01-01\n"),
    *("9999-12-31 23:59:59.9999999", "\u0662\u0660\u0660\u0660-01-01"),
)


@pytest.mark.parametrize("function", ["parse_day", "parse_moment"])
def test_no_text_is_a_date_outside_of_the_years(function: str) -> None:
    known = evaluate(f(function, "2001-02-03"), leaf)
    assert (known.low, known.high) == YEARS == (1, 9999)
    for text in LATE:
        assert duckdb.execute(f"SELECT {scalar_text(f(function, text))}").fetchall() == [(None,)], text
    for year, text in ((1, "0001-01-01"), (9999, " 9999-12-31 ")):
        found = duckdb.execute(f"SELECT {scalar_text(f('part', 'year', f(function, text)))}").fetchall()
        assert found == [(year,)]


def test_a_cast_would_read_any_year_and_is_refused() -> None:
    for function, text in product(("to_day", "to_moment"), ("20000-01-01", "0044-03-15 (BC)", "2001-02-03")):
        cast = f("part", "year", f(function, text))
        assert duckdb.execute(f"SELECT {scalar_text(cast)}").fetchall() in [[(20000,)], [(-43,)], [(2001,)]]
        with pytest.raises(ProofError):
            evaluate(cast, leaf)


@pytest.mark.parametrize("year", [1, 2, 4, 5, 100, 101, 400, 401, 1900, 2000, 2001, 9999])
def test_microseconds_of_a_year_lie_between_its_ends(year: int) -> None:
    ends = [Literal(datetime(year, 1, 1)), Literal(datetime(year, 12, 31, 23, 59, 59, 999_999))]
    calls = [f("microseconds", end) for end in ends]
    known = {(value.low, value.high) for value in (evaluate(call, leaf) for call in calls)}
    (found,) = duckdb.execute(f"SELECT {', '.join(map(scalar_text, calls))}").fetchall()
    assert known == {found}


@pytest.mark.parametrize("function", ["to_day", "to_moment"])
@pytest.mark.parametrize("text", ["infinity", "-infinity"])
def test_an_infinite_date_is_null(function: str, text: str) -> None:
    assert duckdb.execute(f"SELECT {scalar_text(f(function, text))}").fetchall() == [(None,)]


def test_a_group_that_comes_twice_is_a_failure() -> None:
    last = date(9999, 12, 31)
    for cells, rows in ((False, [(last, 50), (last, 1)]), (True, [(1, 4), (True, 1)])):
        assert collect([EngineRequest("", 1, ("m0",), cells)], [rows[:1]])
        with pytest.raises(EngineError):
            collect([EngineRequest("", 1, ("m0",), cells)], [rows])


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70, 10**50])
def test_a_whole_constant_beyond_64_bits_is_not_written(number: int) -> None:
    for write in (lambda: literal(number), lambda: scalar_text(f("add", X, number))):
        with pytest.raises(QueryError):
            write()
    assert literal(2**63 - 1) == str(2**63 - 1)


def test_constants_of_different_types_are_different() -> None:
    same = [Literal(1), Literal(Fraction(1)), Literal(True)]
    assert len(set(same)) == 3
    assert Literal(1) == Literal(1)
    assert Call("add", (X, same[0])) != Call("add", (X, same[1]))
