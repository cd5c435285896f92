"""The best adaptive adversary against a filter, by dynamic programming, and a filter that she breaks.

Every release is randomised response at a tenth, two tenths or four tenths; she chooses the next one, or to
stop, from the answers so far.  What she can reach depends only on how many releases of each kind were made
and on the privacy loss, so her best strategy is found exactly, whatever she does."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from math import exp, expm1

from discreet.privacy.filter import ApproximateBudget, Cost, Filter, Rule

EPSILON, DELTA = Fraction(1), Fraction(1, 100)
STEPS = (1, 2, 4)
"""The epsilons of the releases, in tenths."""

CHANCES = tuple(1 / (1 + exp(-step / 10)) for step in STEPS)
Counts = tuple[int, ...]
Admits = Callable[[Counts], bool]


def lost(loss: int) -> float:
    """Return what a transcript of this loss, in tenths, adds to delta."""
    return max(0.0, -expm1(float(EPSILON) - loss / 10))


def best_adversary(admits: Admits) -> float:
    """Return the largest delta that any strategy reaches at EPSILON."""
    allowed = cache(admits)

    @cache
    def worth(made: Counts, loss: int) -> float:
        best = lost(loss)
        for kind, (step, chance) in enumerate(zip(STEPS, CHANCES, strict=True)):
            after = tuple(count + (place == kind) for place, count in enumerate(made))
            if allowed(after):
                best = max(
                    best, chance * worth(after, loss + step) + (1 - chance) * worth(after, loss - step)
                )
        return best

    return worth((0,) * len(STEPS), 0)


def kept_by(budget: ApproximateBudget) -> Admits:
    """Return what a filter of this budget admits."""
    prices = [Cost.pure(Fraction(step, 10)) for step in STEPS]

    def admits(made: Counts) -> bool:
        total = sum((price.times(n) for price, n in zip(prices, made, strict=True) if n), Cost.zero)
        return Filter(budget).can_spend(total)

    return admits


@lru_cache(maxsize=4096)
def exact_delta(made: Counts) -> float:
    """Return the delta of so many releases of each kind, decided on beforehand."""
    law = {0: 1.0}
    for step, chance, count in zip(STEPS, CHANCES, made, strict=True):
        for _ in range(count):
            after: dict[int, float] = {}
            for loss, mass in law.items():
                after[loss + step] = after.get(loss + step, 0.0) + mass * chance
                after[loss - step] = after.get(loss - step, 0.0) + mass * (1 - chance)
            law = after
    return sum(mass * lost(loss) for loss, mass in law.items())


def test_no_adaptive_strategy_gets_more_than_the_budget_out_of_a_filter() -> None:
    found = {rule: best_adversary(kept_by(ApproximateBudget(EPSILON, DELTA, 0, rule))) for rule in Rule}
    assert all(delta <= DELTA for delta in found.values())
    # She gets something out of it: the budget is not kept by refusing everything.
    assert found[Rule.ORDERS] > float(DELTA) / 4


def test_a_filter_that_adds_up_whole_laws_is_broken() -> None:
    """The broken twin admits what would be private if it had been decided on beforehand."""
    assert best_adversary(lambda made: exact_delta(made) <= DELTA) > 1.5 * float(DELTA)


def test_a_filter_with_all_of_delta_on_every_order_and_half_the_costs_is_broken() -> None:
    whole = kept_by(ApproximateBudget(EPSILON, DELTA, 0))
    assert best_adversary(lambda made: whole(tuple(-(-count // 2) for count in made))) > float(DELTA)
