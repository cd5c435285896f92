"""What expressions mean: their values as first-order terms, and what must hold for them to have one.

A bit string stands for a few generic bits of it, as many for every string of its length: strings are only
chosen among, returned, and combined by xor, which acts on every bit alike.  A remainder by something that is
not a positive numeral is an unknown function of both operands: what holds for every function holds for this.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import add, ge, gt, le, lt, mul, sub
from typing import Any

import z3

from discreet.errors import CertificateError
from discreet.verify import syntax as tree

Term = Any
"""A Z3 expression."""
TRUE = z3.BoolVal(True)
NUMBERS: dict[str, Callable[[Term, Term], Term]] = {"+": add, "-": sub, "*": mul}
NUMBERS |= {"<": lt, "<=": le, ">": gt, ">=": ge}


def refuse(message: str, node: Any = None) -> CertificateError:
    """Return the error that says why a certificate proves nothing."""
    place = f"line {node.at.line}, column {node.at.column}: " if node is not None and node.at.line else ""
    return CertificateError(f"{place}{message}")


@contextmanager
def refusing() -> Iterator[None]:
    """Turn whatever goes wrong with a senseless certificate into a refusal."""
    try:
        yield
    except CertificateError:
        raise
    except (z3.Z3Exception, ArithmeticError, LookupError, ValueError, TypeError, AttributeError) as e:
        raise refuse(f"the certificate cannot be read against the program ({type(e).__name__})") from e
    except RecursionError as e:
        raise refuse("the certificate or the program is too large") from e


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
    left, right = alike(left, right)
    return left == right


def choose(condition: Term, positive: Term, negative: Term) -> Term:
    """Return if-then-else."""
    positive, negative = alike(positive, negative)
    return positive if positive.eq(negative) else z3.If(condition, positive, negative)


def discrete(term: Term) -> bool:
    """Return whether a value is an integer or a truth value."""
    return bool(z3.is_int(term) or z3.is_bool(term))


def whole(term: Term) -> Term:
    """Return a discrete value as an integer."""
    return z3.If(term, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(term) else term


@dataclass(slots=True)
class Sight:
    """Reads expressions, given how to look up a name, a size, a query, an element at an index."""

    look: Callable[..., Term]
    needs: list[Term] = field(default_factory=list)
    """What must hold for everything read so far to have a value."""
    under: tuple[Term, ...] = ()
    """The conditions under which the part being read is evaluated at all."""

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
                value = self(operand)
                return z3.If(value >= 0, value, -value)
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
        if operator in ("=", "!=") and not z3.is_bv(left):
            return left == right if operator == "=" else left != right
        if not z3.is_arith(left):
            raise refuse(f"{operator} is applied to something that is not a number")
        if operator in ("/", "mod"):
            self.need(right != 0)
            if operator == "/":
                return real(left) / real(right)
            if z3.is_int_value(right) and right.as_long() > 0:
                return left % right
            return z3.Function("remainder", z3.IntSort(), z3.IntSort(), z3.IntSort())(left, right)
        return NUMBERS[operator](left, right)
