"""Finite programs are decided: for all epsilon at once, or at a given epsilon and delta.

When the inputs and all draws have finitely many values, and at most one public constant e is left open, the
law of the output on each input is a rational function of powers of exp(e).  Privacy is then finitely many
inequalities

    exp(c e) p(o | D2) - p(o | D1) >= 0      for all e that the header allows,

that is, polynomials in x = exp(e / m) that must be non-negative on an interval; Sturm's theorem decides that.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, log

from discreet.errors import ProgramError
from discreet.exact.number import exp_down, exp_up
from discreet.verify.check import CheckedProgram
from discreet.verify.domain import relation
from discreet.verify.explore import Form, Quotient, exponent, paths, sum_quotients
from discreet.verify.integrate import UNIT, Number, TooHardError, add, multiply, shifted, sign
from discreet.verify.limit import tick
from discreet.verify.linear import Interval, Linear, UndecidedError
from discreet.verify.opened import NotFiniteError, all_inputs, unknown
from discreet.verify.positive import negative_between
from discreet.verify.relate import Judge
from discreet.verify.run import ExactDraws, Run, Value
from discreet.verify.syntax import Array, EpsilonClaim, Sample, Secret, SensitiveQuery, statements
from discreet.verify.table import Law, exceeds

MOST_INEQUALITIES = 100_000
FINITE = ("Bernoulli", "Response", "UniformInt", "UniformBits", "ExpMech")


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two complete neighbouring inputs, and an output at which the claim fails."""

    first: Mapping[str, Value]
    second: Mapping[str, Value]
    output: Hashable


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for a finite program; `inequalities` counts what was checked."""

    holds: bool
    inequalities: int
    counterexample: Counterexample | None = None


def decide(checked: CheckedProgram) -> Decision:
    """Decide the claim of a finite program; raises NotFiniteError where enumeration does not apply."""
    try:
        return _decide(checked)
    except (UndecidedError, TooHardError, ProgramError) as problem:
        raise NotFiniteError(str(problem)) from problem


def _decide(checked: CheckedProgram) -> Decision:
    program = checked.program
    if any(isinstance(p.type, SensitiveQuery) for p in program.parameters):
        raise NotFiniteError("a query has infinitely many values")
    for statement in statements(program.body):
        if isinstance(statement, Sample) and statement.law not in FINITE:
            raise NotFiniteError(f"{statement.law} has infinitely many values")
        if isinstance(statement, Sample) and isinstance(statement.length, str):
            raise NotFiniteError("the length of a bit string is left open")
    inputs = list(all_inputs(checked))
    if not inputs:
        raise NotFiniteError("no input satisfies the assumptions of the program")
    laws = [law(checked, values) for values in inputs]
    count = 0
    for first, second in _pairs(checked, inputs):
        count += len(laws[first])
        if count > MOST_INEQUALITIES:
            raise NotFiniteError(f"there are more than {MOST_INEQUALITIES} inequalities")
        found = _compare(checked, inputs[first], laws[first], inputs[second], laws[second])
        if found is not None:
            return Decision(False, count, found)
    return Decision(True, count)


def _pairs(checked: CheckedProgram, inputs: list[dict[str, Value]]) -> Iterator[tuple[int, int]]:
    judge = Judge(checked)
    for first, one in enumerate(inputs):
        for second, other in enumerate(inputs):
            tick()
            if first != second and _close(checked, one, other) and judge.are_neighbours(one, other):
                yield first, second


def _close(checked: CheckedProgram, one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Return false where two inputs are surely no neighbours: a quick look before the whole formula."""
    for parameter in checked.program.parameters:
        a, b = one[parameter.name], other[parameter.name]
        if not parameter.private:
            if a != b:
                return False
        elif isinstance(parameter.type, Array) and len(a) == len(b):
            found = relation(checked.program, parameter.name)
            single = found is not None and found.kind in ("one", "replace")
            if single and sum(x != y for x, y in zip(a, b, strict=True)) > 1:
                return False
    return True


def law(checked: CheckedProgram, values: Mapping[str, Value]) -> Law:
    """Return the exact law of the output on one input."""
    found: dict[Hashable, list[Quotient]] = {}
    for path in paths(checked, values):
        if path.conditions or any(isinstance(v, Form | Linear) for v in _flat(path.output)):
            raise NotFiniteError("the output is not one of finitely many values")
        if path.weight:
            found.setdefault(path.output, []).append(Quotient(path.weight, path.divisor))
    return {output: sum_quotients(parts) for output, parts in found.items()}


def _flat(output: tuple[Value, ...]) -> Iterator[Value]:
    for value in output:
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def _compare(
    checked: CheckedProgram, one: Mapping[str, Value], here: Law, other: Mapping[str, Value], there: Law
) -> Counterexample | None:
    """Return a counterexample if Pr[here] > exp(epsilon) Pr[there] + delta for some event."""
    # A claim may mention the length of a list, on which neighbours may disagree: the smaller claim counts.
    claims = {claimed(checked, values): values for values in (other, one)}
    for (epsilon, delta), values in claims.items():
        name = unknown(values)
        factor = exponent(epsilon, symbolic=name is not None)
        if delta:
            if name is not None and not _within(here, there, factor, delta, values[name].interval):
                raise NotFiniteError("fix epsilon by `requires eps = ...` to claim a delta")
            if name is None and exceeds(here, there, factor, delta):
                return Counterexample(one, other, ())
            continue
        for output, mass in here.items():
            tick()
            gap = _gap(mass, there.get(output, Quotient({}, UNIT)), factor)
            if name is None:
                if sign(gap) < 0:
                    return Counterexample(one, other, output)
                continue
            bad = negative_at(gap, values[name].interval)
            if bad is not None:
                return Counterexample({**one, name: bad}, {**other, name: bad}, output)
    return None


def _gap(here: Quotient, there: Quotient, factor: Fraction) -> Number:
    """Return exp(factor) there - here, times both denominators."""
    right = shifted(multiply(there.numerator, here.denominator), factor)
    return add(right, multiply(here.numerator, there.denominator), -1)


def _within(here: Law, there: Law, factor: Fraction, delta: Fraction, interval: Interval) -> bool:
    """Return whether the outputs in excess at some epsilon together stay within delta at every one."""
    excess: list[Quotient] = []
    for output, mass in here.items():
        tick()
        against = there.get(output, Quotient({}, UNIT))
        gap = _gap(mass, against, factor)
        if negative_at(gap, interval) is not None:
            excess.append(Quotient(add({}, gap, -1), multiply(mass.denominator, against.denominator)))
    total = sum_quotients(excess)
    return negative_at(add(add({}, total.denominator, delta), total.numerator, -1), interval) is None


def claimed(checked: CheckedProgram, values: Mapping[str, Value]) -> tuple[Value, Fraction]:
    """Return the claimed epsilon and delta on an input."""
    run = Run(checked, ExactDraws(), dict(values))
    match checked.program.claim:
        case Secret():
            return Fraction(0), Fraction(0)
        case EpsilonClaim(epsilon, delta):
            slack = run.value(delta) if delta is not None else Fraction(0)
            if isinstance(slack, Linear):
                raise NotFiniteError("delta depends on the unknown epsilon")
            return run.value(epsilon), Fraction(slack)
        case _:
            raise NotFiniteError("only claims of epsilon, or of secrecy, are decided by enumeration")


def negative_at(gap: Number, interval: Interval) -> Fraction | None:
    """Return some e of the interval at which a sum of c * exp(r e) is negative, or None if there is none."""
    if not gap:
        return None
    period = lcm(*(r.denominator for r in gap))
    lowest = min(gap)
    degree = int((max(gap) - lowest) * period)
    coefficients = [gap.get(lowest + Fraction(k, period), Fraction(0)) for k in range(degree + 1)]
    # The ends of the interval are rounded outwards: what holds there holds inside.
    low = exp_down(interval.low / period)
    high = None if interval.high is None else exp_up(interval.high / period)
    point = negative_between(coefficients, low, high)
    if point is None:
        return None
    guess = period * log(point)
    for digits in range(1, 30):
        tick()
        e = Fraction(guess).limit_denominator(10**digits)
        if interval.contains(e) and sign({r * e: c for r, c in gap.items()}) < 0:
            return e
    raise UndecidedError("whether the claim holds depends on the ends of the interval of epsilon")


__all__ = ["Counterexample", "Decision", "NotFiniteError", "all_inputs", "claimed", "decide", "law"]
