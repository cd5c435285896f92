"""What expressions mean: their values as first-order terms, and what must hold for them to have one.

A bit string stands for a few generic bits of it, as many for every string of its length: strings are only
chosen among, returned, and combined by xor, which acts on every bit alike.  A remainder has a value
only where the second number is positive; by something that is not a numeral it is an unknown function of both
operands: what holds for every function holds for this.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

import z3

from discreet.errors import CertificateError
from discreet.verify import syntax as tree

Term = Any
"""A Z3 expression."""
TRUE, ZERO, ONE = z3.BoolVal(True), tree.Number(Fraction(0)), tree.Number(Fraction(1))
NUMBERS: dict[str, Callable[[Term, Term], Term]] = {"+": add, "-": sub, "*": mul}
NUMBERS |= {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "!=": ne}


def refuse(message: str, node: Any = None) -> CertificateError:
    """Return the error that says why a certificate proves nothing."""
    place = f"line {node.at.line}, column {node.at.column}: " if node is not None and node.at.line else ""
    return CertificateError(f"{place}{message}")


def question(deadline: float, *terms: Term) -> z3.CheckSatResult:
    """Return whether terms are possible together."""
    left = int(1000 * (deadline - time.monotonic()))
    if left <= 0:
        raise refuse("the time limit was reached before the certificate was checked")
    solver = z3.Solver()
    solver.set(timeout=min(20_000, left), random_seed=7)
    solver.add(*terms)
    return solver.check()


def real(term: Term) -> Term:
    """Return a number as a real number."""
    return z3.ToReal(term) if z3.is_int(term) else term


def alike(left: Term, right: Term) -> tuple[Term, Term]:
    """Return two terms of the same sort."""
    if left.sort() == right.sort():
        return left, right
    if not (z3.is_arith(left) and z3.is_arith(right)):
        raise refuse("values of different kinds are combined")
    return real(left), real(right)


def equal(left: Term, right: Term) -> Term:
    """Return that two values are the same."""
    return eq(*alike(left, right))


def choose(condition: Term, positive: Term, negative: Term) -> Term:
    """Return if-then-else."""
    positive, negative = alike(positive, negative)
    return positive if positive.eq(negative) else z3.If(condition, positive, negative)


def whole(term: Term) -> Term:
    """Return a truth value as 0 or 1, and a number as it is."""
    return z3.If(term, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(term) else term


def exact(term: Term) -> Fraction:
    """Return a term that must be one number, whatever the inputs; a truth value counts 0 or 1."""
    number = z3.simplify(real(whole(term)))
    if not z3.is_rational_value(number):
        raise refuse("a number depends on a constant that is left open")
    return Fraction(str(number.as_fraction()))


@dataclass(slots=True)
class Sight:
    """Reads expressions, given how to look up a name, a size, a query, an element at an index."""

    look: Callable[..., Term]
    needs: list[Term] = field(default_factory=list)
    """What must hold for everything read so far to have a value."""
    under: tuple[Term, ...] = ()
    """The conditions under which the part being read is evaluated at all."""
    exactly: bool = False
    """Whether what is needed says all that a remainder is: of inputs it is assumed, so that there are any."""

    def need(self, condition: Term) -> None:
        """Note what must hold where this part is evaluated."""
        self.needs.append(z3.Implies(z3.And(*self.under), condition))

    def given(self, condition: Term, expression: tree.Expr) -> Term:
        """Read a part that is only evaluated under a condition."""
        self.under = (*self.under, condition)
        term = self(expression)
        self.under = self.under[:-1]
        return term

    def __call__(self, expression: tree.Expr) -> Term:
        """Return the value of an expression."""
        match expression:
            case tree.Number(value, whole):
                return z3.IntVal(int(value)) if whole and value.denominator == 1 else z3.RealVal(str(value))
            case tree.TruthValue(value):
                return z3.BoolVal(value)
            case tree.Element(_, index):
                return self.look(expression, self(index))
            case tree.Apply("abs", (operand,)):
                return self(tree.Apply("max", (operand, tree.Unary("-", operand))))
            case tree.Apply("min" | "max" as function, (left, right)):
                first, second = alike(self(left), self(right))
                return z3.If((first <= second) == (function == "min"), first, second)
            case tree.Unary(operator, operand):
                return z3.Not(self(operand)) if operator == "not" else -self(operand)
            case tree.Binary("and" | "or" as operator, left, right):
                first = self(left)
                second = self.given(first if operator == "and" else z3.Not(first), right)
                return z3.And(first, second) if operator == "and" else z3.Or(first, second)
            case tree.Binary(operator, left, right):
                return self.binary(operator, *alike(self(left), self(right)))
            case tree.Conditional(condition, positive, negative):
                test = self(condition)
                return choose(test, self.given(test, positive), self.given(z3.Not(test), negative))
        return self.look(expression)

    def binary(self, operator: str, left: Term, right: Term) -> Term:
        """Return the value of an operation on two values of one sort."""
        if operator == "xor":
            return z3.Xor(left, right) if z3.is_bool(left) else left ^ right
        if not z3.is_arith(left) and (operator not in ("=", "!=") or z3.is_bv(left)):
            raise refuse(f"{operator} is applied to something that is not a number")
        if operator == "/":
            self.need(right != 0)
            return real(left) / real(right)
        if operator == "mod":
            unknown = z3.Function("remainder", *[z3.IntSort()] * 3)(left, right)
            self.need(z3.And(right > 0, unknown == left % right if self.exactly else TRUE))
            return left % right if z3.is_int_value(right) else unknown
        return NUMBERS[operator](left, right)
