"""What the exact integers of two neighbouring datasets say about a priced question.

The oracle knows the noise and the price, and counts for itself: it looks at what one person moves, asks the
mechanism that would run what that gives away, and compares with what is charged.  Nothing of how a question
is planned, rewritten or proved is used here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

from discreet.engines.exact import Exact
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.filter import Cost
from discreet.privacy.grid import GRID
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.measurement import Declared, Measurement, QuantileChoice, families
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.sparse import Sparse
from discreet.query.price.together import Together

Weights = Mapping[Any, int]


def violation(priced: Quote, one: Exact | None, other: Exact | None) -> str | None:
    """Return what two neighbouring datasets contradict, if anything; None stands for an engine's error."""
    if one is None or other is None:
        return None if one is other else "an error shows one of the two"
    spent = Cost.zero
    for position, share in enumerate(priced.shares):
        moved, wrong = _moved(priced, position, share, one, other)
        wrong = wrong or _beyond(moved, share)
        if wrong is not None:
            return f"m{position}: {wrong}"
        spent += _loss(share, moved)
    charged = priced.cost
    # What each part costs is rounded up to the grid by itself; together they are charged as one.
    rounded = Fraction(len(priced.shares), GRID)
    if spent.rho > charged.rho + rounded or spent.delta > charged.delta:
        return f"costs rho {float(spent.rho)} instead of {float(charged.rho)}"
    if charged.epsilon is not None and (spent.epsilon is None or spent.epsilon > charged.epsilon):
        return f"costs {spent.epsilon} instead of {charged.epsilon}"
    return None


def _moved(
    priced: Quote, position: int, share: MeasurementShare, one: Exact, other: Exact
) -> tuple[Sensitivity, str | None]:
    """Return how far a measurement moved, and what is wrong with it apart from that."""
    name = f"m{position}"
    if not isinstance(share.measured, Measurement):
        return _scores(share.measured, one._cells[name], other._cells[name])
    if isinstance(share.mechanism, Together):
        # Tables are histograms of the same rows, each planned for the same reach.
        swaps = share.mechanism.swaps
        if swaps is not None and swaps.corners:
            return _among(priced, position, one, other), None
        tables = [(one._totals[n], other._totals[n]) for n in one._totals if _table_of(name, n)]
        found = [_norms(*pair) if swaps is None else _swaps(*pair, swaps.back) for pair in tables]
        return max(found, key=lambda m: m.l1), None
    keys = priced.checked.keys
    values = [column.values or () for column in keys.columns] if isinstance(keys, Declared) else None
    left, right = one._totals[name], other._totals[name]
    if values is not None:
        left, right = _released(left, values), _released(right, values)
    return _norms(left, right), None


def _released(totals: Mapping[Any, int], values: list[tuple[Any, ...]]) -> dict[Any, int]:
    """Return the groups that leave: those of declared keys."""
    return {
        key: total
        for key, total in totals.items()
        if all(part in declared for part, declared in zip(key, values, strict=True))
    }


def _norms(one: Weights, other: Weights) -> Sensitivity:
    moved = [abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}]
    return _sensitivity([step for step in moved if step])


def _table_of(name: str, output: str) -> bool:
    return output == name or output.startswith(f"{name}t")


def _swaps(one: Weights, other: Weights, back: Fraction = Fraction(0)) -> Sensitivity:
    """Return how many units went from one cell to another, came or left, as a number of steps.

    One unit adds one and takes one, or adds one and `back` of one, or takes so much.
    """
    came = sum(max(other.get(key, 0) - one.get(key, 0), 0) for key in {*one, *other})
    left = sum(max(one.get(key, 0) - other.get(key, 0), 0) for key in {*one, *other})
    return Sensitivity.of(ceil(max(came + back * left, left + back * came) / (1 + back)))


def _among(priced: Quote, position: int, one: Exact, other: Exact) -> Sensitivity:
    """Return how many units were swapped among all corners of a simplex; they are charged with the first."""
    (family,) = (places for places in families(priced.checked.measurements) if position in places)
    if position != family[0]:
        return Sensitivity.of(0)
    sides = [
        {(place, key): total for place in family for key, total in side._totals[f"m{place}"].items()}
        for side in (one, other)
    ]
    return _swaps(*sides)


def _sensitivity(moved: list[int]) -> Sensitivity:
    squares = sum(step * step for step in moved)
    return Sensitivity(Fraction(sum(moved)), Fraction(squares), Fraction(max(moved, default=0)), len(moved))


def _beyond(moved: Sensitivity, share: MeasurementShare) -> str | None:
    """Return the norm in which something moved further than the noise is made for."""
    claimed = share.measured.sensitivity
    if isinstance(share.mechanism, Together):
        return None if moved.l1 <= share.mechanism.reach else f"reaches {moved.l1}"
    norms = ["l1", "l2_squared", "linf"]
    if claimed.l0 is not None and isinstance(share.measured, Measurement):
        norms.append("l0")
    if isinstance(share.mechanism, KeyCount | KeyGaussian):
        claimed = Sensitivity.spread(share.mechanism.groups or 0, 1)
    if isinstance(share.mechanism, KeyWeight) and (moved.l0 or 0) <= share.mechanism.groups:
        # Where people come or go, what they add to a key depends on how many they have.
        most = share.mechanism.weights[max(moved.l0 or 0, 1) - 1]
        if share.mechanism.adjacency is Adjacency.ADD_REMOVE and moved.linf > most:
            return f"one key of {moved.l0} moves by {moved.linf} > {most}"
    for norm in norms:
        if getattr(moved, norm) > getattr(claimed, norm):
            return f"{norm} {getattr(moved, norm)} > {getattr(claimed, norm)}"
    return None


def _loss(share: MeasurementShare, moved: Sensitivity) -> Cost:
    """Return what these two datasets cost, by the mechanism's own theorem."""
    if not moved.l1:
        return Cost.zero
    match share.mechanism:
        case Together() as joint:
            return joint.plan.guarantee.group(int(moved.l1)).price()
        case Sparse() as blocks:
            # Cells and blocks are released for each step of one in one cell, and lose as often as there are.
            return replace(blocks.plan, changes=int(moved.l1)).guarantee.price()
        case KeyCount() | KeyGaussian() as threshold:
            return threshold.guarantee(moved.l0).price()
        case KeyWeight(sigma_squared=variance) as weighted:
            return Cost.concentrated(moved.l2_squared / (2 * variance), weighted.guarantee().slack)
        case Exponential() as selection:
            return selection.profile(moved, monotone=share.measured.monotone).price()  # type: ignore[union-attr]
        case PermuteAndFlip() as selection:
            return selection.guarantee(moved, monotone=share.measured.monotone).price()  # type: ignore[union-attr]
        case Geometric() | Staircase() | Gaussian() as noise:
            return noise.guarantee(moved).price()


def _scores(
    choice: Any, one: Mapping[Any, Weights], other: Mapping[Any, Weights]
) -> tuple[Sensitivity, str | None]:
    """Return by how much the scores of all groups move, and whether they leave what was promised of them."""
    total = 0
    for key in {*one, *other}:
        left, right = one.get(key, {}), other.get(key, {})
        if isinstance(choice, QuantileChoice):
            if any(not 0 <= position < choice.size for position in (*left, *right)):
                return Sensitivity.of(0), "a candidate lies outside of the grid"
            moves = _ranks(choice, left, right)
        else:
            moves = [left.get(value, 0) - right.get(value, 0) for value in choice.values]
        if choice.monotone and min(moves) < 0 < max(moves):
            return Sensitivity.of(0), "scores move both ways"
        total += max(map(abs, moves), default=0)
    return Sensitivity.of(total), None


def _ranks(choice: QuantileChoice, one: Weights, other: Weights) -> list[int]:
    """Return how far scores of positions move; between occupied ones and just behind nothing changes."""
    places = sorted({0, *one, *other, *(p + 1 for p in (*one, *other) if p + 1 < choice.size)})
    return [a - b for a, b in zip(_rank(choice, one, places), _rank(choice, other, places), strict=True)]


def _rank(choice: QuantileChoice, weights: Weights, places: Iterable[int]) -> list[int]:
    up, unit = choice.level.numerator, choice.level.denominator
    target, below, found = up * sum(weights.values()), 0, []
    for place in places:
        here = weights.get(place, 0)
        found.append(-max(0, unit * below - target, target - unit * (below + here)))
        below += here
    return found
