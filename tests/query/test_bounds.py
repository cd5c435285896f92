"""Bounds are found by a private question and become declarations."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from tests.query.worlds import requests

from discreet.engines.duckdb.engine import open_tables
from discreet.engines.protocol import Origin
from discreet.errors import QueryError
from discreet.query.catalog.kind import Real
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.bounds import found, needed, question
from discreet.query.check.measurement import QuantileChoice
from discreet.query.check.question import check
from discreet.query.language.sql import read


def catalog(kind: str = "decimal") -> Catalog:
    columns = {"x": {"type": kind, "bounds": "auto"}, "y": {"type": "integer", "low": 0, "high": 9}}
    return declare({"tables": {"t": {"unit": "u", "rows_per_unit": 2, "columns": columns}}})


def cells(values: list[Any], kind: str) -> dict[int, int]:
    import pyarrow

    frame = pyarrow.table({"u": list(range(len(values))), "x": values, "y": [1] * len(values)})
    declared = catalog(kind)
    checked = question(declared, "t", "x")
    with open_tables({"t": Origin(frame, declared.tables[0].offered)}) as engine:
        exact = engine._exact(requests(checked), 1)
    choice = checked.measurements[0]
    assert isinstance(choice, QuantileChoice)
    return {int(choice.value(position)): weight for position, weight in exact._cells["m0"][()].items()}  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["integer", "decimal"])
def test_every_number_lies_in_the_cell_whose_edges_contain_it(kind: str) -> None:
    random = Random(5)
    values = [0, 1, -1, 3, 4, -1024, 2**40 + 1] + [random.randint(-(10**6), 10**6) for _ in range(6)]
    if kind == "decimal":
        values += [0.1, -0.001, 1e-30, 1e140, -1e140]
    for value in values:
        ((cell, _),) = cells([float(value) if kind == "decimal" else value], kind).items()
        bounded = found(catalog(kind), "t", "x", Fraction(cell), Fraction(cell)).tables[0].columns[0].kind
        if abs(value) <= 2**53 and (value == 0 or abs(value) >= 2**-20):
            assert bounded.low <= value <= bounded.high, (value, cell, bounded)  # type: ignore[union-attr]


def test_a_question_says_which_bounds_it_needs() -> None:
    assert needed(read("SELECT SUM(x), AVG(y) FROM t"), catalog()) == (("t", "x"),)
    assert needed(read("SELECT COUNT(x) FROM t WHERE x > 3"), catalog()) == ()
    nested = "SELECT AVG(s) FROM (SELECT u, SUM(x) AS s FROM t GROUP BY u) AS p"
    assert needed(read(nested), catalog()) == (("t", "x"),)
    with pytest.raises(QueryError, match="still to be found"):
        check(read("SELECT SUM(x) FROM t"), catalog())


def test_found_bounds_make_the_question_answerable() -> None:
    bounded = found(catalog(), "t", "x", Fraction(-3), Fraction(25))
    assert needed(read("SELECT SUM(x) FROM t"), bounded) == ()
    assert check(read("SELECT SUM(x) FROM t"), bounded).measurements


def test_crossed_choices_still_give_an_interval() -> None:
    kind = found(catalog("integer"), "t", "x", Fraction(5), Fraction(-2)).tables[0].columns[0].kind
    assert kind.low < kind.high  # type: ignore[union-attr]


def test_only_numbers_have_bounds_to_find() -> None:
    with pytest.raises(QueryError):
        question(catalog(), "t", "absent")


@pytest.mark.parametrize("step", ["1", "0.01", "0.000001", "1e-12"])
def test_bounds_that_were_paid_for_can_be_declared_whatever_the_step(step: str) -> None:
    columns = {"x": {"type": "decimal", "bounds": "auto", "step": step}}
    given = declare({"tables": {"t": {"unit": "u", "rows_per_unit": 2, "columns": columns}}})
    choice = question(given, "t", "x").measurements[0]
    assert isinstance(choice, QuantileChoice)
    for low in range(choice.low, choice.low + choice.size):
        for high in (choice.low, low, 0, -low):
            kind = found(given, "t", "x", Fraction(low), Fraction(high)).tables[0].columns[0].kind
            assert isinstance(kind, Real)
            assert kind.low is not None
            assert kind.high is not None
            assert kind.low <= kind.high <= Fraction(step) * 2**52
