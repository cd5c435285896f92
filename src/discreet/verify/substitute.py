"""Replacing names: in a resolved program every name means one thing, so nothing is captured."""

from collections.abc import Callable, Mapping
from typing import assert_never

from discreet.errors import ProgramError
from discreet.verify.syntax import (
    Append,
    Apply,
    Ask,
    Assign,
    Binary,
    Conditional,
    Element,
    Expr,
    If,
    Items,
    Number,
    ProcedureCall,
    Put,
    Return,
    Sample,
    Size,
    Statement,
    TruthValue,
    Unary,
    Variable,
    While,
)


def renamed(name: str, mapping: Mapping[str, Expr]) -> str:
    """Return the name that replaces a list, a query or an assigned variable."""
    other = mapping.get(name)
    return other.name if isinstance(other, Variable) else name


def mapped(expression: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression with every direct part changed."""
    match expression:
        case Number() | TruthValue() | Variable() | Size() | Ask():
            return expression
        case Unary(operator, operand, at):
            return Unary(operator, change(operand), at)
        case Binary(operator, left, right, at):
            return Binary(operator, change(left), change(right), at)
        case Conditional(condition, positive, negative, at):
            return Conditional(change(condition), change(positive), change(negative), at)
        case Apply(function, arguments, at):
            return Apply(function, tuple(change(a) for a in arguments), at)
        case Element(array, index, side, at):
            return Element(array, change(index), side, at)
        case Items(items, at):
            return Items(tuple(change(item) for item in items), at)


def substitute(expression: Expr, mapping: Mapping[str, Expr]) -> Expr:
    """Return the expression with names replaced; a list or a query may only be replaced by another name."""
    match expression:
        case Variable(name):
            return mapping.get(name, expression)
        case Element(array, index, side, at):
            return Element(renamed(array, mapping), substitute(index, mapping), side, at)
        case Size(array, side, at):
            return Size(renamed(array, mapping), side, at)
        case Ask(query, data, side, at):
            return Ask(renamed(query, mapping), renamed(data, mapping), side, at)
        case _:
            return mapped(expression, lambda part: substitute(part, mapping))


def substitute_block(block: tuple[Statement, ...], mapping: Mapping[str, Expr]) -> tuple[Statement, ...]:
    """Return statements with names replaced; an assigned variable may only be replaced by another name."""
    result: list[Statement] = []
    for statement in block:
        match statement:
            case Assign(target, value, at):
                result.append(Assign(renamed(target, mapping), substitute(value, mapping), at))
            case Append(target, value, tag, at):
                result.append(Append(renamed(target, mapping), substitute(value, mapping), tag, at))
            case Put(target, index, value, at):
                new_value = substitute(value, mapping)
                result.append(Put(renamed(target, mapping), substitute(index, mapping), new_value, at))
            case Sample(target, law, arguments, site, at, length):
                new = tuple(substitute(a, mapping) for a in arguments)
                result.append(Sample(renamed(target, mapping), law, new, site, at, length))
            case If(condition, positive, negative, at):
                parts = substitute_block(positive, mapping), substitute_block(negative, mapping)
                result.append(If(substitute(condition, mapping), *parts, at))
            case While(condition, body, loop, at):
                result.append(
                    While(substitute(condition, mapping), substitute_block(body, mapping), loop, at)
                )
            case Return(values, at):
                result.append(Return(tuple(substitute(v, mapping) for v in values), at))
            case ProcedureCall(at=at):
                raise ProgramError("calls are inlined from the inside out", at.line, at.column)
            case _:
                assert_never(statement)
    return tuple(result)
