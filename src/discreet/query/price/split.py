"""How the price of a question is split over what it measures.

Rule.  A measurement gets a part of the price in proportion to its weight: the largest weight among the
columns that use it, which is 1 unless the analyst says otherwise.  Corners of a simplex are one thing.

Theorem.  Let error i be inversely proportional to a power of its part p_i of the price (to p_i itself at
pure epsilon, to its root where rho is paid), the same power for all.  Among parts of sum 1, those in
proportion to weights w_i minimise the product of the errors, each to the power w_i.
Proof.  Its logarithm is, up to a constant and a positive factor, -sum w_i ln p_i.  With q_i = w_i / W and W
the sum of weights, that is W (sum q_i ln (q_i / p_i) - sum q_i ln q_i); the first sum is a relative
entropy, which is at least 0 and 0 only where p = q.

So weights are about relative errors: whatever the units of a sum, weight 3 makes it as exact as three times
the part can.  Equal weights have the least product of errors.  The weights are given with the question and
do not depend on data, and the whole is charged as before.
"""

from fractions import Fraction

from discreet.query.check.formula import measured
from discreet.query.check.measurement import Checked, families

ONE = Fraction(1)


def parts(checked: Checked) -> tuple[Fraction, ...]:
    """Return the part of the price of each family of measurements, in their order; they sum to one."""
    weights = checked.weights or (ONE,) * len(checked.columns)
    used = [measured(output.formula) for output in checked.columns]
    found = []
    for places in families(checked.measurements):
        own = [weight for weight, of in zip(weights, used, strict=True) if not of.isdisjoint(places)]
        found.append(max(own, default=ONE))
    total = sum(found, Fraction(0))
    return tuple(weight / total for weight in found)
