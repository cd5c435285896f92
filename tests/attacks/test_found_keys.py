"""Keys found with Gaussian noise, and trees of sections: what is claimed against laws added up here.

Nothing of the mechanisms is used but their parameters: a lone person's chance of being shown, the divergence
of shifted counts and the law of a partition are all worked out again, from the definitions.
"""

import os
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import erfc, exp, log, sqrt
from random import Random

import pandas as pd
import pytest

from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.release.opening import open as open_session
from discreet.workload import SplitTree

SEED = int(os.environ.get("FUZZ_SEED", "0"))
TEXTS = (
    "SELECT city, COUNT(DISTINCT person) AS n FROM people GROUP BY city",
    "SELECT city, COUNT(DISTINCT person) AS n, SUM(age) AS s FROM people GROUP BY city",
    "SELECT city, COUNT(DISTINCT person) AS n FROM people GROUP BY city HAVING COUNT(*) > 3 LIMIT 2",
)


def lone(variance: Fraction, threshold: int) -> float:
    """Return the chance that one person alone reaches the threshold."""
    v = float(variance)
    reach = int(40 * sqrt(v)) + 2
    masses = [exp(-k * k / (2 * v)) for k in range(threshold - 1, reach)]
    return sum(reversed(masses)) / (1 + 2 * sum(exp(-k * k / (2 * v)) for k in range(reach, 0, -1)))


def curve(epsilon: float, square: float) -> float:
    """Return the delta of Gaussian noise whose mean moves by the root of `square` deviations."""
    if not square:
        return 0.0
    mu = sqrt(square)
    high, low = (erfc((epsilon / mu + sign * mu / 2) / sqrt(2)) / 2 for sign in (-1, 1))
    return high - exp(epsilon) * low


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "groups"), [("1", "1e-6", 20), ("0.1", "1e-3", 3), ("3", "1e-9", 8)]
)
def test_a_question_of_the_whole_budget_keeps_it_for_whoever_is_alone_or_among_many(
    neighbours: str, epsilon: str, delta: str, groups: int
) -> None:
    """Some groups of the changed person come or go, the others are large and move by one."""
    frame = pd.DataFrame({"person": range(9), "city": ["a"] * 9, "age": [30] * 9})
    columns = {"city": "text", "age": {"type": "integer", "low": 0, "high": 100}}
    limits = {"rows_per_unit": groups, "groups_per_unit": groups, "rows_per_group": 1}
    seen = 0
    with open_session(
        people=frame,
        unit="person",
        neighbours=neighbours,
        epsilon=epsilon,
        delta=delta,
        columns=columns,
        **limits,
    ) as data:
        for text in TEXTS:
            priced = data.quote(text, epsilon=epsilon)
            keys = next(s.mechanism for s in priced.shares if isinstance(s.mechanism, KeyGaussian))
            moved = groups if neighbours == "add-remove" else 2 * groups
            beside = sum(
                float(s.measured.sensitivity.l2_squared / s.mechanism.sigma_squared)
                for s in priced.shares
                if s.mechanism is not keys
            )
            chance = lone(keys.sigma_squared, keys.threshold)
            for fresh in {0, 1, groups // 2, groups}:
                shown = 1 - (1 - chance) ** fresh
                square = (moved - fresh) / float(keys.sigma_squared) + beside
                true = shown + (1 - shown) * curve(float(epsilon), square)
                assert true <= float(delta)
                assert shown <= float(priced.cost.delta) * (1 + 1e-9)
                assert square / 2 <= float(priced.cost.rho) * (1 + 1e-9)
                seen += 1
    assert seen >= 9


def split(score: int, a: Fraction) -> Fraction:
    """Return the chance that a score with two-sided geometric noise of ratio a is above nothing."""
    return a ** (1 - score) / (1 + a) if score <= 0 else 1 - a**score / (1 + a)


def law(cells: list[int], tree: SplitTree, depth: int = 0, start: int = 0) -> dict[tuple[int, ...], Fraction]:
    """Return the exact law of the partition of a block."""
    if len(cells) == 1:
        return {(start,): Fraction(1)}
    middle, half = sorted(cells)[len(cells) // 2], len(cells) // 2
    score = max(tree.theta - tree.kappa, sum(abs(x - middle) for x in cells) - tree.kappa * depth)
    chance = split(score - tree.theta, tree.alpha)
    left, right = law(cells[:half], tree, depth + 1, start), law(cells[half:], tree, depth + 1, start + half)
    found = {(start,): 1 - chance}
    for (i, p), (j, q) in product(left.items(), right.items()):
        found[i + j] = chance * p * q
    return found


def partitions(cells: list[int], tree: SplitTree) -> dict[tuple[int, ...], Fraction]:
    found: dict[tuple[int, ...], Fraction] = {}
    for starts, p in law(cells + [0] * (2**tree.depth - len(cells)), tree).items():
        real = tuple(start for start in starts if start < len(cells))
        found[real] = found.get(real, Fraction(0)) + p
    return found


def test_no_partition_of_a_section_tells_more_than_the_tree_of_all_cells_claims() -> None:
    random, closest = Random(SEED), 0.0
    for _ in range(60):
        cells = random.randint(1, 8)
        if random.random() < 0.5:
            whole = SplitTree(
                Fraction(random.randint(5, 95), 100), random.randint(1, 4), random.randint(1, 7), cells
            )
        else:
            asked = random.choice(("0.5", "2", "6"))
            whole = SplitTree.calibrate(epsilon=asked, cells=cells * random.choice((1, 16, 500)), theta=3)
        section = replace(whole, cells=cells)
        top = random.choice((1, 3, whole.theta + 2 * whole.kappa + 2))
        one = [random.randint(0, top) for _ in range(cells)]
        other = list(one)
        other[random.randrange(cells)] += 1
        p, q = partitions(one, section), partitions(other, section)
        assert sum(p.values()) == sum(q.values()) == 1
        worst = max(max(p[k] / q[k], q[k] / p[k]) for k in p)
        loss = log(worst.numerator) - log(worst.denominator)
        assert loss <= float(section.guarantee().cost) + 1e-9
        assert section.guarantee().cost <= whole.guarantee().cost
        closest = max(closest, loss / float(section.guarantee().cost))
    assert closest > 0.5
