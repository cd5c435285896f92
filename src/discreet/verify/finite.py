"""Finite programs are decided: for all epsilon at once, or at a given epsilon and delta.

When the private inputs and all draws have finitely many values, the law of the output on each input is a
rational function of powers of exp(eps).  Privacy is then finitely many inequalities

    exp(c eps) p(o | D2) - p(o | D1) >= 0      for all eps > 0,

that is, polynomials in x = exp(eps / m) that must be non-negative for x > 1, which Sturm's theorem decides.

"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm, log
from typing import Any

from discreet.errors import ProgramError
from discreet.verify.check import Checked
from discreet.verify.explore import Form, Quotient, paths, sum_quotients
from discreet.verify.integrate import UNIT, Number, TooHardError, add, multiply, shifted, sign
from discreet.verify.positive import negative_beyond_one
from discreet.verify.run import Exact, Run, Value
from discreet.verify.syntax import (
    Array,
    Binary,
    Epsilon,
    Expr,
    Name,
    Neighbours,
    Parameter,
    Query,
    Sample,
    Scalar,
    Secret,
    Size,
    statements,
)
from discreet.verify.syntax import Number as Literal
from discreet.verify.table import Law, exceeds

MOST_PAIRS = 20_000


class NotFiniteError(Exception):
    """A program is outside what enumeration decides; the message says why."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A multiple of the unknown eps, as a value of the interpreter."""

    multiple: Fraction

    def _same(self, other: Any, sign: int) -> "Rate":
        if isinstance(other, Rate):
            return Rate(self.multiple + sign * other.multiple)
        if other == 0:
            return self
        raise NotFiniteError("eps is added to a number")

    def __add__(self, other: Any) -> "Rate":
        return self._same(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Rate":
        return self._same(other, -1)

    def __neg__(self) -> "Rate":
        return Rate(-self.multiple)

    def __mul__(self, factor: Any) -> "Rate":
        if not isinstance(factor, int | Fraction):
            raise NotFiniteError("eps is multiplied by something that is not a number")
        return Rate(self.multiple * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Rate":
        if not isinstance(divisor, int | Fraction):
            raise NotFiniteError("eps is divided by something that is not a number")
        return Rate(self.multiple / divisor)


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two neighbouring inputs, an output and an eps at which the claim fails."""

    first: Mapping[str, Value]
    second: Mapping[str, Value]
    output: Hashable
    eps: Fraction


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for a finite program; `inequalities` counts what was checked."""

    holds: bool
    inequalities: int
    counterexample: Counterexample | None = None


def decide(checked: Checked) -> Decision:
    """Decide the claim of a finite program for all eps > 0, or for the eps that its header fixes."""
    program = checked.program
    if any(isinstance(p.type, Query) for p in program.parameters):
        raise NotFiniteError("a query has infinitely many values")
    for statement in statements(program.body):
        if isinstance(statement, Sample) and statement.law not in (
            "Bernoulli",
            "Response",
            "UniformInt",
            "ExpMech",
        ):
            raise NotFiniteError(f"{statement.law} has infinitely many values")
    publics = _publics(checked)
    eps, delta = _claim(checked, publics)
    laws: dict[int, Law] = {}
    inputs = list(_inputs(checked, publics))
    allowed: list[tuple[int, int]] = []
    for first, one in enumerate(inputs):
        for second, other in enumerate(inputs):
            if first != second and _adjacent(checked, one, other):
                allowed.append((first, second))
                if len(allowed) > MOST_PAIRS:
                    raise NotFiniteError(f"there are more than {MOST_PAIRS} pairs of neighbours")
    for place, values in enumerate(inputs):
        laws[place] = law(checked, {**publics, **values})
    return _compare(inputs, laws, allowed, eps, delta, publics)


def law(checked: Checked, values: Mapping[str, Value]) -> Law:
    """Return the exact law of the output on one input."""
    found: dict[Hashable, list[Quotient]] = {}
    try:
        for path in paths(checked, values):
            if path.conditions or any(isinstance(v, Form) for v in path.output):
                raise NotFiniteError("the output depends on continuous noise")
            found.setdefault(path.output, []).append(Quotient(path.weight, path.divisor))
    except (TooHardError, ProgramError) as problem:
        raise NotFiniteError(str(problem)) from problem
    return {output: sum_quotients(parts) for output, parts in found.items()}


def _compare(
    inputs: list[dict[str, Value]],
    laws: Mapping[int, Law],
    allowed: list[tuple[int, int]],
    eps: Rate | Fraction,
    delta: Fraction,
    publics: Mapping[str, Value],
) -> Decision:
    count = 0
    known: dict[tuple[Fraction, ...], Fraction | None] = {}
    symbolic = isinstance(publics["eps"], Rate)
    for first, second in allowed:
        here, there = laws[first], laws[second]
        if delta:
            count += 1
            if not symbolic and isinstance(eps, Fraction) and exceeds(here, there, eps, delta):
                point = Counterexample(inputs[first], inputs[second], (), Fraction(publics["eps"]))
                return Decision(False, count, point)
            continue
        for output, mass in here.items():
            other = there.get(output, Quotient({}, UNIT))
            multiple = eps.multiple if isinstance(eps, Rate) else eps
            gap = add(
                shifted(multiply(other.numerator, mass.denominator), multiple),
                multiply(mass.numerator, other.denominator),
                -1,
            )
            count += 1
            bad = _negative_eps(gap, known) if symbolic else _negative_here(gap, publics["eps"])
            if bad is not None:
                return Decision(False, count, Counterexample(inputs[first], inputs[second], output, bad))
    return Decision(True, count)


def _negative_here(gap: Number, eps: Fraction) -> Fraction | None:
    return eps if sign(gap) < 0 else None


def _negative_eps(gap: Number, known: dict[tuple[Fraction, ...], Fraction | None]) -> Fraction | None:
    """Return some eps > 0 at which a sum of c * exp(r eps) is negative, or None."""
    if not gap:
        return None
    period = lcm(*(r.denominator for r in gap))
    lowest = min(gap)
    degree = int((max(gap) - lowest) * period)
    coefficients = [gap.get(lowest + Fraction(k, period), Fraction(0)) for k in range(degree + 1)]
    key = tuple(coefficients)
    if key not in known:
        known[key] = negative_beyond_one(coefficients)
    point = known[key]
    if point is None:
        return None
    # The polynomial is negative around the point, so some nearby rational eps will do.
    guess, digits = period * log(point), 1
    while True:
        eps = Fraction(guess).limit_denominator(10**digits)
        if eps > 0 and sign({r * eps: c for r, c in gap.items()}) < 0:
            return eps
        digits += 1


# Reading the header


def _publics(checked: Checked) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for parameter in checked.program.parameters:
        if parameter.private:
            continue
        fixed = _fixed(checked, Name(parameter.name))
        if fixed is not None:
            values[parameter.name] = fixed
        elif parameter.name == "eps":
            values["eps"] = Rate(Fraction(1))
        else:
            raise NotFiniteError(f"fix the constant by `requires {parameter.name} = ...`")
    for condition in checked.program.requires:
        if not _is_equation(condition):
            raise NotFiniteError("a finite program may only require equations such as size(d) = 3")
    return values


def _fixed(checked: Checked, expression: Expr) -> Fraction | int | None:
    """Return the number that some requires clause equates an expression with."""
    for condition in checked.program.requires:
        match condition:
            case Binary("=", left, Literal(value)) if left == expression:
                return int(value) if value.denominator == 1 else value
            case _:
                pass
    return None


def fixed(checked: Checked, name: str) -> Fraction | int | None:
    """Return the number that the header fixes a public constant to."""
    return _fixed(checked, Name(name))


def _is_equation(condition: Expr) -> bool:
    match condition:
        case Binary("=", Name() | Size(), Literal()):
            return True
        case Binary(">" | ">=", Name("eps"), Literal(value)):
            return value == 0
    return False


def all_inputs(checked: Checked) -> Iterator[dict[str, Value]]:
    """Yield every complete input of a finite program, with eps left unknown unless the header fixes it."""
    publics = _publics(checked)
    for values in _inputs(checked, publics):
        yield {**publics, **values}


def _claim(checked: Checked, publics: Mapping[str, Value]) -> tuple[Rate | Fraction, Fraction]:
    run = Run(checked, Exact(), dict(publics))
    match checked.program.claim:
        case Secret():
            return Rate(Fraction(0)), Fraction(0)
        case Epsilon(epsilon, delta):
            value = run.value(epsilon)
            slack = Fraction(run.value(delta)) if delta is not None else Fraction(0)
            symbolic = isinstance(publics["eps"], Rate)
            if symbolic and slack:
                raise NotFiniteError("fix eps by `requires eps = ...` to claim a delta")
            if symbolic and not isinstance(value, Rate):
                if value != 0:
                    raise NotFiniteError("fix eps by `requires eps = ...`, or claim a multiple of eps")
                value = Rate(Fraction(0))
            return value if isinstance(value, Rate) else Fraction(value), slack
        case _:
            raise NotFiniteError("only claims of epsilon, or of secrecy, are decided by enumeration")


def _inputs(checked: Checked, publics: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    ranges: list[list[tuple[str, Value]]] = []
    for parameter in checked.program.parameters:
        if not parameter.private:
            continue
        match parameter.type:
            case Array(element):
                size = _fixed(checked, Size(parameter.name))
                if size is None:
                    raise NotFiniteError(
                        f"fix the length of the list by `requires size({parameter.name}) = ...`"
                    )
                values = [list(v) for v in product(_range(element, parameter), repeat=int(size))]
            case Scalar():
                values = _range(parameter.type, parameter)
            case Query():
                raise NotFiniteError("a query has infinitely many values")
        if len(values) > 2000:
            raise NotFiniteError(f"{parameter.name} has more than 2000 values")
        ranges.append([(parameter.name, v) for v in values])
    for combination in product(*ranges):
        yield dict(combination)


def _range(kind: Scalar, parameter: Parameter) -> list[Value]:
    if kind.kind == "bool":
        return [False, True]
    if kind.kind == "int" and kind.low is not None and kind.high is not None:
        return list(range(kind.low, kind.high + 1))
    raise NotFiniteError(f"{parameter.name} has infinitely many values")


def _adjacent(checked: Checked, first: Mapping[str, Value], second: Mapping[str, Value]) -> bool:
    for parameter in checked.program.parameters:
        if not parameter.private:
            continue
        found = next((r for r in checked.program.neighbours if r.name == parameter.name), None)
        relation = found or Neighbours(parameter.name, "replace")
        a, b = first[parameter.name], second[parameter.name]
        if not _related(checked, relation, a, b):
            return False
    return True


def _related(checked: Checked, relation: Neighbours, a: Value, b: Value) -> bool:
    first, second = (a, b) if isinstance(a, list) else ([a], [b])
    changes = [y - x for x, y in zip(first, second, strict=True)]
    moved = [c for c in changes if c]
    bound = Fraction(Run(checked, Exact(), {}).value(relation.bound)) if relation.bound is not None else None
    within = bound is None or all(abs(c) <= bound for c in moved)
    match relation.kind:
        case "one" | "replace":
            return len(moved) <= 1 and within
        case "all":
            return within
        case "monotone":
            return within and (all(c >= 0 for c in changes) or all(c <= 0 for c in changes))
        case "any":
            return True
        case "add-remove":
            raise NotFiniteError("lists of changing length are not enumerated")
