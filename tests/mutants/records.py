"""Faults in made-up records, shrunk tables and histograms that look at the data: prices, tables, scores."""

from tests.mutants.fault import Fault

MADE_UP, SHRINK, FOREST, CLI = (
    "tests/release/test_made_up.py",
    "tests/workload/test_shrink.py",
    "tests/workload/test_forest.py",
    "tests/cli/test_synthesise.py",
)
TREE, ADAPTIVE = "tests/theorems/test_split_tree.py", "tests/workload/test_adaptive.py"
LOSS = (f"{MADE_UP}::test_both_questions_together_lose_what_one_may_whatever_the_first_one_told",)
PARTS = (f"{MADE_UP}::test_the_parts_never_cost_more_than_one_question_and_fit_a_budget_of_that_size",)
CELLS = (f"{MADE_UP}::test_every_row_is_in_the_cell_that_its_value_says",)

FAULTS = (
    Fault(
        "release/records_plan.py",
        "return price(checked, self.epsilon, portion(self.terms, 1 - FIRST))",
        "return price(checked, self.epsilon, self.terms)",
        LOSS,
        "the second question takes the whole price again",
    ),
    Fault(
        "release/pricing.py",
        "match terms(epsilon).part(1 / share):",
        "match terms(epsilon).part(share):",
        PARTS,
        "a part of the price is more than the whole",
    ),
    Fault(
        "release/pricing.py",
        "return PurePrice(below_grid(part))",
        "return PurePrice(part)",
        PARTS,
        "parts are rounded up, so that together they no longer fit",
    ),
    Fault(
        "release/pricing.py",
        "    if isinstance(budget, PureBudget):\n        return PurePrice\n",
        "",
        (MADE_UP,),
        "a pure budget is asked for Gaussian noise",
    ),
    Fault(
        "release/session.py",
        "            require_room(plan.cost, self.budget, self.project, self.analyst)",
        "            pass",
        (f"{MADE_UP}::test_what_does_not_fit_is_refused_before_anything_is_paid",),
        "half of the records is paid for although the other half does not fit",
    ),
    Fault(
        "release/shrunk.py",
        "variances = {a: variance / scale**2 for",
        "variances = {a: variance for",
        (f"{MADE_UP}::test_tables_of_grouping_sets_are_known_as_well_as_they_were_quoted",),
        "noise is taken for far larger than it is",
    ),
    Fault(
        "query/check/coding.py",
        'last = Call("ge", (here, ends[-1])) if ends else Call("eq", (here, here))',
        'last = Call("ge", (Literal(1), Literal(0)))',
        CELLS,
        "what is missing counts in the last part",
    ),
    Fault(
        "query/check/coding.py",
        "return tuple(-(-k * points // count) for k in range(count + 1))",
        "return tuple(k * points // count for k in range(count + 1))",
        CELLS,
        "parts are said to begin elsewhere than the statement counts them",
    ),
    Fault(
        "query/check/coding.py",
        'return Call("coalesce", (position, Literal(self.parts))) if self.column.nullable else position',
        "return position",
        (MADE_UP,),
        "a missing number is in no cell",
    ),
    Fault(
        "workload/nearest.py",
        "level = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)",
        "level = (np.cumsum(ordered) - total) / ordered.size",
        (f"{SHRINK}::test_the_nearest_counts_are_those_of_the_conditions_of_optimality",),
        "counts do not add up to the total",
    ),
    Fault(
        "workload/shrink.py",
        "weights = [1 / part.variances[attributes] for part in told]",
        "weights = [1.0 for part in told]",
        (f"{SHRINK}::test_pooled_releases_weigh_by_precision_and_know_no_less_than_each",),
        "a noisy release counts as much as a good one",
    ),
    Fault(
        "workload/shrink.py",
        "np.sqrt(doubt) / total",
        "0 * np.sqrt(doubt) / total",
        (f"{SHRINK}::test_the_estimate_of_how_far_records_are_off_is_about_right",),
        "what noise hides is not told",
    ),
    Fault(
        "workload/forest.py",
        "if found[pair] > NOTICEABLE and tree[one] is not tree[other]:",
        "if found[pair] > NOTICEABLE:",
        (f"{FOREST}::test_the_forest_is_the_best_of_all_forests",),
        "edges close a circle",
    ),
    Fault(
        "workload/forest.py",
        "shares = pair if parent < child else pair.T",
        "shares = pair.T if parent < child else pair",
        (f"{FOREST}::test_the_tables_of_the_edges_are_those_of_the_records",),
        "a table is read across",
    ),
    Fault(
        "workload/forest.py",
        "ends / ends[-1] * rows + expansion.fraction()",
        "ends / ends[-1] * rows",
        (f"{FOREST}::test_every_share_is_rounded_up_or_down_and_none_is_favoured",),
        "shares are always rounded down until the last",
    ),
    Fault(
        "workload/noise.py",
        "return max(float(noise.variance), SMALLEST)",
        "return float(noise.variance)",
        (f"{SHRINK}::test_where_noise_is_all_but_nothing_tables_are_the_exact_ones",),
        "where noise is all but nothing, weights underflow and tables are lost",
    ),
    Fault(
        "cli/synthesise.py",
        "if not dry_run and (to is None or to.suffix.lower() not in ENDINGS):",
        "if False:",
        (f"{CLI}::test_what_has_no_place_to_go_is_refused_before_anything_is_paid",),
        "records are paid for that nobody gets",
    ),
    Fault(
        "workload/split.py",
        "scores = np.maximum(unevenness(blocks) - self.kappa * depth, self.theta - self.kappa)",
        "scores = unevenness(blocks) - self.kappa * depth",
        (f"{TREE}::test_blocks_are_scored_as_the_law_says_and_split_above_the_threshold_only",),
        "scores fall without an end, so every level of a deep path loses",
    ),
    Fault(
        "workload/split.py",
        "a, odds, power = self.alpha, 1 / self.alpha, Fraction(1)",
        "a, odds, power = self.alpha, Fraction(1), Fraction(1)",
        (f"{TREE}::test_no_partition_of_any_neighbours_loses_more_than_is_stated",),
        "the block in which the path ends is not paid for",
    ),
    Fault(
        "workload/split.py",
        "for _ in range(self.depth):\n            # h",
        "for _ in range(self.depth - 2):\n            # h",
        (TREE,),
        "the upper levels are not paid for",
    ),
    Fault(
        "workload/split.py",
        "split = np.asarray(noise.sample(scores) > self.theta, dtype=bool)",
        "split = np.asarray(noise.sample(scores) >= self.theta, dtype=bool)",
        (f"{TREE}::test_blocks_are_scored_as_the_law_says_and_split_above_the_threshold_only",),
        "a score at the threshold splits",
    ),
    Fault(
        "workload/adaptive.py",
        "return self.epsilon if self.total is not None else self.epsilon * (1 - _SCALE)",
        "return self.epsilon",
        (f"{ADAPTIVE}::test_either_way_costs_what_was_asked_at_most",),
        "the noisy total is not paid for",
    ),
    Fault(
        "workload/adaptive.py",
        "return Geometric.calibrate(epsilon=self.rest, sensitivity=self.height + 1)",
        "return Geometric.calibrate(epsilon=self.rest, sensitivity=max(self.height, 1))",
        (f"{ADAPTIVE}::test_either_way_costs_what_was_asked_at_most",),
        "one level of sums is not paid for",
    ),
    Fault(
        "workload/adaptive.py",
        "best.append((own * (whole - part) + below * (part - 1)) / (whole - 1))",
        "best.append((own * (part - 1) + below * (whole - part)) / (whole - 1))",
        (f"{ADAPTIVE}::test_one_walk_up_and_one_down_is_least_squares",),
        "the worse estimate weighs more",
    ),
)
