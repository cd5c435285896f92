"""The price of a proof against the claim: the sum of movement times price, as one polynomial inequality."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import assert_never

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.law import Site
from discreet.verify.neighbours import Inputs
from discreet.verify.ratio import NotRationalError, Poly, inequality, ratio
from discreet.verify.shared import is_concentrated, shared_variables
from discreet.verify.spelling import show
from discreet.verify.syntax import (
    Apply,
    Ask,
    Binary,
    Claim,
    Conditional,
    Element,
    EpsilonClaim,
    Expr,
    Number,
    Rho,
    Secret,
    Size,
    Unary,
)
from discreet.verify.term import Reader, Term, UnsupportedError, real


def within_claim(
    claim: Claim | None, sites: Mapping[int, Site], cost: Mapping[int, Term], inputs: Inputs
) -> Term:
    """Return the formula that says that what was moved costs no more than what is claimed."""
    goals: list[Term] = []
    # A claim may mention the length of a list, on which the runs may disagree: then the smaller claim counts.
    for cases, part in pieces(_claimed(claim, concentrated=is_concentrated(inputs.checked.program))):
        for side in (1, 2):
            given = [_truth(case, inputs, side) for case in cases]
            goal = z3.simplify(z3.Implies(z3.And(*given), _covered(part, sites, cost, inputs, side)))
            goals += [] if any(goal.eq(other) for other in goals) else [goal]
    return goals[0] if len(goals) == 1 else z3.And(*goals)


def _covered(
    claim: Expr, sites: Mapping[int, Site], cost: Mapping[int, Term], inputs: Inputs, side: int
) -> Term:
    try:
        value = ratio(claim)
    except NotRationalError:
        raise UnsupportedError(
            "the claim must be built from public constants by + - * /, min, max, abs and if"
        ) from None
    terms = {f"moved({key})": entry.price for key, entry in sites.items() if entry.price.numerator}
    try:
        total, positive = inequality(value, terms)
    except NotRationalError as problem:
        raise UnsupportedError(f"the price cannot be compared with the claim: {problem}") from None
    spent = {f"moved({key})": cost[key] for key in sites}
    above = [polynomial(p, spent, inputs, side) > 0 for p in positive]
    return z3.And(polynomial(total, spent, inputs, side) >= 0, *above)


Piece = tuple[tuple[Expr, ...], Expr]
MOST_PIECES = 32


def pieces(expression: Expr) -> list[Piece]:
    """Return what an expression is in each of its cases, without min, max, abs and if."""
    found: list[Piece]
    match expression:
        case Conditional(test, positive, negative):
            found = [((test, *cases), value) for cases, value in pieces(positive)]
            found += [((Unary("not", test), *cases), value) for cases, value in pieces(negative)]
        case Apply("abs", (operand,)):
            found = pieces(Apply("max", (operand, Unary("-", operand))))
        case Apply("min" | "max" as function, (left, right)):
            order = ("<=", ">") if function == "min" else (">=", "<")
            found = [
                ((Binary(sign, x, y), *first, *second), value)
                for (first, x), (second, y) in product(pieces(left), pieces(right))
                for sign, value in zip(order, (x, y), strict=True)
            ]
        case Binary(operator, left, right):
            both = product(pieces(left), pieces(right))
            found = [((*first, *second), Binary(operator, x, y)) for (first, x), (second, y) in both]
        case Unary(operator, operand):
            found = [(cases, Unary(operator, value)) for cases, value in pieces(operand)]
        case _:
            found = [((), expression)]
    if len(found) > MOST_PIECES:
        raise UnsupportedError(f"the claim has more than {MOST_PIECES} cases")
    return found


def _truth(condition: Expr, inputs: Inputs, side: int) -> Term:
    """Return a condition on public constants; that everything in it has a value, the kernel asks."""

    def element(node: Element, _: Term) -> Term:
        raise UnsupportedError(f"a claim cannot depend on {show(node)}")

    def apply(call: Apply | Size | Ask) -> Term:
        if isinstance(call, Size):
            return inputs.size(call.array, side)
        raise UnsupportedError(f"a claim cannot depend on {show(call)}")

    def remainder(_: str, left: Term, right: Term) -> Term:
        return left % right

    return Reader(lambda node: inputs.public(node.name), element, apply, remainder, lambda _: None)(condition)


def _claimed(claim: Claim | None, *, concentrated: bool) -> Expr:
    match claim:
        case EpsilonClaim(epsilon, delta) if concentrated:
            return _concentrated(epsilon, delta)
        case EpsilonClaim(epsilon):
            return epsilon
        case Rho(rho):
            return rho
        case Secret():
            return Number(Fraction(0))
        case None:
            raise UnsupportedError("the program claims nothing; add ensures epsilon ...")
        case _:
            assert_never(claim)


def composed(checked: CheckedProgram) -> CheckedProgram | None:
    """Return a program that claims the rho that is enough for a claim of numbers epsilon and delta."""
    program = checked.program
    if not isinstance(program.claim, EpsilonClaim) or is_concentrated(program):
        return None
    try:
        rho = _concentrated(program.claim.epsilon, program.claim.delta)
    except (UnsupportedError, NotRationalError):
        return None
    changed = replace(program, claim=Rho(rho))
    return replace(checked, program=changed, shared=shared_variables(changed))


def _concentrated(epsilon: Expr, delta: Expr | None) -> Expr:
    """Return a rho that is small enough for a claim of numbers epsilon and delta."""
    numbers = [number_of(part) for part in (epsilon, delta)]
    if numbers[0] is not None and numbers[1] is not None and 0 < numbers[1] < 1:
        log = -math.log(numbers[1])
        root = max(0.0, math.sqrt(log + float(numbers[0])) - math.sqrt(log))
        return Number(Fraction(round(root * root * 2**60 * (1 - 1e-9)), 2**60))
    raise UnsupportedError(
        "Gaussian noise needs a claim of zero-concentrated privacy (ensures rho ...), "
        "or numbers for epsilon and delta"
    )


def number_of(expression: Expr | None) -> Fraction | None:
    """Return the value of an expression that is a number, whatever the inputs."""
    if expression is None:
        return None
    try:
        value = ratio(expression)
    except NotRationalError:
        return None
    if {*value.numerator, *value.denominator} - {()}:
        return None
    return value.numerator.get((), Fraction(0)) / value.denominator[()]


def polynomial(value: Poly, spent: Mapping[str, Term], inputs: Inputs, side: int = 1) -> Term:
    """Return a polynomial in the public constants and the given movements as a term."""
    total: Term = z3.RealVal(0)
    for monomial, coefficient in value.items():
        product: Term = z3.RealVal(str(coefficient))
        for name, power in monomial:
            for _ in range(power):
                product = product * real(_constant(name, spent, inputs, side))
        total = total + product
    return z3.simplify(total, som=True)


def _constant(name: str, spent: Mapping[str, Term], inputs: Inputs, side: int) -> Term:
    if name in spent:
        return spent[name]
    if name.startswith("size("):
        return inputs.size(name[5:-1], side)
    return inputs.public(name)
