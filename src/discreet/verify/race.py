"""Which of several scores with Gumbel noise is the largest: exact probabilities without an integral.

Theorem (races).  Let y_v be independent, Pr[y_v <= t] = exp(-exp((m_v - t) / b)), one for each node of a
forest.  The probability that every node is at least as large as its children is the product over all nodes v
of exp(m_v / b) / (sum of exp(m_u / b) over u in the subtree of v).
Proof.  The largest of several y_u has a law of the same form, of location b ln(sum of exp(m_u / b)), and
which of them it is does not depend on how large it is.  So, from the leaves up, that v is the largest of its
subtree depends on its children's subtrees only by how large their largest members are, not by who they are.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.verify.integrate import (
    UNIT,
    ZERO,
    Density,
    GumbelLaw,
    Inequality,
    Number,
    TooHardError,
    add,
    multiply,
)


def winning(densities: Mapping[int, Density], races: Sequence[Inequality]) -> tuple[Number, Number]:
    """Return the probability that Gumbel noises satisfy comparisons of two each, as a quotient."""
    children: dict[int, list[tuple[int, Fraction]]] = {}
    parents: set[int] = set()
    for race in races:
        parent, child, lead = _race(densities, race)
        children.setdefault(parent, []).append((child, lead))
        if child in parents:
            raise TooHardError("one noise is compared with two larger ones")
        parents.add(child)
    above, below, seen = UNIT, UNIT, 0
    for root in children.keys() - parents:
        top, bottom, _, size = _heap(root, Fraction(0), children, densities)
        above, below, seen = multiply(above, top), multiply(below, bottom), seen + size
    if seen != len(children.keys() | parents):
        raise TooHardError("noises are compared in a circle")
    return above, below


def _race(densities: Mapping[int, Density], race: Inequality) -> tuple[int, int, Fraction]:
    """Return the larger noise, the smaller one, and by how much the larger one is ahead without noise."""
    if len(race.coefficients) != 2 or race.coefficients[0][1] != -race.coefficients[1][1]:
        raise TooHardError("Gumbel noise is not compared with other noise of its kind alone")
    (first, slope), (second, _) = race.coefficients
    if densities[first] != densities[second]:
        raise TooHardError("Gumbel noise is compared with noise of another kind")
    lead = race.constant / abs(slope)
    return (first, second, lead) if slope > 0 else (second, first, lead)


def _heap(
    node: int,
    location: Fraction,
    children: Mapping[int, list[tuple[int, Fraction]]],
    densities: Mapping[int, Density],
) -> tuple[Number, Number, Number, int]:
    """Return the probability of a subtree as a quotient, the sum of its weights, and its number of nodes."""
    law = densities[node]
    scale = law.scale if isinstance(law, GumbelLaw) else Fraction(1)
    own: Number = {location / scale: Fraction(1)}
    above, below, total, size = own, UNIT, add(ZERO, own), 1
    for child, lead in children.get(node, ()):
        top, bottom, weight, count = _heap(child, location - lead, children, densities)
        above, below = multiply(above, top), multiply(below, bottom)
        total, size = add(total, weight), size + count
    return above, multiply(below, total), total, size
