"""From program expressions to first-order terms, one run at a time.

Reals are Z3 reals, integers Z3 integers.  A bit string is represented by one generic bit: programs may only
combine bit strings by xor, which acts on every position alike, so what holds for a generic position holds for
all of them, whatever the length.  A remainder by a public constant that is not a literal is abstracted by a
fresh symbol; both runs see the same symbol, and forgetting what it is can only make a proof harder.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, assert_never

import z3

from discreet.verify.syntax import (
    Apply,
    Array,
    Ask,
    Binary,
    Conditional,
    Element,
    Expr,
    Items,
    Kind,
    Number,
    Size,
    TruthValue,
    Unary,
    Variable,
)

Term = Any
"""A Z3 expression."""


class UnsupportedError(Exception):
    """The proof rules do not cover a construct; the message says which, in the user's words."""


def number(value: Fraction | int) -> Term:
    """Return a numeral, an integer one where possible."""
    if Fraction(value).denominator == 1:
        return z3.IntVal(int(value))
    return z3.RealVal(str(Fraction(value)))


def real(term: Term) -> Term:
    """Return the term as a real number."""
    if z3.is_int_value(term):
        return z3.RealVal(term.as_long())
    return z3.ToReal(term) if z3.is_int(term) else term


def same_sort(left: Term, right: Term) -> tuple[Term, Term]:
    """Return both terms as reals when one of them is."""
    if z3.is_arith(left) and z3.is_arith(right) and left.sort() != right.sort():
        return real(left), real(right)
    return left, right


def absolute(term: Term) -> Term:
    """Return |term|."""
    return z3.If(term >= 0, term, -term)


def symbol(name: str, kind: Kind) -> Term:
    """Return a constant of the sort that represents a kind."""
    if kind in ("bool", "bits"):
        return z3.Bool(name)
    return z3.Int(name) if kind == "int" else z3.Real(name)


def cast(term: Term, kind: Kind) -> Term:
    """Return the term in the sort of a variable's declared kind."""
    return real(term) if kind == "real" else term


def memory_of(name: str, kind: Array) -> Term:
    """Return a symbol for the elements of a list, by their places."""
    return z3.Array(name, z3.IntSort(), symbol("element", kind.element.kind).sort())


def choose(condition: Term, positive: Term, negative: Term) -> Term:
    """Return if-then-else, simplified where it can be seen at once."""
    if z3.is_true(condition):
        return positive
    if z3.is_false(condition):
        return negative
    positive, negative = same_sort(positive, negative)
    return positive if positive.eq(negative) else z3.If(condition, positive, negative)


class Reader:
    """Translates expressions, given how to look up a name, an element and an application."""

    def __init__(
        self,
        name: Callable[[Variable], Term],
        element: Callable[[Element, Term], Term],
        apply: Callable[[Apply | Size | Ask], Term],
        abstract: Callable[[str, Term, Term], Term],
        need: Callable[[Term], None],
    ) -> None:
        self.name = name
        self.element = element
        self.apply_named = apply
        self.abstract = abstract
        self.report = need
        self.context: list[Term] = []

    def need(self, condition: Term) -> None:
        """Report what must hold for the expression to have a value, where it is evaluated at all."""
        self.report(z3.Implies(z3.And(*self.context), condition) if self.context else condition)

    def under(self, condition: Term, expression: Expr) -> Term:
        """Translate a part that is only evaluated under a condition."""
        self.context.append(condition)
        try:
            return self(expression)
        finally:
            self.context.pop()

    def __call__(self, expression: Expr) -> Term:
        """Translate an expression."""
        match expression:
            case Number(value, whole):
                return number(value) if whole else z3.RealVal(str(value))
            case TruthValue(value):
                return z3.BoolVal(value)
            case Variable():
                return self.name(expression)
            case Unary("not", operand):
                return z3.Not(self(operand))
            case Unary(_, operand):
                return -self(operand)
            case Binary("and", left, right):
                first = self(left)
                return z3.And(first, self.under(first, right))
            case Binary("or", left, right):
                first = self(left)
                return z3.Or(first, self.under(z3.Not(first), right))
            case Binary(operator, left, right):
                return self._binary(operator, self(left), self(right))
            case Conditional(condition, positive, negative):
                test = self(condition)
                return choose(test, self.under(test, positive), self.under(z3.Not(test), negative))
            case Apply(function, arguments):
                return self._apply(expression, function, arguments)
            case Size() | Ask():
                return self.apply_named(expression)
            case Element(_, index):
                return self.element(expression, self(index))
            case Items():
                raise UnsupportedError("a list cannot be a value here")
        assert_never(expression)

    def _apply(self, expression: Apply, function: str, arguments: tuple[Expr, ...]) -> Term:
        if function not in ("abs", "min", "max"):
            return self.apply_named(expression)
        values = [self(a) for a in arguments]
        if function == "abs":
            return absolute(values[0])
        first, second = same_sort(values[0], values[1])
        smaller, larger = (first, second) if function == "min" else (second, first)
        return z3.If(first <= second, smaller, larger)

    def _binary(self, operator: str, left: Term, right: Term) -> Term:
        if operator == "/":
            left, right = real(left), real(right)
            if z3.is_rational_value(right):
                if right.as_fraction() == 0:
                    raise UnsupportedError("division by zero")
                return left * z3.RealVal(str(1 / right.as_fraction()))
            self.need(right != 0)
            return left / right
        if operator == "mod":
            if z3.is_int_value(right) and right.as_long() > 0:
                return left % right
            self.need(right > 0)
            return self.abstract("mod", left, right)
        left, right = same_sort(left, right)
        match operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "<":
                return left < right
            case "<=":
                return left <= right
            case ">":
                return left > right
            case ">=":
                return left >= right
            case "=":
                return left == right
            case "!=":
                return left != right
            case "xor":
                return z3.Xor(left, right)
        raise UnsupportedError(f"the operator {operator} is not understood by the prover")


def constants(*terms: Term) -> dict[int, Term]:
    """Return the uninterpreted constants that occur in the terms, by identity.

    Terms are large and searched often: the walk goes over bare handles, which the given terms keep alive, and
    makes an expression of each constant only.
    """
    found: dict[int, Term] = {}
    seen: set[int] = set()
    context = z3.main_ctx().ref()
    stack = [term.as_ast() for term in terms]
    while stack:
        handle = stack.pop()
        key = z3.Z3_get_ast_id(context, handle)
        if key in seen:
            continue
        seen.add(key)
        match z3.Z3_get_ast_kind(context, handle):
            case z3.Z3_QUANTIFIER_AST:
                stack.append(z3.Z3_get_quantifier_body(context, handle))
            case z3.Z3_APP_AST:
                size = z3.Z3_get_app_num_args(context, handle)
                stack.extend(z3.Z3_get_app_arg(context, handle, place) for place in range(size))
                declared = None if size else z3.Z3_get_app_decl(context, handle)
                if declared and z3.Z3_get_decl_kind(context, declared) == z3.Z3_OP_UNINTERPRETED:
                    found[key] = z3.FuncDeclRef(declared)()
    return found
