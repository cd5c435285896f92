"""Couplings of finite laws, decided by maximum flow, with the coupling or the reason against it shown.

Definition.  For laws mu1 on A and mu2 on B and a relation R between A and B, an R-coupling is a joint law
with marginals mu1 and mu2 whose support lies in R; mu1 and mu2 are then in the lifting of R.  The same is
said of subdistributions, whose mass may be less than one because a program may not end: a coupling then has
the mass of both, so that there is none between different masses.

Theorem (Strassen; max-flow min-cut).  An R-coupling exists exactly when mu1 and mu2 have the same mass and
mu1(S) <= mu2(R(S)) for every set S of outcomes, where R(S) are the outcomes related to some member of S;
exactly when the network that carries mu1 through R into mu2 has a flow of that mass.  A minimum cut is a set
S that violates the condition; where mu2 is the heavier one, so do all its outcomes, read from right to left.

Theorem (approximate lifting).  mu1(E) <= exp(epsilon) mu2(R(E)) + delta for all E exactly when the
network whose sinks have capacity exp(epsilon) mu2 carries a flow of all but delta of the mass of mu1.  With
R the equality, this is one half of (epsilon, delta)-privacy.

Flows are computed in exact rational arithmetic by shortest augmenting paths.
"""

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import ParameterError

Outcome = Hashable
Law = Mapping[Outcome, Fraction]
Relation = Callable[[Outcome, Outcome], bool]


@dataclass(frozen=True, slots=True)
class Coupling:
    """A joint law with the given marginals and support inside the relation."""

    joint: Mapping[tuple[Outcome, Outcome], Fraction]


@dataclass(frozen=True, slots=True)
class NoCoupling:
    """A set of outcomes with more mass than everything related to it: there is no coupling.

    The outcomes are of the first law; `backwards` says that they are of the second, related to the first.
    """

    outcomes: frozenset[Outcome]
    related: frozenset[Outcome]
    mass: Fraction
    related_mass: Fraction
    backwards: bool = False


def couple(first: Law, second: Law, relation: Relation) -> Coupling | NoCoupling:
    """Return an R-coupling of two finite laws, or a set that shows that there is none.

    Laws may be subdistributions: of any mass up to one.
    """
    masses = _mass(first, "the first law"), _mass(second, "the second law")
    if masses[0] < masses[1]:
        mirrored = couple(second, first, lambda b, a: relation(a, b))
        if isinstance(mirrored, Coupling):
            raise AssertionError("laws of different mass have no coupling")
        return replace(mirrored, backwards=True)
    flow = _maximum_flow(first, second, relation)
    if sum(flow.values(), Fraction(0)) == masses[0]:
        return Coupling({pair: mass for pair, mass in flow.items() if mass})
    reached, behind = _cut(first, second, relation, flow)
    return NoCoupling(
        frozenset(reached),
        frozenset(behind),
        sum((first[a] for a in reached), Fraction(0)),
        sum((second[b] for b in behind), Fraction(0)),
    )


def lifted_delta(first: Law, second: Law, relation: Relation, factor: Fraction) -> Fraction:
    """Return the least delta with mu1(E) <= factor * mu2(R(E)) + delta for all events E."""
    mass, _ = _mass(first, "the first law"), _mass(second, "the second law")
    if factor < 1:
        raise ParameterError("the factor exp(epsilon) must be at least 1")
    scaled = {b: factor * mass for b, mass in second.items()}
    return mass - sum(_maximum_flow(first, scaled, relation).values(), Fraction(0))


def _mass(law: Law, name: str) -> Fraction:
    total = sum(law.values(), Fraction(0))
    if any(mass < 0 for mass in law.values()) or total > 1:
        raise ParameterError(f"{name} must have non-negative probabilities that add up to 1, or to less")
    return total


Flow = dict[tuple[Outcome, Outcome], Fraction]


def _maximum_flow(first: Law, second: Law, relation: Relation) -> Flow:
    flow: Flow = {(a, b): Fraction(0) for a in first for b in second if relation(a, b)}
    left, right = dict(first), dict(second)
    while (path := _augmenting(flow, left, right)) is not None:
        amount = min(left[path[0]], right[path[-1]])
        for place in range(2, len(path), 2):
            amount = min(amount, flow[(path[place], path[place - 1])])
        for place in range(0, len(path) - 1, 2):
            flow[(path[place], path[place + 1])] += amount
        for place in range(2, len(path), 2):
            flow[(path[place], path[place - 1])] -= amount
        left[path[0]] -= amount
        right[path[-1]] -= amount
    return flow


def _augmenting(flow: Flow, left: Law, right: Law) -> list[Outcome] | None:
    """Return a shortest path a, b, a', b', ... from spare mass on the left to spare room on the right."""
    parents: dict[tuple[str, Outcome], tuple[str, Outcome] | None] = {
        ("left", a): None for a, mass in left.items() if mass > 0
    }
    queue = deque(parents)
    forward: dict[Outcome, list[Outcome]] = {}
    backward: dict[Outcome, list[Outcome]] = {}
    for (a, b), mass in flow.items():
        forward.setdefault(a, []).append(b)
        if mass > 0:
            backward.setdefault(b, []).append(a)
    while queue:
        node = queue.popleft()
        side, outcome = node
        if side == "right" and right[outcome] > 0:
            path: list[Outcome] = []
            step: tuple[str, Outcome] | None = node
            while step is not None:
                path.append(step[1])
                step = parents[step]
            return path[::-1]
        neighbours = forward.get(outcome, []) if side == "left" else backward.get(outcome, [])
        for other in neighbours:
            following = ("right" if side == "left" else "left", other)
            if following not in parents:
                parents[following] = node
                queue.append(following)
    return None


def _cut(first: Law, second: Law, relation: Relation, flow: Flow) -> tuple[set[Outcome], set[Outcome]]:
    """Return the left outcomes reachable from spare mass, and everything related to them."""
    used: dict[Outcome, Fraction] = {}
    for (a, _), mass in flow.items():
        used[a] = used.get(a, Fraction(0)) + mass
    reached = {a for a, mass in first.items() if used.get(a, Fraction(0)) < mass}
    while True:
        behind = {b for b in second if any(relation(a, b) for a in reached)}
        more = {a for (a, b), mass in flow.items() if mass > 0 and b in behind} | reached
        if more == reached:
            return reached, behind
        reached = more
