"""What the checker says of numbers is true of the reference engine's, at every end and beyond."""

from fractions import Fraction
from math import inf, nextafter

import pytest

from discreet.engines.reference.meaning import STRICT
from discreet.query.plan import Call, Literal, Scalar
from discreet.query.proof.function import evaluate
from discreet.query.proof.value import Value, real

ENDS = (
    -(2.0**500),
    -700.0,
    -500.0,
    -400.0,
    -360.0,
    -1.0,
    -(2.0**-501),
    0.0,
    2.0**-501,
    2.0**-500,
    0.5,
    344.0,
)
ENDS = (*ENDS, 345.0, 346.0, 2.0**499)


def leaf(low: float, high: float) -> object:
    known = real(Fraction(low), Fraction(high))
    return lambda scalar: known if scalar == Literal("x") else None


@pytest.mark.parametrize("name", ["exp", "finite", "sqrt", "ln", "floor", "ceil", "round_whole", "absolute"])
def test_intervals_hold_at_their_ends_and_between(name: str) -> None:
    scalar: Scalar = Call(name, (Literal("x"),))
    bounded = 0
    for low in ENDS:
        for high in (end for end in ENDS if end >= low):
            known: Value = evaluate(scalar, leaf(low, high))  # type: ignore[arg-type]
            if not known.bounded:
                continue
            bounded += 1
            inside = {low, high, (low + high) / 2, nextafter(low, inf) if low < high else low}
            for number in (end for end in (*inside, *ENDS) if low <= end <= high):
                found = STRICT[name](number)
                assert found is None or known.low <= Fraction(found) <= known.high, (name, low, high, number)
    assert bounded > 20
