"""Faults in amplification: orders mixed up, comparisons weakened, samples that lose their rate."""

from tests.mutants.fault import Fault

FINITE = ("tests/privacy/test_sampled.py::test_sampled_finite_mechanisms_are_what_enumeration_says",)
ADDING = ("tests/privacy/test_sampled.py::test_adding_a_unit_may_be_worse_than_removing_one",)
GUESS = ("tests/privacy/test_sampled.py::test_weights_that_are_a_bad_guess_are_corrected_by_the_comparison",)
TRANSFORM = ("tests/privacy/test_sampled.py::test_many_sampled_gaussians_are_what_a_plain_transform_says",)
NOISE = ("tests/privacy/test_sampled.py::test_the_noise_for_training_is_enough_and_hardly_more_than_that",)
ONE = ("tests/privacy/test_sampled.py::test_one_sampled_release_is_its_theorem",)
TWICE = ("tests/privacy/test_sampled.py::test_sampling_twice_multiplies_the_rates",)
SLACK = ("tests/privacy/test_sampled.py::test_slacks_of_samples_shrink_with_the_rate",)
NORMAL = ("tests/privacy/test_normal.py",)
SHUFFLE = ("tests/privacy/test_shuffle.py",)
HEAVY = ("tests/mechanisms/test_heavy_hitters.py",)
FREQUENCY = ("tests/mechanisms/test_frequency.py",)
LISTED = ("tests/privacy/test_listed.py",)
MANY = ("tests/privacy/test_many.py",)

NOISE_ARRAYS = (
    "tests/mechanisms/test_additive_noise.py::test_long_arrays_are_rounded_as_exactly_as_single_numbers",
)
MIXED = ("tests/privacy/test_sampled.py::test_promises_about_other_neighbours_are_not_mixed",)
LEFT = ("tests/privacy/test_sampled.py::test_what_is_left_to_infinite_loss_is_not_counted_for_less",)
MOVED = (
    "tests/privacy/test_sampled.py::test_the_error_of_a_curve_covers_the_rounding_of_where_it_is_looked_at",
)

CELLS = ("tests/exact/test_cells.py",)
STOCK = ("tests/exact/test_stock.py",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "exact/stock.py",
        "return row.pop() if row else None",
        "return row[-1] if row else None",
        STOCK,
        "one number of the stock is all noise there is",
    ),
    Fault("exact/stock.py", "last = row.pop()", "last = row[-1]", STOCK, "the last of a row comes twice"),
    Fault(
        "exact/coins.py",
        "return self._mine().stock",
        'return self.__dict__.setdefault("shared", {})',
        STOCK,
        "a child has its parent's noise in stock",
    ),
    Fault(
        "exact/stock.py",
        "    if source() is not SYSTEM:\n        return None\n",
        "",
        STOCK,
        "coins of a test are not what is drawn from",
    ),
    Fault(
        "exact/sample.py",
        'restock(("gaussian", variance)',
        'restock(("geometric", variance)',
        STOCK,
        "Gaussian noise stands in stock as geometric noise",
    ),
    Fault(
        "privacy/many.py",
        "        factor += inside[place]\n",
        "",
        MANY,
        "no loss of zero in responses of three categories",
    ),
    Fault(
        "privacy/many.py",
        "+ c * step * (_AROUND / 2), 1.0)",
        "+ 0 * c, 1.0)",
        MANY,
        "rows with a revival between two looks are left out",
    ),
    Fault(
        "privacy/total.py",
        "0 < q == r and p == s and same == also",
        "0 < q",
        (*MANY, "tests/privacy/test_fourier.py"),
        "any three losses are taken for a response",
    ),
    Fault(
        "privacy/optimal.py",
        "(lost + multiple, p * truth * lie)",
        "(lost + multiple, p * lie)",
        ("tests/privacy/test_optimal.py",),
        "lies of few responses are too likely",
    ),
    Fault(
        "privacy/optimal.py",
        "found.sort(key=_lost)",
        "found.reverse()",
        ("tests/privacy/test_optimal.py",),
        "patterns of few responses are not in the order of their losses",
    ),
    Fault(
        "privacy/direction.py",
        "mine, other = rate * true + (1 - rate) * false, false",
        "mine, other = rate * true + (1 - rate) * false, false * rate",
        ("tests/privacy/test_sampled.py::test_replaced_units_lose_at_least_what_three_answers_tell",),
        "a lower bound that nothing attains",
    ),
    Fault(
        "mechanisms/gaussian.py",
        "change.l1 == change.l0 * each and change.l2_squared == change.l0 * each**2",
        "change.l2_squared >= each**2",
        ("tests/theorems/test_gaussian_vectors.py",),
        "a vector without a worst move has the law of another one",
    ),
    Fault(
        "mechanisms/gaussian.py",
        "    if each == change.l1:\n        return each.numerator, 1\n",
        "    if change.l0:\n        return each.numerator, 1\n",
        ("tests/theorems/test_gaussian_vectors.py",),
        "a vector has the law of one of its coordinates",
    ),
    Fault(
        "mechanisms/truncated_gaussian.py",
        "range(-b, b + s + 1)",
        "range(s - b, b + s + 1)",
        ("tests/theorems/test_truncated_gaussian.py",),
        "what only one neighbour can give is not looked at",
    ),
    Fault(
        "mechanisms/truncated_gaussian.py",
        "half = [1 + _floor(",
        "half = [_floor(",
        ("tests/theorems/test_truncated_gaussian.py",),
        "noise within a bound has another law than is stated",
    ),
    Fault(
        "mechanisms/laplace.py",
        "if abs(part) > abs(scaled) * 2.0**-52 else None",
        "",
        STOCK,
        "a decimal next to a tie is rounded as the float beside it",
    ),
    Fault(
        "exact/cells.py",
        "tails[-cell] + terms[-cell]) / whole",
        "tails[-cell]) / whole",
        CELLS,
        "negative cells have no first strip",
    ),
    Fault(
        "exact/cells.py",
        "tails[cell + 1] + terms[cell] - terms[cell + 1]",
        "tails[cell + 1] + terms[cell + 1]",
        CELLS,
        "the strips of a cell change places",
    ),
    Fault(
        "exact/cells.py",
        "        cell ^= cell >> 63\n",
        "",
        CELLS,
        "negative numbers are compared with the wrong cell",
    ),
    Fault(
        "exact/cells.py",
        "inner = cell if cell >= 0 else -1 - cell",
        "inner = abs(cell)",
        CELLS,
        "a single negative draw is compared with the wrong cell",
    ),
    Fault(
        "exact/cells.py",
        "margin = p * 2.0**-40 + 2.0**-50 + 2.0**-self.shape.word",
        "margin = p * 0.0",
        CELLS,
        "floats decide where they cannot",
    ),
    Fault(
        "exact/choice.py",
        "first, before = stretch * _STRETCH,",
        "first, before = stretch,",
        ("tests/exact/test_sampler_laws.py::test_a_long_row_of_choices_has_exactly_its_law",),
        "stretches of a long row are counted as if they were places",
    ),
    Fault(
        "exact/inversion.py",
        "reached[doubtful] = words > thresholds",
        "reached[doubtful] = words < thresholds",
        (
            "tests/exact/test_sampler_laws.py::test_coins_for_values_have_exactly_the_power_of_each",
            "tests/exact/test_sampler_laws.py::test_coins_for_values_are_independent_of_each_other",
        ),
        "the bits that are drawn when the first leave it open decide the wrong way",
    ),
    Fault(
        "exact/inversion.py",
        "partial(self.law.cumulative, value - 1)",
        "partial(self.law.cumulative, value)",
        ("tests/exact/test_sampler_laws.py::test_coins_for_values_have_exactly_the_power_of_each",),
        "a tie is decided by the next threshold",
    ),
    Fault(
        "exact/cells.py",
        "        if excess in (0, 1 << self.bits):\n            return arb(1 if excess else 0)\n",
        "        if excess == 0:\n            return arb(1)\n",
        CELLS,
        "the first number of a cell is rejected",
    ),
    Fault(
        "exact/cells.py",
        "            out[again] = self.draw(again.size, coins)\n",
        "            pass\n",
        CELLS,
        "what is rejected stays",
    ),
    Fault(
        "exact/cells.py",
        "ball(excess * (excess + (cell << (self.bits + 1))) / (2 * self.variance))",
        "ball(excess * (excess + (cell << self.bits)) / (2 * self.variance))",
        CELLS,
        "a Gaussian falls too slowly within a cell",
    ),
    Fault(
        "mechanisms/laplace.py",
        "exact.denominator * over) // (2 * exact.denominator * over)",
        "exact.denominator * over) // (2 * exact.denominator * over) + 1",
        (
            "tests/mechanisms/test_additive_noise.py::"
            "test_single_numbers_are_rounded_to_the_nearest_step_and_halves_go_up",
        ),
        "single numbers are rounded up",
    ),
    Fault(
        "mechanisms/laplace.py",
        "below += scaled >= 0.5",
        "below += scaled > 0.5",
        NOISE_ARRAYS,
        "halves of a grid step go down in arrays",
    ),
    Fault(
        "exact/lattice_gaussian.py",
        "tails[n] = tails[n + 1] + (-(arb(n) ** 2)",
        "tails[n] = tails[n + 1] + (-(arb(n + 1) ** 2)",
        ("tests/exact/test_sampler_laws.py::test_a_table_of_the_discrete_gaussian_has_exactly_its_law",),
        "a table's probabilities are those of the next numbers",
    ),
    Fault(
        "mechanisms/permute_and_flip.py",
        "before = np.cumsum(several) - several",
        "before = np.cumsum(several) - 1",
        ("tests/theorems/test_selection_draws.py::test_rows_of_permute_and_flip_are_independent",),
        "heads of other rows are selected",
    ),
    Fault(
        "exact/choice.py",
        "return chosen, np.minimum(below, above) <= slip * whole",
        "return chosen, np.minimum(below, above) < 0",
        (
            "tests/exact/test_sampler_laws.py::test_rows_of_choices_have_exactly_their_laws_and_nothing_in_common",
        ),
        "floats decide where they cannot",
    ),
    Fault(
        "privacy/listed.py",
        "(value + slip) * (1 + self.relative)",
        "(value + slip) * (1 - self.relative)",
        LISTED,
        "probabilities in floats are taken for larger than they may be",
    ),
    Fault(
        "privacy/listed.py",
        "inside[[0, -1]] = 1.0, exp(-self.top)",
        "inside[[0, -1]] = 1.0, exp(-self.unit)",
        LISTED,
        "the smallest loss is as likely as one step",
    ),
    Fault(
        "privacy/many.py",
        "slip, 0.0) + _NOTHING",
        "slip, 0.0)",
        MANY,
        "what is taken for zero is not counted",
    ),
    Fault(
        "privacy/many.py",
        "factor += unit * (1 + inverse)",
        "factor += unit * (1 - inverse)",
        MANY,
        "Laplace noise has another transform",
    ),
    Fault(
        "privacy/many.py",
        "        n >>= 1\n        if not n:",
        "        n >>= 1\n        if n < 2:",
        MANY,
        "some of several releases are left out",
    ),
    Fault(
        "privacy/fourier.py",
        "start * (slow - later * fast)",
        "start * (slow - fast)",
        ("tests/privacy/test_fourier.py",),
        "a lattice's second series starts elsewhere",
    ),
    Fault(
        "privacy/mesh.py",
        "return Fraction(self.ends()[1]) * (1 + Fraction(1, 2**42))",
        "return Fraction(self.ends()[1]) * (1 - Fraction(1, 2**42))",
        MOVED,
        "a little of the loss lies above the largest one",
    ),
    Fault(
        "privacy/mesh.py",
        "return 2.0**-51 * max(map(abs, self.ends()))",
        "return 0.0 * max(map(abs, self.ends()))",
        MOVED,
        "corners are taken for where they were not looked at",
    ),
    Fault(
        "privacy/direction.py",
        "if rate is None or (rate > law.rate and not order.above):",
        "if rate is None:",
        ("tests/privacy/test_sampled.py::test_tiny_rates_are_not_taken_for_none",),
        "what a larger rate attains is said of a tiny one",
    ),
    Fault(
        "privacy/compose.py",
        "if len(self.parts) > 1 and len(self.neighbours) > 1:",
        "if len(self.parts) > 1 and len(self.neighbours) > 2:",
        MIXED,
        "samples under different neighbours are composed",
    ),
    Fault(
        "privacy/parallel.py",
        "if known and known != {kind}:",
        "if known and not known:",
        MIXED,
        "a sample under add-remove promises something about replacing",
    ),
    Fault(
        "privacy/mesh.py",
        "otherwise = max(1 - 2 * slack, _GONE)",
        "otherwise = 1.0",
        LEFT,
        "what is left to infinite loss is taken from the finite losses",
    ),
    Fault(
        "privacy/direction.py",
        "removed = tuple((q * p + (1 - q) * r, r) for p, r in atoms)",
        "removed = tuple((q * r + (1 - q) * p, r) for p, r in atoms)",
        FINITE,
        "the sample is everybody who was not drawn",
    ),
    Fault(
        "privacy/compose.py",
        "worst = max(range(len(sides))",
        "worst = min(range(len(sides))",
        FINITE,
        "the better order counts",
    ),
    Fault(
        "privacy/compose.py",
        "worst = max((above for above, _ in orders)",
        "worst = min((above for above, _ in orders)",
        ADDING,
        "of two orders the better epsilon counts",
    ),
    Fault(
        "privacy/compose.py",
        "if high is None or all(",
        "if high is None or not all(",
        ADDING,
        "the second order is taken for the better one",
    ),
    Fault(
        "privacy/mesh.py",
        "factor = max(float(needed.max()),",
        "factor = max(float(needed.min()),",
        GUESS,
        "one corner that fits is enough from above",
    ),
    Fault(
        "privacy/mesh.py",
        "    return float(best.min())",
        "    return float(best.max())",
        GUESS,
        "one stretch that fits is enough from below",
    ),
    Fault(
        "privacy/moment.py",
        "rows, tilt = _in_rows(law.weights), float(theta) * float(law.step)",
        "rows, tilt = _in_rows(law.weights), 0.0",
        TRANSFORM,
        "a mesh is transformed without its tilt",
    ),
    Fault(
        "privacy/amplify.py",
        ".most_delta(limit, corners, slack)",
        ".most_delta(2 * limit, corners, slack)",
        NOISE,
        "the noise is for twice the epsilon",
    ),
    Fault(
        "privacy/amplify.py",
        "law, share = base, share * inner",
        "law = base",
        TWICE,
        "the rate of an earlier sample is forgotten",
    ),
    Fault(
        "privacy/sampled.py",
        "return self.rate * self.base.slack",
        "return self.rate * 0",
        SLACK,
        "a sample hides what reveals everything",
    ),
    Fault(
        "privacy/sampled.py",
        "return self.rate * self.base.delta(most)[0], self.rate * self.base.delta(least)[1]",
        "return self.rate**2 * self.base.delta(most)[0], self.rate**2 * self.base.delta(least)[1]",
        ONE,
        "the rate counts twice",
    ),
    Fault(
        "privacy/normal.py",
        "_TERMS, _PER_UNIT, _LAST = 10, 32, 40",
        "_TERMS, _PER_UNIT, _LAST = 6, 32, 40",
        NORMAL,
        "the table of tails is cut short",
    ),
    Fault(
        "privacy/steep.py",
        "return np.asarray(np.ceil(edge) - 1)",
        "return np.asarray(np.ceil(edge))",
        NORMAL,
        "a half-line of integers is one too long",
    ),
    Fault(
        "privacy/shuffle.py",
        "first, masses = _masses(self.people - 1, self.clone)",
        "first, masses = _masses(2 * self.people - 1, self.clone)",
        SHUFFLE,
        "every person hides among twice as many",
    ),
    Fault(
        "privacy/shuffle.py",
        "Fraction(float(mass)) * _excess(self.odds, x, first + int(start), SLIP)",
        "Fraction(float(mass)) * _excess(self.odds, x, first + int(start) + 1, SLIP)",
        SHUFFLE,
        "one clone is counted that is not there",
    ),
    Fault(
        "privacy/shuffle.py",
        "_excess(odds, x, first + stop - 1, -SLIP)",
        "_excess(odds, x, first + start, -SLIP)",
        SHUFFLE,
        "a block counts as if it had as few clones as its first",
    ),
    Fault(
        "privacy/crowd.py",
        "for _ in range(people - 1):",
        "for _ in range(people):",
        SHUFFLE,
        "there is one other person too many",
    ),
    Fault(
        "privacy/crowd.py",
        "for truths, law in enumerate(laws):",
        "for truths, law in [(0, laws[0]), (people - 1, laws[-1])]:",
        SHUFFLE,
        "all the others have the same value",
    ),
    Fault(
        "privacy/crowd.py",
        "laws[people - 1 - truths][::-1])",
        "laws[people - 1 - truths])",
        SHUFFLE,
        "whoever has the truth no reports yes",
    ),
    Fault(
        "mechanisms/randomized_response.py",
        "return Shuffled(self.odds, 2 * self.lie,",
        "return Shuffled(self.odds, 2 * self.truth,",
        SHUFFLE,
        "truthful reports are taken for clones",
    ),
    Fault(
        "mechanisms/heavy_hitters.py",
        "self.oracle.sample(np.where(known, place, asked.size))",
        "self.oracle.sample(np.minimum(place, asked.size))",
        HEAVY,
        "who has another beginning reports the one beside it",
    ),
    Fault(
        "mechanisms/heavy_hitters.py",
        "scale * (radius + sampling), sure",
        "scale * radius, sure",
        HEAVY,
        "estimates forget that a round is a sample",
    ),
    Fault(
        "mechanisms/heavy_hitters.py",
        "if each > least)",
        "if each >= 0)",
        HEAVY,
        "values are found that nobody has",
    ),
    Fault(
        "mechanisms/hadamard_response.py",
        "np.where(odd == lying, reports, reports ^ (rows & -rows))",
        "np.where(odd == lying, reports, reports)",
        FREQUENCY,
        "a report is a number that says nothing",
    ),
    Fault(
        "mechanisms/subset_selection.py",
        "named[kept, self.chosen - 1] = flat[kept]",
        "named[kept, 0] = flat[kept]\n        named[:, -1] = flat",
        FREQUENCY,
        "every subset contains the truth",
    ),
    Fault(
        "mechanisms/unary_encoding.py",
        "bits[np.arange(flat.size), flat] = bernoulli(self.truth, flat.size)",
        "bits[np.arange(flat.size), flat] = True",
        FREQUENCY,
        "the bit of the truth is never flipped",
    ),
    Fault(
        "mechanisms/frequency.py",
        "return min(hoeffding, bernstein) / (oracle.truth - oracle.lie)",
        "return min(hoeffding, bernstein) / 10",
        FREQUENCY,
        "the band forgets how much a report blurs",
    ),
)
"""Planted one at a time; each must fail one of the tests that it names."""
