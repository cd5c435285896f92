"""What PostgreSQL puts in order means the same as before, and sizes of integers hold for every cell."""

from itertools import product
from random import Random
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.world import (
    digested,
    frame,
    loaded,
    open_postgres,
    open_reference,
    run_postgres,
    run_reference,
    server,
)

from discreet.engines import postgres
from discreet.engines.kinds import known, scope
from discreet.engines.postgres import render as module
from discreet.engines.postgres.layout import laid_out
from discreet.engines.postgres.source import LONGEST
from discreet.engines.protocol import Origin
from discreet.engines.reference.meaning import LENIENT, STRICT
from discreet.query.catalog.manifest import declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Case, Column, Literal, Scalar
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Listed, Statement

COLUMNS = {"v": (("u", "integer"), ("k", "text"), ("x", "integer"))}
LISTED = {"type": "text", "values": ["a", "b", "c"]}
WHOLE = {"type": "integer", "low": -3, "high": 7}
LIMITS = {"unit": "u", "rows_per_unit": 3, "groups_per_unit": 2}
QUESTIONS = {
    "rows": "SELECT k, COUNT(*), SUM(x), AVG(x) FROM v GROUP BY k",
    "people": "SELECT k, COUNT(DISTINCT u) FROM v GROUP BY k",
    "values": "SELECT k, COUNT(DISTINCT x) FROM v GROUP BY k",
    "median": "SELECT k, MEDIAN(x) FROM v GROUP BY k",
}
CASES = list(product(QUESTIONS, (LISTED, "text"), ({}, {"rows_per_group": 2})))


def rows(seed: int) -> list[dict[str, Any]]:
    draw = Random(seed)
    people = (None, 0, -1, 2**63 - 1, -(2**63), *range(2, 30))
    return [
        {
            "u": draw.choice(people),
            "k": draw.choice(("a", "b", "c", "d", None)),
            "x": draw.choice((None, -9, *range(-3, 9))),
        }
        for _ in range(300)
    ]


def asked(name: str, key: Any, more: dict[str, int]) -> list[Statement]:
    columns = {"u": "integer", "k": key, "x": WHOLE}
    catalog = declare({"tables": {"v": {"columns": columns, **LIMITS, **more}}})
    return list(statements(check(read(QUESTIONS[name]), catalog)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_integer_people_in_order_count_for_the_same(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the judge where the choice agrees, and by the server's own choice beside people in no order."""
    found, tables = asked(*case), {"v": frame(rows(5), COLUMNS["v"])}
    engine, judge = open_postgres(tables, COLUMNS), open_reference(tables, COLUMNS)
    try:
        ours, theirs = run_postgres(engine, found, 3), run_reference(judge, found, 3)
        assert (ours._totals, ours._cells) == (theirs._totals, theirs._cells)
        native = engine._exact(found, 3)
        monkeypatch.setattr(module, "laid_out", lambda statement, tables: (statement, {}))
        bare = engine._exact(found, 3)
        assert (native._totals, native._cells) == (bare._totals, bare._cells)
    finally:
        engine.close()


def test_people_are_put_in_order_where_they_are_integers_and_only_there() -> None:
    counted = asked("rows", LISTED, {"rows_per_group": 2}) + asked("people", "text", {})
    for kind in ("integer", "text"):
        tables = {"v": {"u": kind, "k": "text", "x": "integer"}}
        for statement in (*counted, *map(digested, counted)):
            assert bool(laid_out(statement, tables)[1]) is (kind == "integer")
            assert ("\nORDER BY" in module.render(statement, tables)) is (kind == "integer")


@pytest.mark.parametrize(("name", "key"), [("rows", LISTED), ("rows", "text"), ("median", LISTED)], ids=str)
def test_rows_of_integer_people_are_counted_beside_them_instead_of_joined(name: str, key: Any) -> None:
    first = asked(name, key, {})[0]
    for kind in ("integer", "text"):
        text = module.render(first, {"v": {"u": kind, "k": "text", "x": "integer"}})
        assert ("OVER (PARTITION BY" in text) is (kind == "integer")
        assert (" JOIN " in text) is (kind == "text")


def test_who_has_no_row_that_counts_is_not_divided_by() -> None:
    """People whose every row is in groups that are not declared, and nobody at all."""
    for cells in ([{"u": 1, "k": "d", "x": 5}, {"u": 2, "k": None, "x": 5}, {"u": 3, "k": "a", "x": 5}], []):
        tables, found = {"v": frame(cells, COLUMNS["v"])}, asked("rows", LISTED, {})
        engine, judge = open_postgres(tables, COLUMNS), open_reference(tables, COLUMNS)
        try:
            assert run_postgres(engine, found, 3)._totals == run_reference(judge, found, 3)._totals
        finally:
            engine.close()


def test_texts_are_measured_where_one_could_be_too_long() -> None:
    """Neither compression nor a table's heirs hide one."""
    columns = {"t": (("u", "integer"), ("x", "text"))}
    schema, sources = loaded({"t": frame([{"u": 1, "x": "5"}], columns["t"])}, columns)

    def measured() -> bool:
        engine = postgres.open_tables({"t": Origin(sources["t"], columns["t"])})
        try:
            with engine._snapshot() as connection:
                return "octet_length" in engine._definitions(connection, {"t"})["t"].text
        finally:
            engine.close()

    assert not measured()
    with psycopg.connect(server().url(), autocommit=True) as database:
        database.execute(f"CREATE TABLE {schema}.heir () INHERITS ({schema}.t)")
        assert measured()
        database.execute(f"DROP TABLE {schema}.heir")
        database.execute(f"INSERT INTO {schema}.t VALUES (2, repeat('a', {LONGEST + 1}))")
    assert measured()


WHOLES = st.integers(-(2**40), 2**40)
UNARY = ("narrow", "long", "absolute")
BINARY = ("add", "subtract", "multiply", "multiply_long", "multiply_wide", "least", "greatest", "coalesce")


@st.composite
def scalars(draw: st.DrawFn, depth: int = 3) -> Scalar:
    shape = draw(st.integers(0, 6)) if depth else 0
    inner = scalars(depth - 1)
    match shape:
        case 0:
            return Literal(draw(st.none() | WHOLES))
        case 1:
            return Call(draw(st.sampled_from(UNARY)), (draw(inner),))
        case 2:
            low, high = sorted((draw(WHOLES), draw(WHOLES)))
            return Call("clamp", (draw(inner), Literal(low), Literal(high)))
        case 3:
            return Call("quotient", (draw(inner), Literal(draw(WHOLES.filter(bool)))))
        case 4:
            return Call("bit_at", (draw(inner), Literal(draw(st.integers(0, 59)))))
        case 5:
            return Case(((Literal(draw(st.booleans())), draw(inner)),), draw(inner))
        case _:
            return Call(draw(st.sampled_from(BINARY)), (draw(inner), draw(inner)))


def value(scalar: Scalar) -> Any:
    match scalar:
        case Literal(found):
            return found
        case Case(((test, then),), otherwise):
            return value(then) if value(test) else value(otherwise)
        case Call(name, arguments):
            cells = [value(argument) for argument in arguments]
            if name in STRICT:
                return None if None in cells else STRICT[name](*cells)
            return LENIENT[name](*cells)
        case _:
            raise AssertionError(scalar)


@given(scalars())
def test_no_integer_is_larger_than_its_known_size(scalar: Scalar) -> None:
    size, found = known(scalar, {}).size, value(scalar)
    assert size is not None
    assert found is None or abs(found) <= size


def test_a_listed_column_is_as_large_as_its_largest_constant() -> None:
    listed = Listed(("n",), ((1,), (-(2**30),), (5,)), "b")
    assert known(Column("b", "n"), scope(listed, {}, {})).size == 2**30
