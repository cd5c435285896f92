"""Faults in the laboratory: audits that err, certificates that prove too much, noise that is too small."""

from tests.mutants.fault import Fault

RARE, INDEPENDENT, GAME = (
    "tests/audit/test_rare.py",
    "tests/audit/test_independence.py",
    "tests/audit/test_evidence.py",
)
OUTPUTS, CHECK, REMAP = (
    "tests/audit/test_outputs.py",
    "tests/utility/test_check.py",
    "tests/utility/test_remap.py",
)
TREE, COLUMN = "tests/workload/test_tree.py", "tests/workload/test_column.py"
PROGRAMS, COUNTS, USE = (
    "tests/seeds/test_001_formal_methods.py",
    "tests/seeds/test_002_laplace_noise.py",
    "tests/seeds/test_004_utility.py",
)

AUDIT = (
    Fault(
        "audit/evidence.py",
        "alpha * (1 - HAIR):\n        limit *=",
        "alpha * (1 + 1e-3):\n        limit *=",
        (f"{GAME}::test_lower_limit_is_below_clopper_and_pearsons_and_hardly_so",),
        "the lower limit is not kept below its own tail",
    ),
    Fault(
        "audit/evidence.py",
        "a, b = float(successes), float(trials - successes + 1)",
        "a, b = float(successes + 1), float(trials - successes)",
        (f"{GAME}::test_pure_bound_exceeds_the_truth_no_more_often_than_promised",),
        "the upper limit of Clopper and Pearson in the place of the lower",
    ),
    Fault(
        "audit/evidence.py",
        "if not delta:\n        return guess_bound",
        "if True:\n        return guess_bound",
        (f"{GAME}::test_bound_with_delta_exceeds_the_truth_no_more_often_than_promised",),
        "the free guesses of delta are forgotten",
    ),
    Fault(
        "audit/evidence.py",
        "taken = guess_bound(tally.correct - free, tally.guesses - free, alpha * 9 / 20)",
        "taken = guess_bound(tally.correct, tally.guesses - free, alpha * 9 / 20)",
        (f"{GAME}::test_bound_with_delta_exceeds_the_truth_no_more_often_than_promised",),
        "free guesses stay among the right ones",
    ),
    Fault(
        "audit/evidence.py",
        "+ tally.wrong * np.log1p(-bets * (loss + slack))",
        "+ tally.wrong * np.log1p(-bets * slack)",
        (f"{RARE}::test_bets_are_lost_on_wrong_guesses_and_on_delta",),
        "a gambler does not pay for wrong guesses",
    ),
    Fault(
        "audit/evidence.py",
        "+ (tally.trials - tally.guesses) * np.log1p(-bets * slack)",
        "+ 0 * np.log1p(-bets * slack)",
        (f"{RARE}::test_bets_are_lost_on_wrong_guesses_and_on_delta",),
        "a gambler does not pay for delta",
    ),
    Fault(
        "audit/evidence.py",
        "np.exp(logs - peak).mean(axis=-1)",
        "np.exp(logs - peak).sum(axis=-1)",
        (RARE, f"{GAME}::test_bound_with_delta_exceeds_the_truth_no_more_often_than_promised"),
        "a gambler starts with twelve times the stake",
    ),
    Fault(
        "audit/blind.py",
        "level = (alpha * 9 / 10 if delta else alpha) / (2 * max(1, len(self.histograms)))",
        "level = (alpha * 9 / 10 if delta else alpha)",
        (f"{RARE}::test_a_histogram_says_how_its_cell_fared",),
        "histograms do not share the error",
    ),
    Fault(
        "audit/blind.py",
        "each = level / len(correct)",
        "each = level",
        (f"{RARE}::test_a_histogram_says_how_its_cell_fared",),
        "cells do not share the error",
    ),
    Fault(
        "audit/blind.py",
        "free = free_guesses(self.trials, delta, 1, alpha / 20)",
        "free = 0",
        (f"{RARE}::test_a_histogram_that_forgets_delta_accuses_too_often",),
        "the histogram forgets delta",
    ),
    Fault(
        "audit/blind.py",
        "((1, right, left), (-1, left, right))",
        "((1, right, left), (-1, left, left))",
        (RARE,),
        "the histogram counts left cells against themselves",
    ),
    Fault(
        "audit/blind.py",
        "upper = np.stack([bins + 1, np.full_like(bins, last)], axis=1)",
        "upper = np.stack([bins, np.full_like(bins, last)], axis=1)",
        (f"{RARE}::test_tails_are_what_lies_beyond_a_cut",),
        "an upper tail begins one bin too early",
    ),
    Fault(
        "audit/learn.py",
        "key=lambda pair: -pair[0].hope)[:RUNNERS_UP]",
        "key=lambda pair: -pair[0].hope)[:0]",
        (RARE,),
        "events that might win by being rare do not play",
    ),
    Fault(
        "audit/independence.py",
        "least < log(LEVEL / len(found))",
        "least < log(LEVEL * 1e7)",
        (f"{INDEPENDENT}::test_independent_runs_get_no_warning",),
        "independent runs are warned about",
    ),
    Fault(
        "audit/independence.py",
        "even = log(2) + _choose(ones - 1, half - 1)",
        "even = _choose(ones - 1, half - 1)",
        (f"{INDEPENDENT}::test_tails_of_runs_and_halves_are_those_of_all_orders",),
        "the law of an even number of runs is halved",
    ),
    Fault(
        "audit/independence.py",
        "return law - _choose(total, np.array(drawn)), where",
        "return law - _choose(total, np.array(marked)), where",
        (INDEPENDENT,),
        "the hypergeometric law is normalised wrongly",
    ),
    Fault(
        "audit/independence.py",
        "folded = far[: len(far) // 2] == far[::-1][: len(far) // 2]",
        "folded = far[: len(far) // 2] == far[: len(far) // 2]",
        (INDEPENDENT,),
        "calls are compared with themselves, so that no memory stands out",
    ),
    Fault(
        "audit/fresh.py",
        "len(set(answers)) == 1 and answers[:1] != _words(sample[:1])",
        "len(set(answers)) == 1",
        (f"{INDEPENDENT}::test_a_function_without_noise_is_accused_though_its_answers_are_all_the_same",),
        "a function without noise passes for one with a memory",
    ),
    Fault(
        "audit/fresh.py",
        "return [output for output in sample if not isinstance(output, Failure)]",
        "return list(sample)",
        (f"{INDEPENDENT}::test_a_leak_that_cannot_be_copied_is_accused_all_the_same",),
        "a leak whose copies raise passes for a memory",
    ),
    Fault(
        "audit/conclude.py",
        "outputs = [part for part in map(answered, side.first) if len(part)]",
        "outputs = [part for part in side.first if len(part)]",
        (f"{INDEPENDENT}::test_errors_do_not_hide_a_memory_nor_make_one",),
        "a memory that raises now and then is accused of a leak",
    ),
    Fault(
        "audit/fresh.py",
        'np.random.seed(int.from_bytes(os.urandom(4), "big"))',
        "np.random.random()",
        (f"{INDEPENDENT}::test_copies_have_randomness_of_their_own",),
        "copies of a black box repeat its random numbers",
    ),
    Fault(
        "audit/conclude.py",
        "if reason is not None:\n        return Dependent",
        "if False:\n        return Dependent",
        (f"{INDEPENDENT}::test_functions_with_a_memory_get_a_warning_and_no_verdict",),
        "runs that depend on each other are judged",
    ),
    Fault(
        "audit/runs.py",
        "except (Exception, SystemExit) as error:\n            return _failure(error)",
        "except (KeyError, SystemExit) as error:\n            return _failure(error)",
        (f"{INDEPENDENT}::test_a_mechanism_that_raises_has_a_status_of_its_own",),
        "an error of a mechanism ends the audit",
    ),
    Fault(
        "audit/runs.py",
        "right += (int(words[-1]) & ((1 << ((trials - 1) % 64 + 1)) - 1)).bit_count()",
        "right += int(words[-1]).bit_count()",
        (f"{OUTPUTS}::test_fair_coins_are_counted_one_by_one",),
        "more coins than trials",
    ),
    Fault(
        "audit/verdict.py",
        'FOR_TESTS = "0.999999"',
        'FOR_TESTS = "0.95"',
        (f"{INDEPENDENT}::test_by_default_one_audit_in_a_million_is_a_false_alarm",),
        "a test suite fails one day in twenty",
    ),
    Fault(
        "audit/batch.py",
        "BEST, RARE, PLAIN = 0.7, 0.2, 0.1",
        "BEST, RARE, PLAIN = 0.7, 0.7, 0.7",
        (f"{INDEPENDENT}::test_the_shares_of_the_error_add_up_to_no_more_than_all",),
        "more error is shared than there is",
    ),
    Fault(
        "audit/sequential.py",
        "(1 - BEST) / 2**place for place in range(1, GAMBLERS)",
        "(1 - BEST) for place in range(1, GAMBLERS)",
        (f"{INDEPENDENT}::test_the_shares_of_the_error_add_up_to_no_more_than_all",),
        "gamblers start with more than they were given",
    ),
    Fault(
        "audit/outputs.py",
        "known.setdefault(_tag(row[place]), word(row[place]))",
        "known.setdefault(_tag(row[place]), str(_tag(row[place])))",
        (f"{INDEPENDENT}::test_events_on_text_are_told_in_words",),
        "events on text are told in numbers",
    ),
    Fault(
        "audit/attack/decode.py",
        "most = 16 * asked",
        "most = 4 * asked",
        (f"{PROGRAMS}::test_no_error_within_the_threshold_spoils_more_bits_than_it_says",),
        "fewer wrong bits are promised than the theorem allows",
    ),
)

UTILITY = (
    Fault(
        "utility/check.py",
        "if sum(row) != scale:",
        "if sum(row) > scale:",
        (f"{CHECK}::test_rows_that_do_not_sum_to_one_or_go_negative_are_refused",),
        "rows may sum to less than one",
    ),
    Fault(
        "utility/check.py",
        "        if min(row) < 0:\n            raise",
        "        if False:\n            raise",
        (f"{CHECK}::test_rows_that_do_not_sum_to_one_or_go_negative_are_refused",),
        "probabilities may be negative",
    ),
    Fault(
        "utility/check.py",
        "if 1 / alpha > smallest:",
        "if 1 / alpha > 2 * smallest:",
        (f"{CHECK}::test_a_smaller_epsilon_is_refused",),
        "the noise of a count may be too small",
    ),
    Fault(
        "utility/check.py",
        "if share.numerator < 0:",
        "if False:",
        (f"{CHECK}::test_forged_flows_are_refused",),
        "flows may be negative",
    ),
    Fault(
        "utility/check.py",
        "room[end] -= amount * unit * up",
        "room[end] -= amount * unit * down",
        (f"{CHECK}::test_honest_certificates_are_accepted_with_a_small_gap", CHECK),
        "a flow costs less than e**epsilon where it ends",
    ),
    Fault(
        "utility/check.py",
        "f[parent] += value * up // down if value < 0 else value * down // up",
        "f[parent] += value * down // up if value < 0 else value * down // up",
        (CHECK,),
        "negative reduced costs shrink on their way to the root",
    ),
    Fault(
        "utility/remap.py",
        "joint = [[mass * entry for entry in row] for mass, row in zip(prior.weights, rows, strict=True)]",
        "joint = [[entry for entry in row] for mass, row in zip(prior.weights, rows, strict=True)]",
        (f"{REMAP}::test_utility_is_the_best_of_all_remaps",),
        "the prior is forgotten",
    ),
    Fault(
        "utility/remap.py",
        "return [column.index(max(column)) for column",
        "return [column.index(min(column)) for column",
        ("tests/utility/test_lecture.py", USE),
        "the worst guess is taken for the best",
    ),
    Fault(
        "utility/exclusion.py",
        "return check(self.together.certificate).bound - sum(apart, Fraction(0))",
        "return check(self.together.certificate).loss - apart[0]",
        (f"{USE}::test_on_a_path_no_two_analysts_exclude_each_other",),
        "one of two analysts is forgotten",
    ),
    Fault(
        "utility/exclusion.py",
        "answers * (p * first[y] + q * second[y])",
        "answers * (p * first[y] + p * second[y])",
        (f"{USE}::test_on_a_path_no_two_analysts_exclude_each_other",),
        "both analysts believe the same",
    ),
)

WORKLOAD = (
    Fault(
        "workload/tree.py",
        "each = 1 if adjacency is Adjacency.ADD_REMOVE else 2",
        "each = 1",
        (f"{TREE}::test_a_replaced_event_is_paid_for_at_the_step_it_leaves_and_at_the_one_it_enters",),
        "a replaced event moves one block instead of two",
    ),
    Fault(
        "workload/tree.py",
        "levels[j] = LevelState(0, self._draw(j, _below(self.radices[j])))",
        "levels[j] = LevelState(0, self._draw(j, 1) * _below(self.radices[j]))",
        (f"{TREE}::test_every_block_has_a_draw_of_its_own",),
        "one draw is used for several blocks",
    ),
    Fault(
        "workload/tree.py",
        "levels[rising] = LevelState(current.settled, current.pending[1:])",
        "levels[rising] = LevelState(current.settled, current.pending[:-2])",
        (TREE,),
        "noise is taken back too early",
    ),
    Fault(
        "workload/dummy.py",
        "return cls(length, bare(calibrated(guarantee, histogram(adjacency))), adjacency)",
        "return cls(length, bare(calibrated(guarantee, histogram(Adjacency.ADD_REMOVE))), adjacency)",
        (f"{TREE}::test_a_replaced_event_is_paid_for_at_the_step_it_leaves_and_at_the_one_it_enters",),
        "a replaced item moves one count instead of two",
    ),
    Fault(
        "workload/dummy.py",
        "return prefix_sums(length, Adjacency.ADD_REMOVE)",
        "return prefix_sums(1, Adjacency.ADD_REMOVE)",
        (TREE, f"{PROGRAMS}::test_the_errors_of_the_two_running_sums_at_the_same_privacy"),
        "noise on every prefix is calibrated for one of them",
    ),
    Fault(
        "workload/noise.py",
        "return Concentrated(rho / changes**2)",
        "return Concentrated(rho / changes)",
        (f"{TREE}::test_what_is_promised_to_one_change_is_kept_for_several",),
        "rho is shared like epsilon",
    ),
    Fault(
        "workload/column.py",
        "return Sensitivity.spread(_largest_difference(workload), 1)",
        "return Sensitivity.spread(_largest_column(workload), 1)",
        (
            COLUMN,
            f"{COUNTS}::test_a_partition_has_sensitivity_two_over_n_under_replace_and_one_under_presence",
        ),
        "a replaced record counts once",
    ),
    Fault(
        "workload/column.py",
        "l1 = int(magnitude.sum(axis=0).max())",
        "l1 = int(magnitude.max())",
        (COLUMN,),
        "the largest entry of a strategy in the place of its largest column",
    ),
    Fault(
        "workload/size.py",
        "return max(1, high.__floor__() + 1)",
        "return max(1, high.__floor__())",
        (f"{COUNTS}::test_the_number_of_records_is_the_least_that_does",),
        "one record too few is promised to suffice",
    ),
    Fault(
        "workload/size.py",
        "ball(count / bound).log()",
        "ball(1 / bound).log()",
        (f"{COUNTS}::test_records_needed_for_all_answers_within_five_hundredths",),
        "the union bound forgets how many answers there are",
    ),
    Fault(
        "workload/quantile.py",
        "spread = np.maximum(own - 2 * q * cross + q * q * whole, 0)",
        "spread = np.maximum(own - 2 * q * cross - q * q * whole, 0) / 9",
        ("tests/workload/test_quantile.py",),
        "quantiles have intervals that are too short",
    ),
)

VERIFY = (
    Fault(
        "verify/coupling.py",
        "if masses[0] < masses[1]:",
        "if False:",
        (f"{PROGRAMS}::test_a_program_that_may_not_end_is_in_no_lifting_with_one_that_does",),
        "a program that may not end is coupled with one that does",
    ),
    Fault(
        "verify/judgement.py",
        "if before(one, two)]:\n        found",
        "if before(one, two) and one == two]:\n        found",
        (f"{PROGRAMS}::test_quadruples_say_more_than_that_results_are_equal",),
        "a judgement is decided on equal memories only",
    ),
)

INTERVALS = (
    Fault(
        "workload/noise.py",
        "deviations * min(wide + grain, 1 / sqrt(risk))",
        "deviations * min(wide, 1 / sqrt(risk))",
        ("tests/workload/test_intervals.py",),
        "noise that moves in steps is taken for a continuous one",
    ),
)

FAULTS = (*AUDIT, *UTILITY, *WORKLOAD, *INTERVALS, *VERIFY)
