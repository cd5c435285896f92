"""Lists of rows, written out as one list for each column.

`q : private real[2] list` is a list whose every element is a row of two numbers.  It becomes two lists, q'0
and q'1, of one length; `q[i][j]` becomes the element of the column that j picks, and has no value where j
picks none.  Neighbours are neighbours row by row: `one by B` and `replace` change a single row, in every
entry of which the bound and the interval hold, so the columns differ at one place that they share; `all by B`
changes every entry.  Everything after this knows plain lists only.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import NoReturn

from discreet.errors import ProgramError
from discreet.verify.substitute import mapped
from discreet.verify.syntax import (
    Append,
    Apply,
    Array,
    Assign,
    Binary,
    Claim,
    Conditional,
    Element,
    EpsilonClaim,
    Expr,
    If,
    Neighbours,
    Number,
    Parameter,
    ProcedureCall,
    Program,
    Put,
    Return,
    Rho,
    Sample,
    Size,
    Statement,
    TextPosition,
    Variable,
    While,
    assigned,
    subexpressions,
)

CELL = "[]"
"""How `q[i][j]` is applied before it is written out; no function can be called this."""
LARGEST = 2000
"""Parts of one expression after its rows are written out."""
Change = Callable[[Expr], Expr]
KINDS = ("one", "all", "replace", "any")


def column(name: str, number: int) -> str:
    """Return the name of a column."""
    return f"{name}'{number}"


def columns(program: Program) -> Program:
    """Return a program without lists of rows."""
    tables = {p.name: p.type.width for p in program.parameters if isinstance(p.type, Array) and p.type.width}
    taken = {p.name for p in program.parameters} | assigned(program.body)
    for parameter in program.parameters:
        for number in range(tables.get(parameter.name, 0)):
            if column(parameter.name, number) in taken:
                _error(f"{column(parameter.name, number)} is a column of {parameter.name}", parameter.at)

    def change(expression: Expr) -> Expr:
        return _bounded(_expression(expression, tables), expression)

    firsts = {name: Size(column(name, 0)) for name in tables}
    same = [
        Binary("=", Size(column(n, k)), firsts[n]) for n, width in tables.items() for k in range(1, width)
    ]
    return replace(
        program,
        parameters=tuple(own for p in program.parameters for own in _parameters(p)),
        neighbours=tuple(own for r in program.neighbours for own in _relations(r, tables, change)),
        requires=(*map(change, program.requires), *same),
        claim=_claim(program, change),
        adjacency=change(program.adjacency),
        body=_block(program.body, change),
        tables=tuple(tables.items()),
    )


def _error(message: str, at: TextPosition) -> NoReturn:
    raise ProgramError(message, at.line, at.column)


def _parameters(parameter: Parameter) -> list[Parameter]:
    kind = parameter.type
    if not isinstance(kind, Array) or not kind.width:
        return [parameter]
    names = [column(parameter.name, number) for number in range(kind.width)]
    return [replace(parameter, name=name, type=Array(kind.element)) for name in names]


def _relations(relation: Neighbours, tables: dict[str, int], change: Change) -> list[Neighbours]:
    parts = [None if e is None else change(e) for e in (relation.bound, relation.low, relation.high)]
    relation = replace(relation, bound=parts[0], low=parts[1], high=parts[2])
    if relation.name not in tables:
        return [relation]
    if relation.kind not in KINDS:
        _error(f"of lists of rows, {relation.kind} is not understood: use {', '.join(KINDS)}", relation.at)
    first = column(relation.name, 0) if relation.kind in ("one", "replace") else ""
    names = [column(relation.name, number) for number in range(tables[relation.name])]
    return [replace(relation, name=name, along=first if name != first else "") for name in names]


def _claim(program: Program, change: Change) -> Claim | None:
    match program.claim:
        case EpsilonClaim(epsilon, delta, at):
            return EpsilonClaim(change(epsilon), None if delta is None else change(delta), at)
        case Rho(rho, at):
            return Rho(change(rho), at)
        case claim:
            return claim


def _expression(expression: Expr, tables: dict[str, int]) -> Expr:
    match expression:
        case Apply(function, (Variable(name), row, place), at) if function == CELL:
            if name not in tables:
                _error(f"{name} is no list of rows: declare it as, say, real[2] list", at)
            return _cell(name, _expression(row, tables), place, tables[name])
        case Size(name, side, at) if name in tables:
            return Size(column(name, 0), side, at)
        case Variable(name, at=at) | Element(name, at=at) if name in tables:
            _error(f"{name} is a list of rows: read an entry of it, {name}[i][j]", at)
    return mapped(expression, lambda part: _expression(part, tables))


def _cell(name: str, row: Expr, place: Expr, width: int) -> Expr:
    at = place.at
    match place:
        case Number(value, True) if value in range(width):
            return Element(column(name, int(value)), row, at=at)
        case Number():
            _error(f"a row of {name} has the entries 0 to {width - 1}", at)
        case Variable():
            # A column that is not there is read before its beginning, where no list has an element.
            found: Expr = Element(column(name, 0), Number(Fraction(-1), at=at), at=at)
            for number in reversed(range(width)):
                test = Binary("=", place, Number(Fraction(number)), at)
                found = Conditional(test, Element(column(name, number), row, at=at), found, at)
            return found
    return _error("which entry of a row is read must be a number or a variable: j := ..., then q[i][j]", at)


def _bounded(expression: Expr, written: Expr) -> Expr:
    if sum(1 for _ in islice(subexpressions(expression), LARGEST)) == LARGEST:
        _error("with its rows written out, this expression is too large; name a part of it first", written.at)
    return expression


def _block(block: tuple[Statement, ...], change: Change) -> tuple[Statement, ...]:
    return tuple(_statement(statement, change) for statement in block)


def _statement(statement: Statement, change: Change) -> Statement:
    match statement:
        case Assign(value=value) | Append(value=value):
            return replace(statement, value=change(value))
        case Put(_, index, value):
            return replace(statement, index=change(index), value=change(value))
        case Sample(arguments=arguments) | ProcedureCall(arguments=arguments):
            return replace(statement, arguments=tuple(map(change, arguments)))
        case If(condition, positive, negative):
            first, second = _block(positive, change), _block(negative, change)
            return replace(statement, condition=change(condition), positive=first, negative=second)
        case While(condition, body):
            return replace(statement, condition=change(condition), body=_block(body, change))
        case Return(values):
            return replace(statement, values=tuple(map(change, values)))
