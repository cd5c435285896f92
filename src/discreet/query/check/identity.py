"""The identity of a question: what is measured, as canonical JSON without engine or spelling.

Two questions are the same when they measure the same integers of the same rows in the same groups; the ledger
answers the second from what it stored of the first, free.  So the identity holds the rows (tables, joins,
filters, the person, the limits on contributions), the group keys with their declared values, and every
measurement with its integers.  It does not hold what is computed from released values afterwards: names of
columns, formulas over measurements, HAVING, ORDER BY, LIMIT and DISTINCT.

Relations and columns carry generated names, so aliases are gone before we begin.  Conditions have one
form: AND and OR are flat, sorted and without repetitions, comparisons look one way, IN lists are sorted.

A stored form never changes its meaning: `VERSION` is part of the text, and whoever changes what a line below
says must count it up, which makes earlier answers cost again rather than answer another question.
"""

import json
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.measurement import (
    Checked,
    Classes,
    Declared,
    Fixed,
    KeyColumn,
    Keys,
    Measured,
    Measurement,
    ModeChoice,
    Private,
    QuantileChoice,
    Rows,
    RunningGroups,
    Sets,
    questions_of,
)
from discreet.query.plan import Aggregate, Among, Call, Case, Column, Literal, Scalar, Value, given
from discreet.query.statement import Inner, JoinedRows, Listed, Named, Query, Source, Stacked, StoredTable

VERSION = 2

Form: TypeAlias = Any
"""Plain JSON: strings, whole numbers, booleans, null, lists and dictionaries."""

_MIRRORED = {"gt": "lt", "ge": "le"}
_SYMMETRIC = ("and", "or", "eq", "ne", "distinct")


def identity(checked: Checked) -> str:
    """Return the canonical text of what a question measures.

    Of one that is made of several released tables it is what each of those measures; one table, whatever is
    made of it, is the question that releases it.
    """
    forms = [_form(part) for part in questions_of(checked)]
    return text(forms[0] if len(forms) == 1 else {"question": VERSION, "several": forms})


def _form(checked: Checked) -> Form:
    return {
        "question": VERSION,
        "rows": _rows(checked.rows),
        "keys": _keys(checked.keys),
        "measurements": [_measured(measured) for measured in checked.measurements],
        **_shares(checked),
    }


def _shares(checked: Checked) -> Form:
    """Return how a price is split where no mechanism tells: those of overlapping groups are without price."""
    if len(set(checked.weights)) < 2 or not isinstance(checked.keys, Sets | RunningGroups):
        return {}
    total = sum(checked.weights)
    return {"weights": [str(weight / total) for weight in checked.weights]}


def text(form: Form) -> str:
    """Return plain JSON as the one text that stands for it."""
    return json.dumps(form, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def _rows(rows: Rows) -> Form:
    return {
        "source": _source(rows.source),
        "where": _optional(rows.where),
        "person": _optional(rows.unit),
        "neighbours": rows.adjacency.value,
        "limits": [rows.bound, rows.rows, rows.per_group, rows.people],
    }


def _keys(keys: Keys) -> Form:
    columns = [_key(column) for column in keys.columns]
    match keys:
        case Declared():
            return {"declared": columns}
        case Private(_, people):
            return {"found": columns, "people": people}
        case Sets(_, sets):
            return {"sets": [list(chosen) for chosen in sets], "of": columns}
        case RunningGroups(_, levels):
            return {"running": columns, "levels": [str(level) for level in levels]}
        case Classes(_, groups, asked):
            # Before, every measurement was of all groups, and the form had no third part.
            parts = [[[part.start, part.stop, str(part.weight)] for part in one] for one in asked]
            return {"classes": [sorted(group) for group in groups], "of": columns, "asked": parts}
        case _:
            assert_never(keys)


def _key(column: KeyColumn) -> Form:
    values = None if column.values is None else [_value(value) for value in column.values]
    return {"by": _scalar(column.scalar), "values": values, "day": column.day}


def _measured(measured: Measured) -> Form:
    match measured:
        case Measurement(_, sort, sensitivity, scale, low, high, fixed):
            about = {"scale": scale, "low": str(low), "high": str(high), "integer": _fixed(fixed)}
            return {sort.value: about, "moves": _moves(sensitivity)}
        case QuantileChoice(_, level, low, size, units, sensitivity, scale, argument, inward):
            grid = [low, size, units, scale]
            about = {"level": str(level), "grid": grid, "of": _scalar(argument), "inward": inward}
            return {"quantile": about, "moves": _moves(sensitivity)}
        case ModeChoice(_, values, sensitivity, scale, monotone, argument):
            among = [_value(value) for value in values]
            about = {"among": among, "scale": scale, "monotone": monotone, "of": _scalar(argument)}
            return {"mode": about, "moves": _moves(sensitivity)}
        case _:
            assert_never(measured)


def _fixed(fixed: Fixed) -> Form:
    # Versions before simplices had an offset, a centre and squares in these places.
    found = {
        "of": _optional(fixed.argument),
        "whole": fixed.whole,
        "grid": [fixed.scale, fixed.low, fixed.high, 0, 0],
        "square": False,
        "present": fixed.present,
    }
    return {**found, "corner": [fixed.corner, fixed.degree]} if fixed.degree else found


def _moves(sensitivity: Sensitivity) -> Form:
    exact = [str(sensitivity.l1), str(sensitivity.l2_squared), str(sensitivity.linf)]
    return [*exact, sensitivity.l0]


def _source(source: Source) -> Form:
    match source:
        case StoredTable(table, alias):
            return ["table", table, alias]
        case Named(name, alias):
            return ["part", name, alias]
        case Inner(query, alias):
            return ["query", _query(query), alias]
        case JoinedRows(left, right, on, outer):
            return ["left join" if outer else "join", _source(left), _source(right), _scalar(on)]
        case Stacked(queries, alias):
            return ["stack", [_query(query) for query in queries], alias]
        case Listed(names, rows, alias):
            return ["list", list(names), [[_value(value) for value in row] for row in rows], alias]
        case _:
            assert_never(source)


def _query(query: Query) -> Form:
    return {
        "items": [[name, _scalar(scalar)] for name, scalar in query.items],
        "from": _source(query.source),
        "where": _optional(query.where),
        "group": [_scalar(scalar) for scalar in query.group],
        "having": _optional(query.having),
    }


def _optional(scalar: Scalar | None) -> Form:
    return None if scalar is None else _scalar(scalar)


def _scalar(scalar: Scalar) -> Form:
    match scalar:
        case Literal(value):
            return _value(value)
        case Column(relation, name):
            return {"column": [given(relation), name]}
        case Call(name, arguments):
            return _call(name, [_scalar(argument) for argument in arguments])
        case Case(branches, otherwise):
            pairs = [[_scalar(condition), _scalar(value)] for condition, value in branches]
            return {"case": pairs, "else": _scalar(otherwise)}
        case Among(argument, values):
            return {"in": _scalar(argument), "values": _sorted(_value(value.value) for value in values)}
        case Aggregate():
            raise AssertionError("a checked question has no aggregate below its measurements")
        case _:
            assert_never(scalar)


def _call(name: str, arguments: list[Form]) -> Form:
    if name in _MIRRORED:
        return {_MIRRORED[name]: arguments[::-1]}
    if name in ("and", "or"):
        nested = [argument[name] if _is(argument, name) else [argument] for argument in arguments]
        flat = _sorted(part for parts in nested for part in parts)
        return flat[0] if len(flat) == 1 else {name: flat}
    return {name: sorted(arguments, key=text) if name in _SYMMETRIC else arguments}


def _is(form: Form, name: str) -> bool:
    return isinstance(form, dict) and set(form) == {name}


def _sorted(forms: Iterable[Form]) -> list[Form]:
    """Return forms in one order, each once."""
    return [json.loads(form) for form in sorted({text(form) for form in forms})]


def _value(value: Value) -> Form:
    """Return a constant so that constants of different kinds are never the same."""
    match value:
        case None | bool() | int() | str():
            return value
        case Fraction():
            return {"number": str(value)}
        case datetime():
            return {"moment": value.isoformat()}
        case date():
            return {"day": value.isoformat()}
        case _:
            assert_never(value)
