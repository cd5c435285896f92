"""Faults in what is made of released values, and in how a price is split over what a question measures."""

from tests.mutants.fault import Fault

SPLIT = ("tests/query/test_split.py",)
SHOWN = ("tests/release/test_consistent.py",)

WHOLE = ("tests/query/test_check.py",)
STAIRS = (
    "tests/query/test_fieller.py::"
    "test_staircases_beside_other_noise_are_never_taken_for_less_and_hardly_for_more",
)
CAPPED = ("tests/query/test_capping.py",)
SLACK = ("tests/release/test_slack.py",)
WHOLE_CHANNEL = ("tests/utility/test_direct.py",)

TOLD = ("tests/release/test_price_words.py",)
MEANS = ("tests/query/check/test_averaged.py",)
LISTED = ("tests/query/test_listed_sets.py",)
LADDER = (
    "tests/privacy/test_ladder.py::test_a_session_that_was_admitted_keeps_the_promise_by_another_computation",
)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "release/afford.py",
        "closes = cost.epsilon is None and spent.epsilon is not None",
        "closes = cost.epsilon is None and spent.epsilon is not None and not spent.nothing",
        TOLD,
        "the first question of all closes the pure sum without a word",
    ),
    Fault(
        "release/pricing.py",
        "alone(budget, cost, priced.epsilon if terms is None else None)",
        "None",
        TOLD,
        "a price in zCDP does not say what it promises alone",
    ),
    Fault(
        "query/price/together.py",
        "l1, square, linf = joined(matrix_of(strategy), back)",
        "l1, square, linf = joined(matrix_of(strategy), back / 2)",
        ("tests/query/test_batch.py",),
        "sums of both signs move further than they are charged for",
    ),
    Fault(
        "query/price/together.py",
        "return min(sides) / max(sides) if any(sides) else Fraction(0)",
        "return Fraction(0)",
        ("tests/query/test_batch.py",),
        "sums that may be negative are taken for counts",
    ),
    Fault(
        "query/proof/check.py",
        "reach.leaning > back",
        "reach.leaning > back + 1",
        ("tests/query/test_batch.py", "tests/query/proof/test_hostile.py"),
        "the checker takes sums of both signs for counts",
    ),
    Fault(
        "workload/column.py",
        "a * a * own[None, :] + 2 * a * b * inner",
        "a * a * own[None, :]",
        ("tests/query/test_batch.py",),
        "columns that point one way are taken for apart",
    ),
    Fault(
        "release/whole.py",
        "all(one.weight == 1 for one in rows)",
        "all(one.weight for one in rows)",
        ("tests/release/test_whole.py",),
        "counts of parts of rows are taken for whole ones",
    ),
    Fault(
        "query/check/formula.py",
        "first = None if low is None else Fraction(low.__ceil__())",
        "first = None if low is None else Fraction(low.__ceil__() + 1)",
        ("tests/release/test_whole.py",),
        "an interval loses its first whole number",
    ),
    Fault(
        "release/table.py",
        "_around(cell, span) if made or _rounded(output.formula) else span",
        "_around(cell, span) if made else span",
        ("tests/release/test_whole.py",),
        "a whole number is shown outside of its interval",
    ),
    Fault(
        "release/table.py",
        "return formula.at(place.values) is None",
        "return False",
        TOLD,
        "a mean of nobody is missing without a reason",
    ),
    Fault(
        "workload/shrink.py",
        ".sum()), FURTHEST)",
        ".sum()), 10 * FURTHEST)",
        ("tests/workload/test_shrink.py",),
        "tables are told to be further apart than tables can be",
    ),
    Fault(
        "query/check/averaged.py",
        'return _grid(resolve(one, scope, "SUM")) == _grid(resolve(other, scope, "SUM"))',
        "return True",
        MEANS,
        "a 0 for what is missing changes what other values are clamped to",
    ),
    Fault(
        "query/check/averaged.py",
        "return not find(scalar, scope).nullable",
        "return True",
        MEANS,
        "rows without a value are left out of a mean that counts them",
    ),
    Fault(
        "query/check/averaged.py",
        'if count != Aggregate("count", where=total.where) or not filled:',
        "if not filled:",
        MEANS,
        "a sum over the count of other rows is taken for a mean",
    ),
    Fault(
        "query/language/sql.py",
        "if len(listed) > LISTED_LIMIT:",
        "if False:",
        LISTED,
        "GROUPING SETS lists without end",
    ),
    Fault(
        "privacy/filter.py",
        "part = (1 - MAIN) * delta / len(ASIDE)",
        "part = delta",
        LADDER,
        "every order has all of delta",
    ),
    Fault(
        "query/catalog/manifest.py",
        "if slack is not None and not 0 <= slack < delta:",
        "if slack is not None and not 0 <= slack:",
        SLACK,
        "more may be used of delta than there is",
    ),
    Fault(
        "release/opening.py",
        "isinstance(capped, ApproximateBudget) and capped.slack != declared:",
        "isinstance(capped, ApproximateBudget) and capped.slack > declared:",
        SLACK,
        "a manifest says more slack than its ledger keeps",
    ),
    Fault(
        "service/catalogue.py",
        'body["budget"]["slack"] = str(budget.slack)',
        "pass",
        SLACK,
        "the analyst's side plans with another slack",
    ),
    Fault(
        "utility/optimal.py",
        'others: tuple[Way, ...] = () if slack else ("rays", "truth")',
        "others: tuple[Way, ...] = ()",
        ("tests/utility/test_optimal.py::test_where_one_search_loses_its_way_another_finds_the_proof",),
        "a search that lost its way is the last",
    ),
    Fault(
        "utility/direct.py",
        "along[each, pairs[:, 1]] -= exp(epsilon)",
        "along[each, pairs[:, 1]] -= 1",
        WHOLE_CHANNEL,
        "a flow takes less from where it ends than it brings",
    ),
    Fault(
        "utility/direct.py",
        "    return short\n",
        "    return 0 * short\n",
        WHOLE_CHANNEL,
        "prices are believed that no flow supports",
    ),
    Fault(
        "utility/search.py",
        "dual, whole.belief, 0, whole.flows / scale)",
        "dual, whole.belief, 0, whole.flows)",
        WHOLE_CHANNEL,
        "flows are of other units than costs",
    ),
    Fault(
        "utility/direct.py",
        "steps += np.take_along_axis(steps, above, axis=1)",
        "pass",
        WHOLE_CHANNEL,
        "an entry far below stands one step below the top",
    ),
    Fault(
        "utility/direct.py",
        "dual = columns[:size] - raised * believed",
        "dual = columns[:size]",
        WHOLE_CHANNEL,
        "what was added to every cost stays in the prices",
    ),
    Fault(
        "utility/repair.py",
        "        room[end] -= amount * back",
        "        room[end] -= amount * out",
        WHOLE_CHANNEL,
        "a flow takes as much where it ends as it brings",
    ),
    Fault(
        "query/check/capping.py",
        "moves = claim(Contribution(bounding.scope.adjacency, size, 1, size, bounding.single), 0, 1)",
        "moves = claim(Contribution(bounding.scope.adjacency, 1, 1, 1, bounding.single), 0, 1)",
        CAPPED,
        "people above the limit are taken to be in one group only",
    ),
    Fault(
        "query/check/capping.py",
        "rows = most - limit + (Fraction(most, WEIGHT) if weighed else 0)",
        "rows = most - limit",
        CAPPED,
        "that weights are rounded down is forgotten",
    ),
    Fault(
        "query/check/capping.py",
        "if bounding.cellwise or (people is not None and people < checked.rows.rows):",
        "if bounding.cellwise:",
        CAPPED,
        "people above a limit of groups are looked for among those above the limit of rows",
    ),
    Fault(
        "query/rewrite/integers.py",
        'many = Call("gt", (Call("count_rows", ()), Literal(given(checked.rows.rows))))',
        'many = Call("gt", (Call("count_rows", ()), Literal(given(checked.rows.rows) + 1)))',
        CAPPED,
        "whoever is just above the limit is not counted",
    ),
    Fault(
        "query/price/tail.py",
        "np.sum(g[1:] * mass)",
        "np.sum(g[:-1] * mass)",
        STAIRS,
        "noise beside a staircase is taken for the smaller end of its part",
    ),
    Fault(
        "query/price/tail.py",
        "left = distance / abs(by) - 0.5",
        "left = distance / abs(by) + 0.5",
        STAIRS,
        "steps of a staircase are left out",
    ),
    Fault(
        "query/price/capped.py",
        "return max(Fraction(noisy[self.capping.above]) + radius, Fraction(0))",
        "return max(Fraction(noisy[self.capping.above]), Fraction(0))",
        CAPPED,
        "the noisy count of people above the limit is believed",
    ),
    Fault(
        "query/price/capped.py",
        "return low + people * sum(end[0] for end in ends), high + people * sum(end[1] for end in ends)",
        "return low, high + people * sum(end[1] for end in ends)",
        CAPPED,
        "lost rows are taken to be above nothing",
    ),
    Fault(
        "query/price/capped.py",
        "return lost / (rows + lost)",
        "return lost / (rows + 2 * lost)",
        CAPPED,
        "the share that is lost is taken for less",
    ),
    Fault(
        "query/price/capped.py",
        "high += share * part.width**2",
        "high += share * part.width",
        CAPPED,
        "a variance is widened by a width",
    ),
    Fault(
        "query/price/expected.py",
        "        return Expected(name)\n    match formula:",
        "        pass\n    match formula:",
        CAPPED,
        "errors are promised that depend on the people above the limit",
    ),
    Fault(
        "query/check/limits.py",
        "return 1 if self.scope.sole and self.scope.unit is not None and reach <= FEW_STEPS else self.weight",
        "return 1",
        WHOLE,
        "everybody is taken to have one row",
    ),
    Fault(
        "query/check/question.py",
        "sole=scope.rows == 1,",
        "sole=limits.rows_per_unit == 1,",
        WHOLE,
        "a limit that a question lowers stands for what the curator says people have",
    ),
    Fault(
        "query/price/quote.py",
        "share_of(checked, position, price.share(part), delta)",
        "share_of(checked, position, price, delta)",
        SPLIT,
        "every measurement costs the whole price",
    ),
    Fault(
        "query/price/split.py",
        "    return tuple(weight / total for weight in found)\n",
        "    return tuple(weight / max(found) for weight in found)\n",
        SPLIT,
        "parts add up to more than the price",
    ),
    Fault(
        "query/price/split.py",
        "found.append(max(own, default=ONE))",
        "found.append(min(own, default=ONE))",
        SPLIT,
        "what is shared has the weight of the column that minds least",
    ),
    Fault(
        "release/session.py",
        "        if weights:\n            return make()\n",
        "",
        SPLIT,
        "a question with weights gets the plan of one without",
    ),
    Fault(
        "release/consistent.py",
        "for value in _descend(sums, numbers)]",
        "for value in np.maximum(sums.adjoint(numbers) / sums.adjoint(np.ones(numbers.size)), 0)]",
        SHOWN,
        "cells are averages, which are not the nearest",
    ),
    Fault(
        "release/consistent.py",
        "descend(start, lambda x: np.maximum(x - pull(x) / rates, 0),",
        "descend(start, lambda x: x - pull(x) / rates,",
        SHOWN,
        "cells may be negative",
    ),
    Fault(
        "release/table.py",
        "_around(cell, span) if made or _rounded(output.formula) else span",
        "_around(cell, span) if _rounded(output.formula) else span",
        SHOWN,
        "points are moved into their own intervals and no longer add up",
    ),
    Fault(
        "release/pricing.py",
        "replace(whole, question=text, quote=own, noisy=noisy, made=part)",
        "replace(whole, question=text, quote=own, noisy=part or noisy, made=part)",
        SHOWN,
        "intervals of a batch are around what was made of it",
    ),
)
