"""What an answer will cost and how wrong it may be, before any data is touched.

Rule.  The price asked for is split equally over the measurements of a question.  Under a pure budget that is
epsilon / k each.  Under a budget with delta, which is kept by a zCDP filter, epsilon means what the question
would promise if it were the only one: its rho is the largest that converts to epsilon at the budget's delta,
and k measurements get rho / k each.  So one question at the whole budget's epsilon uses up the whole budget,
and many small ones add up as the squares of their epsilons do.  Group keys found in the data use one share
and the question's own delta.  After the split the cost is recomputed from the mechanisms and must not exceed
what was asked.

Error bars.  A column that is one measurement has that measurement's exact radius.  Any other column is
evaluated over the box in which all its j measurements lie together with the confidence asked (each at
(1 - confidence) / j): an interval that is valid whatever the data, at the price of some width.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import ParameterError, QueryError
from discreet.exact.number import Real, positive, probability, rational
from discreet.privacy.filter import below_grid
from discreet.privacy.zcdp import largest_rho
from discreet.query.check.measurement import Checked, Private
from discreet.query.plan import given
from discreet.query.price.expected import Quote, expect
from discreet.query.price.mechanism import Price, PurePrice, RhoPrice, charge, share_of

SEARCH = 40


def quote(
    checked: Checked,
    *,
    epsilon: Real | None = None,
    within: Real | None = None,
    confidence: Real = "0.95",
    conversion: Fraction | None = None,
    delta: Real = 0,
) -> Quote:
    """Return the price and accuracy of a question at this epsilon, or at the smallest that suffices.

    `conversion` is the delta at which a budget kept in zCDP promises its epsilon, and None for a pure one;
    `delta` is what the question itself
    may use to find its group keys.
    """
    sure = probability(confidence, "confidence")
    slack = rational(delta, "delta")
    if (epsilon is None) == (within is None):
        raise ParameterError(
            "give either epsilon=..., or within=... for the smallest epsilon that gets there"
        )
    if epsilon is not None:
        return _priced(checked, positive(epsilon, "epsilon"), sure, slack, conversion)
    return _smallest(checked, positive(given(within), "within"), sure, slack, conversion)


def _priced(
    checked: Checked, epsilon: Fraction, confidence: Fraction, delta: Fraction, conversion: Fraction | None
) -> Quote:
    if isinstance(checked.keys, Private) and delta <= 0:
        column = next(column.name for column in checked.keys.columns if column.values is None)
        raise QueryError(
            f"GROUP BY {column}",
            "its values are not declared, and finding them in the data needs a delta",
            f"declare values for {column} in the manifest, or give the budget a delta",
        )
    price: Price = (
        PurePrice(epsilon) if conversion is None else RhoPrice(below_grid(largest_rho(epsilon, conversion)))
    )
    part = price.part(len(checked.measurements))
    shares = tuple(share_of(checked, position, part, delta) for position in range(len(checked.measurements)))
    cost = charge(shares, price, delta if isinstance(checked.keys, Private) else Fraction(0))
    priced = Quote(checked, epsilon, cost.delta, confidence, shares, cost, ())
    return replace(
        priced, expected=tuple(expect(priced, output.name, output.formula) for output in checked.columns)
    )


def _smallest(
    checked: Checked, within: Fraction, confidence: Fraction, delta: Fraction, conversion: Fraction | None
) -> Quote:
    """Return the cheapest quote whose every foreseeable column is within the wish, to one part in 2**20."""

    def reaches(epsilon: Fraction) -> bool:
        priced = _priced(checked, epsilon, confidence, delta, conversion)
        radii = [
            expected.radius
            for expected in priced.expected
            if expected.radius is not None and expected.radius > 0
        ]
        if not radii:
            raise QueryError(
                "within",
                "no output column has an error that is known beforehand",
                "ask with epsilon=..., or add COUNT(*)",
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
    return _priced(checked, high, confidence, delta, conversion)
