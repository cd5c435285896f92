"""What an answer will cost and how wrong it may be, before any data is touched.

Rule.  The price asked for is split over what a question measures, equally or by the analyst's weights (see
`split`): corners of a simplex are one thing, because they move no further together than each alone.  At pure
epsilon that is epsilon / k each.  Under a budget with delta epsilon means what the question would promise if
it were the only one, and noise is of the kind that errs less for it (see `either`): at pure epsilon, or
Gaussian, whose rho is the largest that converts to epsilon at the budget's delta, and of which k parts get
rho / k each.  So one question at the whole budget's epsilon uses up the whole budget; smaller ones add up as
their epsilons do, or, with Gaussian noise, as the squares of them.  Group keys found in the data use one
share and the question's own delta.  After the split the cost is recomputed from the mechanisms and must not
exceed what was asked.

Where an error is asked for instead of an epsilon, each kind of noise has a smallest epsilon that gets there,
and the one that takes the smaller part of the budget is quoted.

Error bars.  A column that is one measurement has that measurement's exact radius; sums, means and variances
of several have intervals of their own (see `tail` and `fieller`).  Any other column is evaluated over the box
in which its j parts lie together with the confidence asked (each at (1 - confidence) / j): an interval that
is valid whatever the data, at the price of some width.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import ParameterError, QueryError
from discreet.exact.number import Real, positive, probability, rational
from discreet.privacy.filter import ApproximateBudget, Cost
from discreet.query.check.assembly import Assembly
from discreet.query.check.measurement import Checked, Private, families, questions_of
from discreet.query.plan import given
from discreet.query.price.assembled import foreseen
from discreet.query.price.either import Terms, better, converted, portion, portions, possible
from discreet.query.price.expected import Quote, expect
from discreet.query.price.mechanism import PurePrice, charge, share_of
from discreet.query.price.sparse import FEWEST_CELLS, Sparse
from discreet.query.price.split import parts

LEAST_DELTA = Fraction(1, 10**60)
"""The least that a question may use of delta: what is smaller is lost between the costs that are added up."""

SEARCH = 40


def quote(
    checked: Checked,
    *,
    epsilon: Real | None = None,
    within: Real | None = None,
    confidence: Real = "0.95",
    conversion: Fraction | None = None,
    delta: Real = 0,
    budget: ApproximateBudget | None = None,
    questions: int | None = None,
    terms: Terms | None = None,
    count: Real | None = None,
) -> Quote:
    """Return the price and accuracy of a question at this epsilon, or at the smallest that suffices.

    `delta` is what the question itself may use to find its group keys.  Noise is at pure epsilon unless
    `conversion` says at which delta Gaussian noise is converted; with the `budget` that is to pay, and
    perhaps the number of `questions` that it was declared for, it is of the kind that serves better.  `terms`
    say what an epsilon buys where that is settled already.  With a `count` of rows that every group is
    assumed to have at least, the errors of means and variances are known beforehand too.
    """
    sure = probability(confidence, "confidence")
    slack = rational(delta, "delta")
    if 0 < slack < LEAST_DELTA:
        raise ParameterError(f"delta must be 0, or at least {float(LEAST_DELTA):g} for each question")
    if (epsilon is None) == (within is None):
        raise ParameterError(
            "give either epsilon=..., or within=... for the smallest epsilon that gets there"
        )
    rows = None if count is None else positive(count, "count")
    usual: Terms = PurePrice if conversion is None else converted(conversion)
    settled = terms or (usual if budget is None else None)
    if epsilon is not None:
        asked = positive(epsilon, "epsilon")
        kind = settled or better(checked, asked, slack, given(budget), questions)
        return _priced(checked, asked, sure, slack, kind, rows)
    wish = positive(given(within), "within")
    if budget is None or settled is not None:
        return _smallest(checked, wish, sure, slack, settled or usual, rows)
    found = [_smallest(checked, wish, sure, slack, kind, rows) for kind in possible(checked, budget)]
    return min(found, key=lambda priced: budget.share(priced.cost))


def _priced(
    checked: Checked,
    epsilon: Fraction,
    confidence: Fraction,
    delta: Fraction,
    terms: Terms,
    count: Fraction | None,
) -> Quote:
    if checked.assembly is not None:
        return _assembled(checked, checked.assembly, epsilon, confidence, delta, terms, count)
    if isinstance(checked.keys, Private) and delta <= 0:
        column = next(column.name for column in checked.keys.columns if column.values is None)
        raise QueryError(
            f"GROUP BY {column}",
            "its values are not declared, and finding them in the data needs a delta",
            f"declare values for {column} in the manifest, or give the budget a delta",
        )
    price = terms(epsilon)
    shares = tuple(
        share_of(checked, position, price.share(part), delta)
        for places, part in zip(families(checked.measurements), parts(checked), strict=True)
        for position in places
    )
    cost = charge(shares, price, delta if isinstance(checked.keys, Private) else Fraction(0))
    priced = Quote(checked, epsilon, cost.delta, confidence, shares, cost, (), count=count)
    return replace(
        priced, expected=tuple(expect(priced, output.name, output.formula) for output in checked.columns)
    )


def _assembled(
    checked: Checked,
    assembly: Assembly,
    epsilon: Fraction,
    confidence: Fraction,
    delta: Fraction,
    terms: Terms,
    count: Fraction | None,
) -> Quote:
    """Return the quote of several questions that share one price, each in proportion to what it measures."""
    finding = sum(isinstance(part.keys, Private) for part in assembly.parts)
    parts = tuple(
        _priced(part, epsilon, confidence, delta / max(finding, 1), portion(terms, share), count)
        for part, share in zip(assembly.parts, portions(assembly), strict=True)
    )
    cost = sum((part.cost for part in parts), Cost.zero)
    shares = tuple(share for part in parts for share in part.shares)
    return Quote(
        checked,
        epsilon,
        cost.delta,
        confidence,
        shares,
        cost,
        foreseen(assembly, parts, confidence),
        count=count,
        parts=parts,
    )


def _smallest(
    checked: Checked,
    within: Fraction,
    confidence: Fraction,
    delta: Fraction,
    terms: Terms,
    count: Fraction | None,
) -> Quote:
    """Return the cheapest quote whose every foreseeable column is within the wish, to one part in 2**20."""

    def reaches(epsilon: Fraction) -> bool:
        priced = _priced(checked, epsilon, confidence, delta, terms, count)
        radii = [
            expected.radius
            for expected in priced.expected
            if expected.radius is not None and expected.radius > 0
        ]
        if any(part.capping is not None for part in questions_of(checked)):
            raise QueryError(
                "within",
                "how far off an answer is depends on the people above the limit, who are counted with it",
                "ask with epsilon=..., or without rows_at_most",
            )
        if any(isinstance(share.mechanism, Sparse) for share in priced.shares):
            raise QueryError(
                "within",
                "a histogram of so many cells may be measured in blocks: errors are known with the answer",
                f"ask with epsilon=..., or for fewer than {FEWEST_CELLS} cells",
            )
        if not radii:
            raise QueryError(
                "within",
                "no output column has an error that is known beforehand",
                "say how many rows a mean is of at least, count=1000, or ask with epsilon=...",
            )
        return max(radii) <= within

    high = Fraction(1)
    for _ in range(SEARCH):
        if reaches(high):
            break
        high *= 2
    else:
        raise QueryError("within", "cannot be reached at any reasonable price", "ask for a wider interval")
    while high > Fraction(1, 2**SEARCH) and reaches(high / 2):
        high /= 2
    low = high / 2
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return _priced(checked, high, confidence, delta, terms, count)
