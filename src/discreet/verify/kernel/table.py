"""Finite programs: the law of the output on every input, added up along every path, and compared.

Theorem.  If exp(epsilon) Pr[M(D2) = o] - Pr[M(D1) = o] >= 0 for all neighbours D1, D2 and every output o,
then M is epsilon-private; it is (epsilon, delta)-private if the positive ones of the opposite differences
Pr[M(D1) = o] - exp(epsilon) Pr[M(D2) = o] add up to at most delta.  Every weight is a quotient of polynomials
in x, where x = exp(u e) > 1 for a unit u and the one public constant e > 0 that the header leaves open, or
x = exp(u) if it leaves none open.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import z3
from flint import fmpq, fmpq_poly

from discreet.exact.number import exp_bounds
from discreet.verify import syntax as tree
from discreet.verify.kernel.coin import flipped
from discreet.verify.kernel.meaning import Sight, Term, real, refuse, refusing
from discreet.verify.kernel.pair import relation_of
from discreet.verify.kernel.state import shapely

Weight = tuple[Any, Any]
"""Numerator and denominator, polynomials in x; the denominator is positive for x > 0."""
Env = Mapping[str, Any]
"""The value of each parameter and variable: a number, a truth value, a term in e, or a tuple of these."""
ONE, ZERO, MOST = fmpq_poly([1]), tree.Number(Fraction(0)), 2000


class FinerError(Exception):
    """A weight is not a power of exp(u e): a finer unit is needed."""


class FiniteLaws:
    """The laws of one finite program."""

    def __init__(self, program: tree.Program, unit: Fraction, deadline: float) -> None:
        shapely(program)
        self.program, self.unit, self.deadline = program, unit, deadline
        self.known: dict[Any, Any] = {}
        self.fixed: dict[str, Fraction] = {}
        for clause in program.requires:
            match clause:
                case tree.Binary("=", tree.Variable() | tree.Size() as left, right) if not tree.names(right):
                    self.fixed[tree.show(left)] = self.number(right, {})
                case tree.Binary("=", left, tree.Variable() | tree.Size() as right) if not tree.names(left):
                    self.fixed[tree.show(right)] = self.number(left, {})
        used = {n for s in tree.statements(program.body) for e in tree.expressions(s) for n in tree.names(e)}
        used |= tree.names(program.claim.epsilon) if isinstance(program.claim, tree.EpsilonClaim) else set()
        plain = [p.name for p in program.parameters if not p.private and p.type == tree.Scalar("real")]
        self.left = {name for name in plain if name not in self.fixed}
        self.open = sorted(self.left & used)
        positive = [tree.Binary(">", tree.Variable(name), tree.Number(Fraction(0))) for name in self.open]
        if len(self.open) > 1 or any(clause not in program.requires for clause in positive):
            raise refuse("a finite program leaves open one positive constant at most")
        self.x, (low, high) = z3.Real("x"), exp_bounds(unit, 512)
        self.range = self.x > 1 if self.open else z3.And(self.x >= str(low), self.x <= str(high))

    # Values

    def value(self, expression: tree.Expr, env: Env) -> Term:
        """Return the value of an expression."""
        if isinstance(expression, tree.Variable):
            return env[expression.name]
        key = (id(expression), *(repr(env.get(name)) for name in sorted(tree.names(expression))))
        if key not in self.known:

            def look(node: tree.Expr, index: Term = None) -> Term:
                match node:
                    case tree.Variable(name):
                        return lifted(env[name])
                    case tree.Size(array):
                        return z3.IntVal(len(env[array]))
                    case tree.Element(array):
                        place = z3.simplify(index)
                        inside = z3.is_int_value(place) and 0 <= place.as_long() < len(env[array])
                        sight.need(z3.BoolVal(inside))
                        return lifted(env[array][place.as_long()]) if inside else z3.IntVal(0)
                raise refuse("there is no rule for this expression", node)

            sight = Sight(look)
            term = z3.simplify(sight(expression), som=True)
            if not z3.is_true(z3.simplify(z3.And(*sight.needs))):
                raise refuse("an expression may have no value", expression)
            self.known[key] = lowered(term), expression
        return self.known[key][0]

    def truth(self, expression: tree.Expr, env: Env) -> bool:
        """Return a truth value that does not depend on e."""
        truth = self.value(expression, env)
        if not isinstance(truth, bool):
            raise refuse("a comparison depends on a constant that is left open", expression)
        return truth

    def exponent(self, value: Any) -> int:
        """Return how many units a number is, of e if that is left open."""
        number = term = z3.simplify(real(lifted(value)))
        if self.open:
            e = z3.Real(self.open[0])
            number = z3.simplify(z3.substitute(term, (e, z3.RealVal(1))))
            if not z3.is_true(z3.simplify(term - number * e == 0, som=True)):
                raise refuse(f"an exponent is not a multiple of {self.open[0]}")
        units = rational(lowered(number)) / self.unit
        if units.denominator != 1:
            raise FinerError(units.denominator)
        return int(units)

    def weight(self, term: tree.Expr, env: Env) -> Weight:
        """Return a weight that a certificate states."""
        match term:
            case tree.Number(value):
                return power(0) * fmpq(value.numerator, value.denominator), ONE
            case tree.Apply("exp", (argument,)):
                units = self.exponent(self.value(argument, env))
                return power(max(units, 0)), power(max(-units, 0))
            case tree.Binary("+" | "*" | "/" as operator, left, right):
                (a, b), (c, d) = self.weight(left, env), self.weight(right, env)
                if operator == "/" and c == 0:
                    raise refuse("a weight is divided by zero")
                return {"+": (a * d + c * b, b * d), "*": (a * c, b * d), "/": (a * d, b * c)}[operator]
        raise refuse("a weight is built from numbers and exponentials by + * /")

    # Laws

    def outcomes(self, draw: tree.Sample, env: Env) -> list[tuple[Any, Any]]:
        """Return what a draw may be, with weights that are yet to be divided by their sum."""
        logit = flipped(draw)
        if logit is not None:
            units = self.exponent(self.value(logit, env))
            return [(True, power(max(units, 0))), (False, power(max(-units, 0)))]
        if draw.law == "ExpMech" and env[draw.arguments[1].name]:  # type: ignore[union-attr]
            rate, scores = self.value(draw.arguments[0], env), env[draw.arguments[1].name]  # type: ignore[union-attr]
            units_of = [self.exponent(real(lifted(rate)) * real(lifted(score))) for score in scores]
            return [(k, power(u - min(units_of))) for k, u in enumerate(units_of)]
        given = [rational(self.value(argument, env)) for argument in draw.arguments]
        if draw.law == "Bernoulli" and 0 <= given[0] <= 1:
            weights = [fmpq(p.numerator, p.denominator) for p in (given[0], 1 - given[0])]
            return [(k == 0, ONE * weight) for k, weight in enumerate(weights) if weight != 0]
        whole = all(number.denominator == 1 for number in given)
        if draw.law == "UniformInt" and whole and 0 <= given[1] - given[0] <= MOST:
            return [(k, ONE) for k in range(int(given[0]), int(given[1]) + 1)]
        raise refuse(f"{draw.law} has infinitely many values here, or an impossible parameter", draw)

    def law(self, start: Env) -> dict[str, Weight]:
        """Return the weight of every output on one input, added up over all paths."""
        found: dict[str, Weight] = {}
        stack: list[tuple[list[tree.Statement], Env, Any, Any]] = [([*self.program.body], start, ONE, ONE)]
        while stack:
            (statement, *rest), env, top, bottom = stack.pop()
            if time.monotonic() > self.deadline:
                raise refuse("the time limit was reached before the certificate was checked")
            match statement:
                case tree.Assign(target, tree.Items(())):
                    env = {**env, target: ()}
                case tree.Assign(target, value):
                    env = {**env, target: self.value(value, env)}
                case tree.Append(target, value):
                    env = {**env, target: (*env[target], self.value(value, env))}
                case tree.If(condition, positive, negative):
                    rest = [*(positive if self.truth(condition, env) else negative), *rest]
                case tree.While(condition, body):
                    rest = [*body, statement, *rest] if self.truth(condition, env) else rest
                case tree.Sample(target):
                    each = self.outcomes(statement, env)
                    whole = bottom * sum((weight for _, weight in each), fmpq_poly([]))
                    stack += [(rest, {**env, target: outcome}, top * w, whole) for outcome, w in each]
                    continue
                case tree.Return(values):
                    output = shown(self.value(v, env) for v in values)
                    a, b = found.get(output, (fmpq_poly([]), bottom))
                    found[output] = (a + top, b) if b == bottom else (a * bottom + top * b, b * bottom)
                    continue
                case _:
                    raise refuse("there is no rule for this statement", statement)
            stack.append((rest, env, top, bottom))
        return found

    # Inputs

    def inputs(self) -> Iterator[Env]:
        """Yield every input that no requires clause excludes."""
        choices: list[list[Any]] = []
        for parameter in self.program.parameters:
            match parameter.type:
                case tree.Array(element):
                    size = self.fixed.get(f"size({parameter.name})", Fraction(-1))
                    if size < 0 or size.denominator != 1:
                        raise refuse(f"the length of {parameter.name} is not fixed", parameter)
                    choices.append(list(product(values_of(element), repeat=int(size))))
                case tree.Scalar(kind) if parameter.name in self.fixed:
                    number = self.fixed[parameter.name]
                    choices.append([int(number) if kind == "int" else number])
                case tree.Scalar():
                    own = parameter.name in self.left
                    choices.append([z3.Real(parameter.name)] if own else values_of(parameter.type))
                case _:
                    raise refuse(f"{parameter.name} has infinitely many values", parameter)
        for chosen in product(*choices):
            env = {p.name: value for p, value in zip(self.program.parameters, chosen, strict=True)}
            if not any(self.value(clause, env) is False for clause in self.program.requires):
                yield env

    def number(self, expression: tree.Expr, env: Env) -> Fraction:
        """Return an expression that must be one rational number."""
        return rational(self.value(expression, env))

    def unrelated(self, one: Env, two: Env) -> bool:
        """Return whether two inputs are surely no neighbours; the definition is that of `pair`."""
        for parameter in self.program.parameters:
            first, second = one[parameter.name], two[parameter.name]
            if not parameter.private:
                if repr(first) != repr(second):
                    return True
                continue
            how = relation_of(self.program, parameter)
            sides = [[rational(v) for v in (e if isinstance(e, tuple) else (e,))] for e in (first, second)]
            gaps = [after - before for before, after in zip(*sides, strict=True)]
            stated = (how.bound, how.low, how.high)
            bound, low, high = (e if e is None else self.number(e, one) for e in stated)
            if (
                (how.kind in ("one", "replace") and sum(gap != 0 for gap in gaps) > 1)
                or (how.kind == "monotone" and min(gaps, default=0) < 0 < max(gaps, default=0))
                or (bound is not None and any(abs(gap) > bound for gap in gaps))
                or (low is not None and min((*sides[0], *sides[1]), default=low) < low)
                or (high is not None and max((*sides[0], *sides[1]), default=high) > high)
            ):
                return True
        return False

    # Comparing

    def is_nonnegative(self, polynomial: Any) -> bool:
        """Return whether a polynomial is known to be nowhere negative in the range of x."""
        shifted = polynomial(fmpq_poly([1, 1]))  # for x > 1, a polynomial in x - 1 > 0
        if all(c >= 0 for c in polynomial.coeffs()) or all(c >= 0 for c in shifted.coeffs()):
            return True
        if str(polynomial) not in self.known:
            term: Term = z3.RealVal(0)
            for coefficient in reversed(polynomial.coeffs()):
                term = term * self.x + z3.RealVal(str(coefficient))
            solver = z3.Solver()
            solver.set("timeout", max(1, int(1000 * (self.deadline - time.monotonic()))))
            solver.add(self.range, term < 0)
            self.known[str(polynomial)] = solver.check() == z3.unsat
        return bool(self.known[str(polynomial)])

    def holds(self, here: Mapping[str, Weight], there: Mapping[str, Weight], env: Env) -> bool:
        """Return whether the claim holds for two laws."""
        match self.program.claim:
            case tree.EpsilonClaim(epsilon, slack):
                units, delta = self.exponent(self.value(epsilon, env)), self.number(slack or ZERO, env)
            case tree.Secret():
                units, delta = 0, Fraction(0)
            case _:
                raise refuse("tables prove claims of epsilon, delta and secrecy only")
        excess, whole = fmpq_poly([]), ONE * fmpq(delta.denominator)
        for output, (a, b) in here.items():
            c, d = there.get(output, (fmpq_poly([]), ONE))
            gap = power(units) * c * b - a * d
            if not self.is_nonnegative(gap):
                excess, whole = excess * b * d - gap * whole, whole * b * d
        return excess == 0 or self.is_nonnegative(whole * fmpq(delta.numerator, delta.denominator) - excess)


def accept_laws(program: tree.Program, laws: Mapping[str, Mapping[str, tree.Expr]], seconds: float) -> int:
    """Return how many pairs a proof by enumeration compared; raises CertificateError if it proves nothing."""
    unit, deadline = Fraction(1), time.monotonic() + seconds
    while True:
        try:
            with refusing():
                return _accepted(FiniteLaws(program, unit, deadline), laws)
        except FinerError as finer:
            unit /= int(str(finer))


def _accepted(table: FiniteLaws, laws: Mapping[str, Mapping[str, tree.Expr]]) -> int:
    inputs = list(table.inputs())
    found = [table.law(env) for env in inputs]
    if not inputs or {shown(env.values()) for env in inputs} != laws.keys():
        raise refuse("the certificate does not state the law of every input")
    for env, law in zip(inputs, found, strict=True):
        stated = {output: table.weight(w, env) for output, w in laws[shown(env.values())].items()}
        if stated.keys() != law.keys() or any(a * law[o][1] != law[o][0] * b for o, (a, b) in stated.items()):
            raise refuse("the certificate states a weight that the program does not have")
    count = 0
    for one, two in permutations(range(len(inputs)), 2):
        if not table.unrelated(inputs[one], inputs[two]):
            count += 1
            if not table.holds(found[one], found[two], inputs[one]):
                raise refuse("enumeration shows that the program is not as private as it claims")
    return count


def power(units: int) -> Any:
    """Return a power of x."""
    if not 0 <= units <= MOST:
        raise refuse(f"an exponent is negative or above {MOST} units")
    return fmpq_poly([0] * units + [1])


def lifted(value: Any) -> Term:
    """Return a value as a term."""
    match value:
        case bool():
            return z3.BoolVal(value)
        case int():
            return z3.IntVal(value)
        case Fraction():
            return z3.RealVal(str(value))
    return value


def lowered(term: Term) -> Any:
    """Return a term as a number or a truth value, if it is one."""
    if z3.is_int_value(term) or z3.is_rational_value(term):
        return term.as_long() if z3.is_int_value(term) else term.as_fraction()
    return bool(z3.is_true(term)) if z3.is_true(term) or z3.is_false(term) else term


def rational(value: Any) -> Fraction:
    """Return a number; a truth value counts 0 or 1."""
    if not isinstance(value, int | Fraction):
        raise refuse("a number depends on a constant that is left open")
    return Fraction(value)


def shown(values: Iterable[Any]) -> str:
    """Return values as text."""
    return ", ".join(f"[{shown(v)}]" if isinstance(v, tuple) else str(v) for v in values)


def values_of(kind: tree.Scalar) -> list[Any]:
    """Return every value of a finite type."""
    if kind.kind == "bool":
        return [False, True]
    if kind.kind != "int" or kind.low is None or kind.high is None or kind.high - kind.low > MOST:
        raise refuse("a parameter has too many values")
    return list(range(kind.low, kind.high + 1))
