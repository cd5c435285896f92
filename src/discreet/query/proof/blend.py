"""Integers that are released together because they move together: the corners of a simplex.

Theorem.  Let every row add to d integers of its group, w q_1, ..., w q_d, with one weight w >= 0 and integers
q_i >= 0 of sum at most `top` whatever the row holds.  Let the weights of a person sum to at most `total` in
all groups and to `cell` in one, in at most `groups` of them.  For add-remove a person adds v >= 0 with
v_k1 + ... + v_kd <= n_k top in group k, n_k <= cell, sum n_k <= total.  Hence l1 <= total top,
linf <= cell top, l0 <= d groups, and since v >= 0, the sum of the squares of v_ki over i is at most
(n_k top)**2: l2 squared <= top**2 times the largest sum of squares of such n.  Replacing moves the integers
by v - v': l1 and l0 double; so does l2 squared, as (a - b)**2 <= a**2 + b**2 for a, b >= 0; linf stays.

That the q_i add up to no more than `top` is read off their text.  Each is a polynomial with integer
coefficients in one whole column x; none is negative where interval arithmetic says so of its factors; and
the polynomial of their sum must have degree at most 2 once its terms have cancelled, as those of
((b - x) + (x - a))**k do but for the constant.  It is largest at an end of the interval of x or at the whole
numbers beside its vertex.  A row without x adds nothing to any of them, but for an integer that is a constant
where x IS NULL and 0 elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from discreet.errors import ProofError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.plan import Call, Case, Column, Literal, Scalar
from discreet.query.proof.added import Body, added, is_weight
from discreet.query.proof.derivation import Step
from discreet.query.proof.function import evaluate
from discreet.query.proof.reach import Reach
from discreet.query.proof.value import Kind
from discreet.query.statement import Statement

Polynomial = tuple[int, ...]
"""Coefficients, the constant one first."""

DEGREE = 4
"""The highest power of the column in any one integer."""

VERTEX = 2
"""The highest power in their sum, whose largest value is then known."""


@dataclass(frozen=True, slots=True)
class Corners:
    """What one person can add to several integers of a group together: `reach` with the sum as its factor."""

    reach: Reach
    number: int

    def moves(self, adjacency: Adjacency) -> Sensitivity:
        """Return the sensitivity of all integers of all groups."""
        times, reach = (1 if adjacency is Adjacency.ADD_REMOVE else 2), self.reach
        return Sensitivity(
            Fraction(times * reach.total * reach.high),
            Fraction(times * reach.squares * reach.high**2),
            Fraction(reach.cell * reach.high),
            None if reach.groups is None else times * reach.groups * self.number,
        )


def blended(body: Body, statement: Statement, scalars: Sequence[Scalar]) -> tuple[Corners, Step]:
    """Return what one person adds to several sums together."""
    split = [_split(scalar, body) for scalar in scalars]
    if len({weight for _, weight in split}) != 1:
        raise ProofError("integers released together", "must have one weight")
    polynomials: list[tuple[Column, Polynomial]] = []
    apart: list[tuple[Column, int]] = []
    for factor, _ in split:
        match factor:
            case Case(((Call("is_null", (Column() as column,)), Literal(int(constant))),), Literal(0)):
                apart.append((column, constant))
            case _:
                polynomials.append(_polynomial(factor, body))
    columns = {column for column, _ in (*polynomials, *apart)}
    if len(columns) != 1 or not polynomials:
        raise ProofError("integers released together", "must be made of one column")
    top = max(_largest(columns.pop(), [p for _, p in polynomials], body), sum(c for _, c in apart))
    if any(constant < 0 for _, constant in apart):
        raise ProofError("integers released together", "must not be negative")
    reaches = [added(body, statement, scalar) for scalar in scalars]
    widest = reaches[0][0]
    if any(replace(reach, low=0, high=0) != replace(widest, low=0, high=0) for reach, _ in reaches):
        raise ProofError("integers released together", "must be sums over the same rows")
    says = f"{len(scalars)} integers, to which a row adds at most {top} together"
    return Corners(replace(widest, low=0, high=top), len(scalars)), Step("simplex", says, (reaches[0][1],))


def _split(scalar: Scalar, body: Body) -> tuple[Scalar, Scalar | None]:
    """Return the factor and the weight of what a sum adds up."""
    match scalar:
        case Call("sum", (Call("multiply_long" | "multiply_wide", (factor, weight)),)) if is_weight(
            weight, body.rows
        ):
            return factor, weight
        case Call("sum", (factor,)):
            return factor, None
    raise ProofError("integers released together", "must be sums")


def _polynomial(factor: Scalar, body: Body) -> tuple[Column, Polynomial]:
    """Return an integer as a polynomial in the one column that it is made of; it must not be negative."""
    value = evaluate(factor, body.rows.leaf)
    if value.kind is not Kind.WHOLE or value.low < 0:
        raise ProofError("integers released together", "must not be negative")
    found: set[Column] = set()
    polynomial = _expanded(factor, found)
    if len(found) != 1 or len(polynomial) > DEGREE + 1:
        raise ProofError("integers released together", "must be polynomials of low degree in one column")
    return found.pop(), polynomial


def _expanded(scalar: Scalar, columns: set[Column]) -> Polynomial:
    match scalar:
        case Column():
            columns.add(scalar)
            return 0, 1
        case Literal(int(constant)) if not isinstance(constant, bool):
            return (constant,)
        case Call("add" | "subtract" as name, (one, other)):
            left, right = _expanded(one, columns), _expanded(other, columns)
            sign = 1 if name == "add" else -1
            return _plus(left, tuple(sign * c for c in right))
        case Call("multiply", (one, other)):
            return _times(_expanded(one, columns), _expanded(other, columns))
    raise ProofError("integers released together", "must be polynomials")


def _plus(one: Polynomial, other: Polynomial) -> Polynomial:
    size = max(len(one), len(other))
    padded = ((*p, *(0,) * (size - len(p))) for p in (one, other))
    return tuple(a + b for a, b in zip(*padded, strict=True))


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    found = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            found[i + j] += a * b
    return tuple(found)


def _largest(column: Column, polynomials: Sequence[Polynomial], body: Body) -> int:
    """Return the largest value of a sum of polynomials of low degree where the column can lie."""
    value = evaluate(column, body.rows.leaf)
    if value.kind is not Kind.WHOLE:
        raise ProofError("integers released together", "must be made of whole numbers")
    total: Polynomial = (0,) * (DEGREE + 1)
    for polynomial in polynomials:
        total = _plus(total, polynomial)
    if any(total[VERTEX + 1 :]):
        raise ProofError("integers released together", "must have a sum of low degree")
    places = {value.low, value.high}
    if total[2]:
        vertex = Fraction(-total[1], 2 * total[2])
        places |= {place for place in (floor(vertex), ceil(vertex)) if value.low <= place <= value.high}
    found: list[int] = [sum(c * place**power for power, c in enumerate(total)) for place in places]
    return max(found)
