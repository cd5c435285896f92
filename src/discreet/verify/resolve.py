"""From the procedures of a file to one closed program: calls inlined, sites numbered, constants propagated.

A call `x := P(a, b)` is replaced by P's body with fresh local names, so that privacy composes by being proved
again for the whole, never by trusting P's own claim.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import assert_never

from discreet.errors import ProgramError
from discreet.verify.syntax import (
    Append,
    Array,
    Assign,
    Call,
    Expr,
    If,
    Name,
    Parameter,
    Position,
    Program,
    Query,
    Return,
    Sample,
    Scalar,
    Statement,
    While,
    assigned,
    expressions,
    names,
    statements,
    subexpressions,
    substitute,
)


def resolve(procedures: tuple[Program, ...]) -> Program:
    """Return the last procedure of a file as one closed program."""
    done: Earlier = {}
    for procedure in procedures:
        done[procedure.name] = _close(procedure, done), len(procedure.parameters)
    return _number(propagate(done[procedures[-1].name][0]))


Earlier = dict[str, tuple[Program, int]]
"""The closed procedures read so far, each with the number of parameters that a call must give."""


def _close(program: Program, earlier: Earlier) -> Program:
    program = _declare(program)
    taken = {p.name for p in program.parameters} | assigned(program.body)
    return replace(program, body=_inline(program.body, earlier, taken, count(1)))


def _declare(program: Program) -> Program:
    """Add eps, the sensitivities of function parameters, and the constants that only the header mentions."""
    known = {p.name for p in program.parameters}
    header: list[Expr] = list(program.requires)
    for relation in program.neighbours:
        header += [e for e in (relation.bound, relation.low, relation.high) if e is not None]
    claim = program.claim
    header += [e for e in (getattr(claim, f, None) for f in ("epsilon", "delta", "rho")) if e is not None]
    wanted = {"eps": program.at}
    for parameter in program.parameters:
        if isinstance(parameter.type, Query):
            wanted["GS" + parameter.name] = parameter.at
    for expression in header:
        for part in subexpressions(expression):
            if isinstance(part, Name):
                wanted.setdefault(part.name, part.at)
    for name in assigned(program.body) & wanted.keys():
        if name not in known and any(name in names(e) for e in header):
            raise _error(f"{name} is a constant of the header and cannot be assigned", wanted[name])
    extra = tuple(
        Parameter(name, Scalar("real"), False, at)
        for name, at in wanted.items()
        if name not in known and name not in assigned(program.body)
    )
    return replace(program, parameters=program.parameters + extra)


def _error(message: str, at: Position) -> ProgramError:
    return ProgramError(message, at.line, at.column)


def _inline(
    block: tuple[Statement, ...], earlier: Earlier, taken: set[str], serial: Iterator[int]
) -> tuple[Statement, ...]:
    result: list[Statement] = []
    for statement in block:
        match statement:
            case Call():
                result += _expand(statement, earlier, taken, serial)
            case If(condition, positive, negative, at):
                inner = (_inline(part, earlier, taken, serial) for part in (positive, negative))
                result.append(If(condition, next(inner), next(inner), at))
            case While(condition, body, loop, at):
                result.append(While(condition, _inline(body, earlier, taken, serial), loop, at))
            case _:
                result.append(statement)
    return tuple(result)


def _expand(call: Call, earlier: Earlier, taken: set[str], serial: Iterator[int]) -> tuple[Statement, ...]:
    callee, arity = earlier[call.procedure]
    explicit = callee.parameters[:arity]
    if len(explicit) != len(call.arguments):
        raise _error(f"{call.procedure} takes {len(explicit)} arguments, got {len(call.arguments)}", call.at)
    returned = callee.body[-1] if callee.body else None
    if not isinstance(returned, Return) or len(returned.values) != 1:
        raise _error(f"{call.procedure} cannot be called: it must return exactly one value", call.at)
    number = next(serial)
    locals_ = assigned(callee.body)
    mapping: dict[str, Expr] = {}
    for name in sorted(locals_):
        fresh = f"{name}'{number}"
        while fresh in taken:
            fresh += "'"
        taken.add(fresh)
        mapping[name] = Name(fresh)
    before: list[Statement] = []
    for parameter, argument in zip(explicit, call.arguments, strict=True):
        if isinstance(parameter.type, Array | Query):
            if not isinstance(argument, Name):
                raise _error(f"{parameter.name} of {call.procedure} must be given as a name", call.at)
            mapping[parameter.name] = argument
            if isinstance(parameter.type, Query):
                mapping["GS" + parameter.name] = Name("GS" + argument.name, at=argument.at)
        else:
            fresh = f"{parameter.name}'{number}"
            while fresh in taken:
                fresh += "'"
            taken.add(fresh)
            mapping[parameter.name] = Name(fresh)
            before.append(Assign(fresh, argument, call.at))
    value = returned.values[0]
    tail: list[Statement] = []
    if isinstance(value, Name) and any(
        isinstance(s, Append) and s.target == value.name for s in statements(callee.body)
    ):
        mapping[value.name] = Name(call.target)
    else:
        tail.append(Assign(call.target, substitute(value, mapping), call.at))
    return (*before, *_rename(callee.body[:-1], mapping), *tail)


def _new(name: str, mapping: dict[str, Expr]) -> str:
    other = mapping.get(name)
    return other.name if isinstance(other, Name) else name


def _rename(block: tuple[Statement, ...], mapping: dict[str, Expr]) -> tuple[Statement, ...]:
    result: list[Statement] = []
    for statement in block:
        match statement:
            case Assign(target, value, at):
                result.append(Assign(_new(target, mapping), substitute(value, mapping), at))
            case Append(target, value, tag, at):
                result.append(Append(_new(target, mapping), substitute(value, mapping), tag, at))
            case Sample(target, law, arguments, site, at):
                new = tuple(substitute(a, mapping) for a in arguments)
                result.append(Sample(_new(target, mapping), law, new, site, at))
            case If(condition, positive, negative, at):
                parts = _rename(positive, mapping), _rename(negative, mapping)
                result.append(If(substitute(condition, mapping), *parts, at))
            case While(condition, body, loop, at):
                result.append(While(substitute(condition, mapping), _rename(body, mapping), loop, at))
            case Return(values, at):
                result.append(Return(tuple(substitute(v, mapping) for v in values), at))
            case Call():
                raise _error("calls are inlined from the inside out", statement.at)
            case _:
                assert_never(statement)
    return tuple(result)


def propagate(program: Program) -> Program:
    """Replace variables that are set once, at the top, to an expression over public constants.

    After this, a scale written `b := 2 / eps` and one written in place are the same scale.
    """
    publics = {p.name for p in program.parameters if not p.private and isinstance(p.type, Scalar)}
    changed = {s.target: 0 for s in statements(program.body) if isinstance(s, Assign | Sample | Append)}
    for statement in statements(program.body):
        if isinstance(statement, Assign | Sample | Append):
            changed[statement.target] += 1
    rigid = publics - changed.keys()
    body: list[Statement] = []
    mapping: dict[str, Expr] = {}
    used: set[str] = set()
    for statement in program.body:
        match statement:
            case Assign(target, value) if (
                changed[target] == 1
                and target not in publics
                and target not in used
                and names(substitute(value, mapping)) <= rigid
                and names(value)
            ):
                mapping[target] = substitute(value, mapping)
            case _:
                body.append(statement)
                for inner in statements((statement,)):
                    used |= set().union(*(names(e) for e in expressions(inner)))
    return replace(program, body=_rename(tuple(body), mapping)) if mapping else program


def _number(program: Program) -> Program:
    sites, tags, loops = count(1), count(1), count(1)

    def visit(block: tuple[Statement, ...]) -> tuple[Statement, ...]:
        result: list[Statement] = []
        for statement in block:
            match statement:
                case Sample():
                    result.append(replace(statement, site=next(sites)))
                case Append():
                    result.append(replace(statement, tag=next(tags)))
                case If():
                    positive = visit(statement.positive)
                    result.append(replace(statement, positive=positive, negative=visit(statement.negative)))
                case While():
                    number = next(loops)
                    result.append(replace(statement, loop=number, body=visit(statement.body)))
                case _:
                    result.append(statement)
        return tuple(result)

    return replace(program, body=visit(program.body))
