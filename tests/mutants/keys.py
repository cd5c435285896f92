"""Faults in how keys are found by weights: the mechanism, what is claimed of it, and who checks that."""

from tests.mutants.fault import Fault

LAW = ("tests/theorems/test_key_weight.py",)
BELL = ("tests/theorems/test_key_gaussian.py",)
EITHER = ("tests/query/test_either.py",)
CHECKED = ("tests/query/proof/test_key_weights.py",)
ASKED = ("tests/query/test_key_weights.py",)


def law(old: str, new: str, why: str) -> Fault:
    return Fault("mechanisms/key_weight.py", old, new, LAW, why)


def bell(old: str, new: str, why: str) -> Fault:
    return Fault("mechanisms/key_gaussian.py", old, new, BELL, why)


def weaker(module: str, old: str, new: str, why: str) -> Fault:
    return Fault(f"query/proof/{module}.py", old, new, CHECKED, why)


FAULTS = (
    # The mechanism.
    law(
        "return isqrt(one * one // groups)", "return isqrt(one * one // groups) + 1", "weights are rounded up"
    ),
    law(
        "return isqrt(one * one // groups)",
        "return one",
        "whoever is in many groups weighs the whole in each",
    ),
    law(
        "            return 2 * one * one",
        "            return one * one",
        "a replaced person moves as far as one",
    ),
    law(
        "return -((number * (-gaussian_tail(start, variance) / total).log1p()).expm1())",
        "return gaussian_tail(start, variance) / total",
        "one new group of several is looked at",
    ),
    law(
        "return 1 - (gaussian_tail(1 - start, variance) / total) ** number",
        "return 1 - gaussian_tail(1 - start, variance) / total",
        "one new group of several is looked at, of those that are shown mostly",
    ),
    law(
        "for first in (groups, 1):",
        "for first in ():",
        "the threshold is for people in one group alone",
    ),
    law("for first in (groups, 1):", "for first in (groups,):", "the threshold is for both ends alone"),
    law(
        "halves = (middle + 1, last), (first, middle)",
        "halves = ((middle + 1, last),)",
        "half of the numbers of groups are not looked at",
    ),
    law(
        "elif chance(first, last) > largest:",
        "elif False:",
        "the slack is that of both ends",
    ),
    law(
        "largest, left = max(chance(1, 1), chance(groups, groups)), [(1, groups)]",
        "largest, left = chance(1, 1), [(1, 1)]",
        "the slack is that of people in one group",
    ),
    law(
        "(noisy >= self.threshold) & (many > 0)",
        "(noisy >= self.threshold)",
        "groups without people are shown",
    ),
    law(
        "(noisy >= self.threshold) & (many",
        "(noisy > self.threshold) & (many",
        "what reaches the threshold is not shown",
    ),
    law("asked * SPARE)", "asked * SPARE) - 1", "the threshold is one too low"),
    law("asked * SPARE)", "asked * SPARE) + 1", "the threshold is one too high"),
    # The checker.
    weaker("added", "if _cell_rows(body) != 1:", "if False:", "somebody may count twice in one key"),
    weaker(
        "added",
        "if most is None or most > len(told):",
        "if most is None:",
        "people in many keys weigh nothing there",
    ),
    weaker("added", "    _counted(body, falling.part, falling.where)\n", "", "other rows may be counted"),
    weaker("added", "if any(lighter > heavier for", "if any(lighter > 2**40 for", "weights may grow"),
    weaker("weight", "number == place and type(told)", "type(told)", "cases may be of any number"),
    weaker(
        "weight",
        "case Case(branches, Literal(0)) if",
        "case Case(branches, _) if",
        "people beyond may weigh anything",
    ),
    weaker(
        "weight",
        'case (Call("eq", (Call("count_rows"',
        'case (Call(_, (Call("count_rows"',
        "cases may overlap",
    ),
    weaker(
        "check",
        "times = 2 if body.owner.adjacency is Adjacency.REPLACE else 1\n    for",
        "times = 1\n    for",
        "replaced people move half as far",
    ),
    weaker(
        "check",
        "if len(told) > len(release.weights):",
        "if False:",
        "people may be in more keys than claimed",
    ),
    weaker(
        "check",
        '_at_most(release.output, f"a key of {number}", own, claimed)',
        "pass",
        "any weight may be added to a key",
    ),
    weaker(
        "check",
        "times * number * own**2, release.squares",
        "own**2, release.squares",
        "squares are those of one key",
    ),
    weaker(
        "check",
        "    if body.keys is not None:\n        raise",
        "    if False:\n        raise",
        "declared keys may be found by weights",
    ),
    weaker(
        "check",
        "isinstance(release, Kept | KeptByWeight) for",
        "isinstance(release, Kept) for",
        "weights are no threshold",
    ),
    # The question.
    Fault(
        "query/rewrite/integers.py",
        "weights(measurement.scale, groups))",
        "(measurement.scale,) * groups)",
        ASKED,
        "everybody weighs the whole, which the checker refuses",
    ),
    Fault(
        "query/check/key_weights.py",
        "Fraction(squares(WEIGHT, near))",
        "Fraction(squares(WEIGHT, Adjacency.ADD_REMOVE))",
        ASKED,
        "replaced people are claimed to move half as far, which the checker refuses",
    ),
    Fault(
        "query/check/key_weights.py",
        "touched // 2",
        "touched",
        ASKED,
        "twice as many groups are looked at where people are replaced",
    ),
    Fault(
        "query/check/question.py",
        "people=bool(sorts & {Sort.PEOPLE, Sort.KEY_WEIGHTS})",
        "people=Sort.PEOPLE in sorts",
        ASKED,
        "keys of a person have no limit where only they are asked for",
    ),
    Fault(
        "query/price/either.py",
        "return (under(budget),) if weighed else kinds(budget)",
        "return kinds(budget)",
        ASKED,
        "a question that needs Gaussian noise is tried at a pure price",
    ),
    Fault(
        "query/price/mechanism.py",
        "return weighted.guarantee().price()",
        "return Cost.zero",
        ASKED,
        "keys found by weights cost nothing",
    ),
    Fault(
        "query/check/option.py",
        "if asked and self.weighted is False:",
        "if False:",
        ASKED,
        "a statement that says how keys are found is answered in another way",
    ),
    Fault(
        "query/check/option.py",
        'weighted=None if strategy in (None, "PUBLIC_GROUPS") else',
        "weighted=",
        ASKED,
        "a clause that says nothing about keys contradicts whoever does",
    ),
    # Counts with Gaussian noise.
    bell(
        'variance = proper_variance(most / (2 * positive(rho, "rho")))',
        'variance = proper_variance(1 / (2 * positive(rho, "rho")))',
        "noise is for one group of somebody in several",
    ),
    bell("number / (2 * self.sigma_squared)", "1 / (2 * self.sigma_squared)", "many groups cost as one"),
    bell(
        "at_most(lambda: reached(t - 1, groups, variance), delta)",
        "at_most(lambda: reached(t, groups, variance), delta)",
        "the threshold is lower by one",
    ),
    bell(
        "at_most(lambda: reached(t - 1, groups, variance), delta)",
        "at_most(lambda: reached(t - 1, 1, variance), delta)",
        "one new group of several is looked at",
    ),
    bell(
        "enclose(lambda: reached(threshold - 1, groups, variance))[1]",
        "enclose(lambda: reached(threshold, groups, variance))[1]",
        "the slack is that of a higher threshold",
    ),
    bell(
        "return (noisy >= self.threshold) & (many > 0), noisy",
        "return noisy >= self.threshold, noisy",
        "groups without people are shown",
    ),
    bell(
        "return (noisy >= self.threshold) & (many > 0), noisy",
        "return (noisy >= self.threshold - 1) & (many > 0), noisy",
        "groups below the threshold are shown",
    ),
    bell(
        "return tail(shown - n) < risk * tail(threshold - n)",
        "return tail(shown - n) < risk",
        "an interval forgets that small groups are rarely shown",
    ),
    bell("least_integer(too_small, shown + 1, shown + 1) - 1", "shown", "an interval ends at its count"),
    Fault(
        "mechanisms/key_count.py",
        "max(most, shown)",
        "most",
        BELL,
        "the smallest counts that are shown lie outside of their intervals",
    ),
    Fault(
        "query/price/mechanism.py",
        "return share.mechanism.guarantee(given(change.l0)).price()",
        "return share.mechanism.guarantee(1).price()",
        EITHER,
        "found keys of people in many groups are charged as one",
    ),
    Fault(
        "query/price/either.py",
        "return log(max(rise, 0.0) + log1p(exp(-abs(rise)))) - _log(min(own, LARGE))",
        "return 0.0",
        EITHER,
        "keys always have noise at pure epsilon",
    ),
    Fault(
        "query/price/either.py",
        "more = _log(groups / (2 * rho)) / 2 + log(away)",
        "more = log(groups) - _log(2 * rho) / 2 + log(away)",
        EITHER,
        "Gaussian noise is judged as if it paid for each group by itself",
    ),
)
