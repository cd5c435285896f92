"""Finite programs: the law of the output on every input, added up along every path, and compared.

Theorem.  If exp(epsilon) Pr[M(D2) = o] - Pr[M(D1) = o] >= 0 for all neighbours D1, D2 and every output o,
then M is epsilon-private; it is (epsilon, delta)-private if the positive ones of the opposite differences
Pr[M(D1) = o] - exp(epsilon) Pr[M(D2) = o] add up to at most delta.  Every weight is a quotient of polynomials
in x, where x = exp(u e) > 1 for a unit u and the one public constant e > 0 that the header leaves open, or
x = exp(u) if it leaves none open.

The certificate lists inputs; a public constant that it leaves open stands for itself.  That the list is
complete, and that every neighbour of an input is one for which the claim holds, is proved by the formula of
`pair`: no input is unlike all of the listed ones, and no neighbour unlike all for which the claim holds.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import z3
from flint import fmpq, fmpq_poly

from discreet.exact.number import exp_bounds
from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import ZERO, Sight, Term, equal, exact, question, real, refuse
from discreet.verify.kernel.pair import Pair, directions
from discreet.verify.kernel.state import chance_of

Law = dict[str, tuple[Term, Term]]
"""Numerator and denominator of a weight: polynomials in x, the denominator positive for x > 0."""
Env = Mapping[str, Term]
"""The value of each parameter and variable: a term in which e is the only symbol, or a tuple of these."""
Stated = Sequence[tuple[Mapping[str, Term], Mapping[str, tree.Expr]]]
"""The inputs, by parameter a literal, a tuple of literals or the parameter itself; and the law on each."""
NONE, ONE, MOST = fmpq_poly([]), fmpq_poly([1]), 2000


class FinerError(Exception):
    """A weight is not a power of exp(u e): a finer unit is needed."""


class FiniteLaws:
    """The laws of one finite program."""

    def __init__(self, program: tree.Program, open_: set[str], unit: Fraction, deadline: float) -> None:
        self.program, self.unit, self.deadline = program, unit, deadline
        self.known: dict[Term, Term] = {}
        used = {name for s in tree.statements(program.body) for name in tree.mentioned(s)}
        used |= tree.names(program.claim.epsilon) if isinstance(program.claim, tree.EpsilonClaim) else set()
        self.open = [z3.Real(name) for name in open_ & used]
        if len(self.open) > 1:
            raise refuse("a finite program leaves open one positive constant at most")
        self.x, (low, high) = z3.Real("x"), exp_bounds(unit, 512)
        self.range = self.x > 1 if self.open else z3.And(self.x >= str(low), self.x <= str(high))
        self.point = fmpq(2) if self.open else fmpq(low.numerator, low.denominator)

    # Values

    def value(self, expression: tree.Expr, env: Env) -> Term:
        """Return the value of an expression."""
        held = [env[name] for name in sorted(tree.names(expression))]
        key = id(expression), *(str([t.get_id() for t in flat(v)]) for v in held)
        if key not in self.known:

            def look(node: tree.Expr, index: Term = None) -> Term:
                match node:
                    case tree.Variable(name):
                        return env[name]
                    case tree.Size(array):
                        return z3.IntVal(len(env[array]))
                    case tree.Element(array):
                        here = [v for k, v in enumerate(env[array]) if z3.is_true(z3.simplify(index == k))]
                        sight.need(z3.BoolVal(bool(here)))
                        return here[0] if here else z3.IntVal(0)
                raise refuse("there is no rule for this expression", node)

            sight = Sight(look)
            term = z3.simplify(sight(expression), som=True)
            if not z3.is_true(z3.simplify(z3.And(*sight.needs))):
                raise refuse("an expression may have no value", expression)
            self.known[key] = term, expression, held  # what is kept keeps its identity
        return self.known[key][0]

    def number(self, expression: tree.Expr, env: Env) -> Fraction:
        """Return an expression that must be one exact number; a truth value counts 0 or 1."""
        return exact(self.value(expression, env))

    def exponent(self, term: Term) -> int:
        """Return how many units a number is, of e if that is left open."""
        number = term = z3.simplify(real(term))
        for e in self.open:
            number = z3.simplify(z3.substitute(term, (e, z3.RealVal(1))))
            if not z3.is_true(z3.simplify(term - number * e == 0, som=True)):
                raise refuse(f"an exponent is not a multiple of {e}")
        units = exact(number) / self.unit
        if units.denominator != 1:
            raise FinerError(units.denominator)
        return int(units)

    def weight(self, term: tree.Expr, env: Env, *, stated: bool = False) -> Term:
        """Return a chance of the program, or a weight that a certificate states, which may be of any sign."""
        match term:
            case tree.Apply("exp", (argument,)):
                units = self.exponent(self.value(argument, env))
                return power(max(units, 0)), power(max(-units, 0))
            case tree.Binary("+" | "*" | "/" as operator, left, right):
                (a, b), (c, d) = (self.weight(part, env, stated=stated) for part in (left, right))
                if operator == "/" and c == 0:
                    raise refuse("a weight is divided by zero")
                return {"+": (a * d + c * b, b * d), "*": (a * c, b * d), "/": (a * d, b * c)}[operator]
        if (value := self.number(term, env)) < 0 and not stated:
            raise refuse("a weight is built from numbers above zero and exponentials by + * /")
        return ONE * fmpq(value.numerator), ONE * fmpq(value.denominator)

    # Laws

    def outcomes(self, draw: tree.Sample, env: Env) -> list[tuple[Term, Term]]:
        """Return what a draw may be, with weights that are yet to be divided by their sum."""
        if (chance := chance_of(draw)) is not None:
            a, b = self.weight(chance, env)
            if self.is_nonnegative(b - a):
                return [(z3.BoolVal(fallen), w) for fallen, w in ((True, a), (False, b - a)) if w != 0]
        match draw.law, draw.arguments:
            case "ExpMech", (rate, tree.Variable(scores)):
                units = [self.exponent(real(self.value(rate, env)) * real(score)) for score in env[scores]]
                return [(z3.IntVal(k), power(u - min(units))) for k, u in enumerate(units)]
            case "UniformInt", limits:
                low, high = (self.number(limit, env) for limit in limits)
                if low.denominator == high.denominator == 1 and 0 <= high - low <= MOST:
                    return [(z3.IntVal(k), ONE) for k in range(int(low), int(high) + 1)]
        raise refuse(f"{draw.law} has infinitely many values here, or an impossible parameter", draw)

    def law(self, start: Env) -> Law:
        """Return the weight of every output on one input, added up over all paths."""
        found: Law = {}
        stack: list[tuple[list[tree.Statement], Env, Term, Term]] = [([*self.program.body], start, ONE, ONE)]
        while stack:
            (statement, *rest), env, top, bottom = stack.pop()
            if time.monotonic() > self.deadline:
                raise refuse("the time limit was reached before the certificate was checked")
            match statement:
                case tree.Assign(target, value):
                    env = {**env, target: () if value == tree.Items(()) else self.value(value, env)}
                case tree.Append(target, value):
                    env = {**env, target: (*env[target], self.value(value, env))}
                case tree.Put(target, place, value):
                    self.value(tree.Element(target, place), env)  # what is changed must be there
                    k, items = int(self.number(place, env)), env[target]
                    env = {**env, target: (*items[:k], self.value(value, env), *items[k + 1 :])}
                case tree.If(condition, positive, negative):
                    rest = [*(positive if self.number(condition, env) else negative), *rest]
                case tree.While(condition, body):
                    rest = [*body, statement, *rest] if self.number(condition, env) else rest
                case tree.Sample(target):
                    each = self.outcomes(statement, env)
                    total = bottom * sum((weight for _, weight in each), NONE)
                    stack += [(rest, {**env, target: outcome}, top * w, total) for outcome, w in each]
                    continue
                case tree.Return(values):
                    told = (env[v.name] if type(v) is tree.Variable else self.value(v, env) for v in values)
                    a, b = found.get(output := shown(told), (NONE, bottom))
                    found[output] = (a + top, b) if b == bottom else (a * bottom + top * b, b * bottom)
                    continue
                case _:
                    raise refuse("there is no rule for this statement", statement)
            stack.append((rest, env, top, bottom))
        return found

    # Comparing

    def is_nonnegative(self, polynomial: Term) -> bool:
        """Return whether a polynomial is known to be nowhere negative in the range of x."""
        shifted = polynomial(fmpq_poly([1, 1]))  # for x > 1, a polynomial in x - 1 > 0
        if polynomial(self.point) < 0 or all(c >= 0 for c in shifted.coeffs()):
            return bool(polynomial(self.point) >= 0)
        if str(polynomial) not in self.known:
            term = z3.Sum([z3.RealVal(str(c)) * self.x**k for k, c in enumerate(polynomial.coeffs())])
            self.known[str(polynomial)] = question(self.deadline, self.range, term < 0) == z3.unsat
        return bool(self.known[str(polynomial)])

    def holds(self, here: Law, one: Env, there: Law, two: Env) -> bool:
        """Return whether the claim, as both inputs see it, holds for the laws on them."""
        match self.program.claim:
            case tree.EpsilonClaim(epsilon, slack):
                units = min(self.exponent(self.value(epsilon, env)) for env in (one, two))
                delta = min(self.number(slack or ZERO, env) for env in (one, two))
            case tree.Secret():
                units, delta = 0, Fraction(0)
            case _:
                raise refuse("tables prove claims of epsilon, delta and secrecy only")
        excess, total = NONE, ONE * fmpq(delta.denominator)
        for output, (a, b) in here.items():
            c, d = there.get(output, (NONE, ONE))
            gap = power(units) * c * b - a * d
            if not self.is_nonnegative(gap):
                excess, total = excess * b * d - gap * total, total * b * d
        return excess == 0 or self.is_nonnegative(total * fmpq(delta.numerator, delta.denominator) - excess)


def accept_laws(program: tree.Program, laws: Stated, seconds: float, unit: Fraction = Fraction(1)) -> int:
    """Return how many questions a proof by enumeration took; raises CertificateError if it proves nothing.

    Raises FinerError where the weights are no powers of exp(u e) for this unit u: then a finer one will do.
    """
    deadline = time.monotonic() + seconds
    inputs: list[Env] = [{name: literal(value) for name, value in given.items()} for given, _ in laws]
    table = FiniteLaws(program, {n for env in inputs for n in env if str(env[n]) == n}, unit, deadline)
    found = [table.law(env) for env in inputs]
    for env, law, (_, claimed) in zip(inputs, found, laws, strict=True):
        stated = {output: table.weight(w, env, stated=True) for output, w in claimed.items()}
        if stated.keys() != law.keys() or any(a * law[o][1] != law[o][0] * b for o, (a, b) in stated.items()):
            raise refuse("the certificate states a weight that the program does not have")
    runs = list(zip(found, inputs, strict=True))
    for direction in directions(program):
        pair = Pair(program, direction)
        first, second = ([same(pair, side, env) for env in inputs] for side in (1, 2))
        for possible in (z3.Or(*first), *(e > 0 for e in table.open)):
            if not inputs or question(deadline, *pair.facts, z3.Not(possible)) != z3.unsat:
                raise refuse("the certificate does not state the law of every input")
        for here, run in zip(first, runs, strict=True):
            if question(deadline, *pair.facts, here) != z3.sat:
                raise refuse("the certificate states a law where the program has no input")
            close = [there for there, other in zip(second, runs, strict=True) if table.holds(*run, *other)]
            if question(deadline, *pair.facts, here, z3.Not(z3.Or(*close))) != z3.unsat:
                raise refuse("enumeration shows that the program is not as private as it claims")
    return len(inputs) * len(directions(program))


def literal(value: Term) -> Term:
    """Return an input of the certificate as terms; a constant that is left open stands for itself."""
    term = Sight(lambda node: z3.Real(node.name))
    return tuple(literal(item) for item in value) if isinstance(value, tuple) else z3.simplify(term(value))


def same(pair: Pair, side: int, env: Env) -> Term:
    """Return that the input of one run is this one."""
    lists = {name: given for name, given in env.items() if isinstance(given, tuple)}
    found = [equal(pair.scalar(name, side), env[name]) for name in env.keys() - lists.keys()]
    found += [pair.size(name, side) == len(given) for name, given in lists.items()]
    read = ((pair.read(n, z3.IntVal(k), side), t) for n, items in lists.items() for k, t in enumerate(items))
    return z3.And(*found, *(equal(*both) for both in read))


def power(units: int) -> Term:
    """Return a power of x."""
    if not 0 <= units <= MOST:
        raise refuse(f"an exponent is negative or above {MOST} units")
    return fmpq_poly([0] * units + [1])


def flat(value: Term) -> Sequence[Term]:
    """Return the elements of a list, or a value alone."""
    return value if isinstance(value, tuple) else (value,)


def shown(values: Iterable[Term]) -> str:
    """Return values as text: none may depend on what is left open, since long terms are printed in part."""
    each = (v if isinstance(v, tuple) or z3.is_true(v) or z3.is_false(v) else exact(v) for v in values)
    return ", ".join(f"[{shown(v)}]" if isinstance(v, tuple) else str(v) for v in each)
