"""Keys found by weights: how far one person moves the weights of all keys.

Theorem.  A person in m <= g keys adds w_m = floor(W / sqrt(m)) to each of them.  So one key moves by at most
w_1 = W, all of them by at most the largest m w_m in l1, and by m w_m**2 <= W**2 in l2 squared, however many
they are.  Where a person is replaced, l1 and the number of keys double, and so do the squares, because
nothing is negative; one key moves by no more than before.  What that promises is in `mechanisms.key_weight`.

Where most people are in few groups and some in many this finds more keys than counts do, for which everybody
pays as if they were in g; where all are in few it finds fewer.  Which of them it is depends on the data, so
whoever asks says it; nothing is looked up.  A weight is no count: counts beside it are measured apart.
"""

from fractions import Fraction

from discreet.errors import QueryError
from discreet.mechanisms.key_weight import MOST_GROUPS, squares, weights
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.contribution import Contribution
from discreet.query.check.measurement import WEIGHT, Fixed, Measurement, Sort
from discreet.query.plan import Scalar

CLAUSE = "weighted_keys"
WEIGHED = "keys are found by weights: whoever is in m groups counts for 1/sqrt(m) in each, to find keys only"


def key_weights(limits: Contribution, unit: Scalar) -> Measurement:
    """Return the weights that find keys, of people who are in so many of them at most."""
    groups, near = limits.total, limits.adjacency
    if groups > MOST_GROUPS:
        raise QueryError(
            CLAUSE, f"is for people in at most {MOST_GROUPS} groups", "pass groups_per_unit=100, or fewer"
        )
    times = 1 if near is Adjacency.ADD_REMOVE else 2
    reach = max(number * weight for number, weight in enumerate(weights(WEIGHT, groups), 1))
    moves = Sensitivity(
        Fraction(times * reach), Fraction(squares(WEIGHT, near)), Fraction(WEIGHT), times * groups
    )
    fixed = Fixed(unit, present=True)
    return Measurement("weight per key", Sort.KEY_WEIGHTS, moves, WEIGHT, Fraction(0), Fraction(1), fixed)


def most_groups(measurement: Measurement, adjacency: Adjacency) -> int:
    """Return in how many keys a person is at most."""
    touched = measurement.sensitivity.l0 or 1
    return touched if adjacency is Adjacency.ADD_REMOVE else touched // 2
