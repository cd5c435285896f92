"""A program with its long loops and lists made short, in which moves are guessed.

Unrolling a loop of twenty turns tells nothing that three turns do not tell sooner.  What is guessed on the
short program is tried on the program itself, and only what the kernel accepts for that one counts.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.verify.check import CheckedProgram
from discreet.verify.syntax import (
    Binary,
    Expr,
    If,
    Number,
    Program,
    Scalar,
    Size,
    Statement,
    Variable,
    While,
    subexpressions,
)

SHORT = 3
"""Turns of a loop, and elements of a list, that are thought to tell enough."""


def shrunk(checked: CheckedProgram) -> CheckedProgram:
    """Return the program with numbers above SHORT lowered in loops, and no demand for longer lists."""
    program = checked.program
    kept = tuple(clause for clause in program.requires if not _demands(clause, program))
    return replace(checked, program=replace(program, requires=kept, body=_block(program.body)))


def _demands(clause: Expr, program: Program) -> bool:
    """Return whether a clause fixes a length or an integer to more than a few."""
    inside = list(subexpressions(clause))
    large = any(isinstance(part, Number) and part.value > SHORT for part in inside)
    return large and any(isinstance(part, Size) or _counts(part, program) for part in inside)


def _counts(part: Expr, program: Program) -> bool:
    parameter = program.parameter(part.name) if isinstance(part, Variable) else None
    return parameter is not None and isinstance(parameter.type, Scalar) and parameter.type.kind == "int"


def _block(block: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return tuple(_statement(statement) for statement in block)


def _statement(statement: Statement) -> Statement:
    match statement:
        case If(_, positive, negative):
            return replace(statement, positive=_block(positive), negative=_block(negative))
        case While(condition, body):
            return replace(statement, condition=_condition(condition), body=_block(body))
    return statement


def _condition(condition: Expr) -> Expr:
    match condition:
        case Binary("and" | "or", left, right):
            return replace(condition, left=_condition(left), right=_condition(right))
        case Binary("<" | "<=", _, Number(value)) if value > SHORT:
            # The last turn of a loop "up to and including" comes one number earlier.
            last = SHORT if condition.operator == "<" else SHORT - 1
            return replace(condition, right=Number(Fraction(last)))
    return condition
