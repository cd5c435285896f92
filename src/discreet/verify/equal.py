"""Whether two programs have the same law: the perfect coupling of their draws.

Theorem.  Let two programs make the same draws in the same order, each from the same law up to its centre, and
let both return the same values whenever their noises are equal.  Then they have the same law on every input.

The programs are compared on identical inputs, without loops (finite programs may loop: their laws are
tabulated and compared as rational functions of exp(eps)).  A different law is reported only where it was
computed.
"""

from dataclasses import dataclass, replace
from typing import Any

import z3

from discreet.errors import ProgramError
from discreet.verify import finite
from discreet.verify.check import CheckedProgram, parse
from discreet.verify.discharge import solver
from discreet.verify.domain import valid
from discreet.verify.integrate import TooHardError, add, multiply
from discreet.verify.limit import DEFAULT_MEGABYTES, MOST_SECONDS, LimitError, bound, within
from discreet.verify.linear import UndecidedError
from discreet.verify.neighbours import Inputs
from discreet.verify.spelling import show
from discreet.verify.syntax import (
    Ask,
    Assign,
    Element,
    Expr,
    If,
    Items,
    Program,
    Return,
    Sample,
    Scalar,
    Size,
    Statement,
    Variable,
)
from discreet.verify.term import Reader, Term, UnsupportedError, cast, choose, real, symbol

CENTRED = ("Laplace", "Geometric", "Gaussian", "DiscreteGaussian")


@dataclass(frozen=True, slots=True)
class Equal:
    """The two programs have the same law; `draws` noises were coupled, or the laws were tabulated."""

    draws: int


@dataclass(frozen=True, slots=True)
class Different:
    """The two programs have different laws: an output whose probabilities differ."""

    output: object


@dataclass(frozen=True, slots=True)
class Undecided:
    """Neither equality nor difference was established."""

    reason: str


@dataclass(slots=True)
class _Trace:
    """The values of one program as functions of inputs and noises."""

    checked: CheckedProgram
    inputs: Inputs
    values: dict[str, Term]
    draws: list[tuple[str, tuple[Term, ...]]]
    """Each draw's law with its parameters but the centre, read where it is made."""

    def read(self, expression: Expr) -> Term:
        def name(node: Variable) -> Term:
            if node.name in self.values:
                return self.values[node.name]
            if node.name in self.inputs.scalars:
                return self.inputs.scalars[node.name][0]
            return self.inputs.public(node.name)

        def element(node: Element, index: Term) -> Term:
            return self.inputs.element(node.array, index, 1, shared=True)

        def apply(call: Any) -> Term:
            match call:
                case Size(array):
                    return self.inputs.size(array, 1)
                case Ask(query, data):
                    return self.inputs.query(query, data, 1)
            raise UnsupportedError(f"{show(call)} cannot be compared")

        def no_remainder(kind: str, left: Term, right: Term) -> Term:
            return left % right

        return Reader(name, element, apply, no_remainder, lambda _: None)(expression)

    def block(self, block: tuple[Statement, ...], condition: Term) -> None:
        for statement in block:
            match statement:
                case Assign(target, value) if not isinstance(value, Items):
                    self.set(target, self.read(value), condition)
                case Sample(target, law, arguments):
                    if not z3.is_true(condition):
                        raise UnsupportedError("a draw under a condition is not compared")
                    kind = self.checked.types[target]
                    if not isinstance(kind, Scalar):
                        raise UnsupportedError("a list cannot be drawn")
                    noise = symbol(f"noise {len(self.draws) + 1}", kind.kind)
                    centred = law in CENTRED
                    if law == "ExpMech":
                        raise UnsupportedError("draws of the exponential mechanism are not compared")
                    shape = arguments[:1] if centred else arguments
                    self.draws.append((law, tuple(self.read(a) for a in shape)))
                    value = self.read(arguments[1]) + noise if centred and len(arguments) == 2 else noise
                    self.set(target, value, condition)
                case If(test, positive, negative):
                    truth = self.read(test)
                    self.block(positive, z3.simplify(z3.And(condition, truth)))
                    self.block(negative, z3.simplify(z3.And(condition, z3.Not(truth))))
                case _:
                    raise UnsupportedError("only programs without loops and lists are compared symbolically")

    def set(self, target: str, value: Term, condition: Term) -> None:
        kind = self.checked.types[target]
        term = cast(value, kind.kind) if isinstance(kind, Scalar) else value
        self.values[target] = choose(condition, term, self.values.get(target, term))


def same_law(first: str, second: str, *, seconds: float = 30.0) -> Equal | Different | Undecided:
    """Decide whether two programs have the same law on every input, as far as the rules reach."""
    bound("seconds", seconds, 0, MOST_SECONDS)
    one, other = parse(first), parse(second)
    try:
        with within(seconds, DEFAULT_MEGABYTES):
            return _same_law(one, other)
    except LimitError as problem:
        return Undecided(str(problem))
    except (z3.Z3Exception, RecursionError, MemoryError):
        return Undecided("the programs are too large to be compared")


def _same_law(one: CheckedProgram, other: CheckedProgram) -> Equal | Different | Undecided:
    if one.program.parameters != other.program.parameters:
        return Undecided("the programs have different parameters")
    if valid(one.program) != valid(other.program):
        return Undecided("the programs assume different things of their inputs")
    tabulated = _tabulated(one, other)
    if tabulated is not None:
        return tabulated
    try:
        return _coupled(one, other)
    except UnsupportedError as problem:
        return Undecided(str(problem))


def _tabulated(one: CheckedProgram, other: CheckedProgram) -> Equal | Different | None:
    """Compare two finite programs by their tables; None when they are not finite."""
    try:
        for values in finite.all_inputs(one):
            laws = finite.law(one, values), finite.law(other, values)
            for output in {**laws[0], **laws[1]}:
                if output not in laws[0] or output not in laws[1]:
                    return Different(output)
                a, b = laws[0][output], laws[1][output]
                if add(multiply(a.numerator, b.denominator), multiply(b.numerator, a.denominator), -1):
                    return Different(output)
    except (finite.NotFiniteError, TooHardError, UndecidedError, ProgramError):
        return None
    return Equal(0)


def _coupled(one: CheckedProgram, other: CheckedProgram) -> Equal | Undecided:
    # The neighbours do not matter here: both programs run on the same input.
    inputs = Inputs(_without_neighbours(one), "both")
    traces = [_Trace(c, inputs, {}, []) for c in (one, other)]
    for trace in traces:
        trace.block(trace.checked.program.body[:-1], z3.BoolVal(True))
    left, right = (trace.draws for trace in traces)
    if [law for law, _ in left] != [law for law, _ in right]:
        return Undecided("the programs do not make the same draws in the same order")
    for (law, first), (_, second) in zip(left, right, strict=True):
        if not all(_valid(inputs, real(a) == real(b)) for a, b in zip(first, second, strict=True)):
            return Undecided(f"the parameters of a {law} draw were not shown to be equal")
    returned = [trace.checked.program.body[-1] for trace in traces]
    values = [
        [trace.read(v) for v in statement.values] if isinstance(statement, Return) else []
        for trace, statement in zip(traces, returned, strict=True)
    ]
    if len(values[0]) != len(values[1]):
        return Undecided("the programs return different numbers of values")
    for a, b in zip(*values, strict=True):
        if not _valid(inputs, real(a) == real(b) if z3.is_arith(a) else a == b):
            return Undecided("equal noises do not give equal outputs; another coupling might")
    return Equal(len(left))


def _without_neighbours(checked: CheckedProgram) -> CheckedProgram:
    program: Program = checked.program
    public = tuple(replace(p, private=False) for p in program.parameters)
    return replace(checked, program=replace(program, parameters=public, neighbours=()))


def _valid(inputs: Inputs, goal: Term) -> bool:
    query = solver()
    query.add(*inputs.facts_for([goal]), z3.Not(goal))
    return bool(query.check() == z3.unsat)
