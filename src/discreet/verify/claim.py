"""The price of a proof against the claim: the sum of movement times price, as one polynomial inequality."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.law import Site
from discreet.verify.neighbours import Inputs
from discreet.verify.ratio import NotRationalError, Poly, inequality, ratio
from discreet.verify.shared import is_concentrated, shared_variables
from discreet.verify.syntax import Claim, EpsilonClaim, Expr, Number, Rho, Secret
from discreet.verify.term import Term, UnsupportedError, real


def within_claim(
    claim: Claim | None, sites: Mapping[int, Site], cost: Mapping[int, Term], inputs: Inputs
) -> Term:
    """Return the formula that says that what was moved costs no more than what is claimed."""
    try:
        value = ratio(_claimed(claim, concentrated=is_concentrated(inputs.checked.program)))
    except NotRationalError:
        raise UnsupportedError("the claim must be built from public constants by + - * /") from None
    terms = {f"moved({key})": entry.price for key, entry in sites.items() if entry.price.numerator}
    try:
        total, positive = inequality(value, terms)
    except NotRationalError as problem:
        raise UnsupportedError(f"the price cannot be compared with the claim: {problem}") from None
    spent = {f"moved({key})": cost[key] for key in sites}
    # A claim may mention the length of a list, on which the runs may disagree: then the smaller claim counts.
    goals = [
        z3.And(
            polynomial(total, spent, inputs, side) >= 0,
            *(polynomial(p, spent, inputs, side) > 0 for p in positive),
        )
        for side in (1, 2)
    ]
    return goals[0] if goals[0].eq(goals[1]) else z3.And(*goals)


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
