"""Rational functions of the public constants, in which scales and claims are written.

A privacy cost is a sum of terms A / b, where A is the distance a noise was moved and b its scale.
Multiplying by the scales' numerators turns `sum of A / b <= claim` into a polynomial inequality; for the
usual scales, such as 4 N / eps, it is even linear, which is what solvers like best.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.verify.syntax import Binary, Expr, Number, Size, Unary, Variable

Monomial = tuple[tuple[str, int], ...]
"""Names with positive powers, sorted by name."""

Poly = Mapping[Monomial, Fraction]

ONE: Poly = {(): Fraction(1)}


def constant(value: Fraction | int) -> Poly:
    """Return a constant polynomial."""
    return {(): Fraction(value)} if value else {}


def variable(name: str) -> Poly:
    """Return the polynomial of one variable."""
    return {((name, 1),): Fraction(1)}


def plus(p: Poly, q: Poly) -> Poly:
    """Return p + q."""
    result = dict(p)
    for monomial, coefficient in q.items():
        result[monomial] = result.get(monomial, Fraction(0)) + coefficient
    return {m: c for m, c in result.items() if c}


def scaled(p: Poly, factor: Fraction | int) -> Poly:
    """Return factor * p."""
    return {m: c * factor for m, c in p.items()} if factor else {}


def times(p: Poly, q: Poly) -> Poly:
    """Return p * q."""
    result: dict[Monomial, Fraction] = {}
    for first, a in p.items():
        for second, b in q.items():
            powers = dict(first)
            for name, power in second:
                powers[name] = powers.get(name, 0) + power
            key = tuple(sorted(powers.items()))
            result[key] = result.get(key, Fraction(0)) + a * b
    return {m: c for m, c in result.items() if c}


@dataclass(frozen=True, slots=True)
class SymbolicRatio:
    """numerator / denominator."""

    numerator: Poly
    denominator: Poly

    def inverse(self) -> "SymbolicRatio":
        """Return 1 / self."""
        return SymbolicRatio(self.denominator, self.numerator)


class NotRationalError(ValueError):
    """An expression is not a rational function of constants."""


def ratio(expression: Expr) -> SymbolicRatio:
    """Read an expression over public constants as a rational function; `size(d)` counts as a constant."""
    match expression:
        case Number(value):
            return SymbolicRatio(constant(value), ONE)
        case Variable(name):
            return SymbolicRatio(variable(name), ONE)
        case Size(name):
            return SymbolicRatio(variable(f"size({name})"), ONE)
        case Unary("-", operand):
            inner = ratio(operand)
            return SymbolicRatio(scaled(inner.numerator, -1), inner.denominator)
        case Binary("+" | "-" as operator, left, right):
            a, b = ratio(left), ratio(right)
            second = scaled(b.numerator, 1 if operator == "+" else -1)
            if a.denominator == b.denominator:
                return reduce(SymbolicRatio(plus(a.numerator, second), a.denominator))
            top = plus(times(a.numerator, b.denominator), times(second, a.denominator))
            return reduce(SymbolicRatio(top, times(a.denominator, b.denominator)))
        case Binary("*", left, right):
            a, b = ratio(left), ratio(right)
            return reduce(SymbolicRatio(times(a.numerator, b.numerator), times(a.denominator, b.denominator)))
        case Binary("/", left, right):
            a, b = ratio(left), ratio(right).inverse()
            return reduce(SymbolicRatio(times(a.numerator, b.numerator), times(a.denominator, b.denominator)))
    raise NotRationalError("not a rational function of public constants")


def reduce(value: SymbolicRatio) -> SymbolicRatio:
    """Cancel common monomials and constants; the value is unchanged where both sides are defined."""
    if not value.denominator:
        raise NotRationalError("division by zero")
    common = common_monomial([*value.numerator, *value.denominator])
    content = next(iter(value.denominator.values()))
    return SymbolicRatio(
        scaled(divided(value.numerator, common), 1 / content),
        scaled(divided(value.denominator, common), 1 / content),
    )


def common_monomial(monomials: list[Monomial]) -> Monomial:
    """Return the greatest monomial that divides all the given ones."""
    if not monomials:
        return ()
    powers = dict(monomials[0])
    for monomial in monomials[1:]:
        other = dict(monomial)
        powers = {name: min(power, other[name]) for name, power in powers.items() if name in other}
    return tuple(sorted(powers.items()))


def divided(p: Poly, monomial: Monomial) -> Poly:
    """Return p divided by a monomial that divides all its terms."""
    result: dict[Monomial, Fraction] = {}
    for term, coefficient in p.items():
        powers = dict(term)
        for name, power in monomial:
            powers[name] -= power
        result[tuple(sorted((n, e) for n, e in powers.items() if e))] = coefficient
    return result


def inequality(claim: SymbolicRatio, terms: Mapping[str, SymbolicRatio]) -> tuple[Poly, list[Poly]]:
    """Return a polynomial that is non-negative exactly when sum of t * r <= claim, and what must be positive.

    The terms map a name t to its factor r.  The polynomial is the difference times the product of the
    returned factors, with common variables cancelled; both are equivalences only where the returned
    factors are positive.
    """
    claim, terms = reduce(claim), {name: reduce(value) for name, value in terms.items()}
    factors = _least_common([value.denominator for value in (claim, *terms.values())])
    total = times(claim.numerator, _cofactor(claim.denominator, factors))
    for name, value in terms.items():
        share = times(times(variable(name), value.numerator), _cofactor(value.denominator, factors))
        total = plus(total, scaled(share, -1))
    common = tuple((n, e) for n, e in common_monomial(list(total)) if n not in terms)
    return divided(total, common), [*factors, *(variable(name) for name, _ in common)]


def _product(factors: list[Poly]) -> Poly:
    result: Poly = ONE
    for factor in factors:
        result = times(result, factor)
    return result


def _least_common(denominators: list[Poly]) -> list[Poly]:
    """Return factors whose product all denominators divide; monomials are merged into one."""
    factors: list[Poly] = []
    powers: dict[str, int] = {}
    for p in denominators:
        if len(p) == 1:
            ((monomial, _),) = p.items()
            for name, power in monomial:
                powers[name] = max(powers.get(name, 0), power)
        elif p not in factors:
            factors.append(p)
    return [{tuple(sorted(powers.items())): Fraction(1)}, *factors] if powers else factors


def _cofactor(denominator: Poly, factors: list[Poly]) -> Poly:
    """Return the product of the factors divided by one of the denominators they were made from."""
    if len(denominator) == 1:
        ((monomial, coefficient),) = denominator.items()
        quotient = scaled(divided(_product(factors), monomial), 1 / coefficient)
    else:
        quotient = _product([factor for factor in factors if factor != denominator])
    if times(quotient, denominator) != _product(factors):
        raise NotRationalError("the scales have no common denominator")  # never trust an inexact division
    return quotient
