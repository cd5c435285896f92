"""Formulas follow SQL's rules for NULL, and their intervals contain every value the noise allows."""

from fractions import Fraction
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.query.check.formula import (
    Constant,
    Formula,
    Key,
    NoisyTerm,
    Operation,
    evaluate,
    measured,
    span,
)


def formulas(random: Random, depth: int) -> Formula:
    if depth == 0:
        return random.choice(
            (NoisyTerm(0), NoisyTerm(1), Constant(Fraction(random.randint(-9, 9), 4)), Key(0))
        )
    one, other = formulas(random, depth - 1), formulas(random, depth - 1)
    names = (
        "add",
        "subtract",
        "multiply",
        "divide",
        "ratio",
        "absolute",
        "least",
        "greatest",
        "sqrt",
        "clamp",
    )
    name = random.choice((*names, "floor"))
    match name:
        case "absolute" | "sqrt" | "floor":
            return Operation(name, (one,))
        case "clamp":
            return Operation(name, (one, Constant(-2), Constant(3)))
        case _:
            return Operation(name, (one, other))


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_the_interval_contains_the_value_for_every_point_of_the_box(seed: int, depth: int) -> None:
    random = Random(seed)
    formula = formulas(random, depth)
    centre = [Fraction(random.randint(-20, 20), 3) for _ in range(2)]
    radius = [Fraction(random.randint(0, 9), 3) for _ in range(2)]
    spans = {n: (centre[n] - radius[n], centre[n] + radius[n]) for n in range(2)}
    low, high = span(formula, (5,), spans)
    for _ in range(12):
        point = {n: centre[n] + radius[n] * Fraction(random.randint(-8, 8), 8) for n in range(2)}
        value = evaluate(formula, (5,), point)
        if value is not None:
            assert isinstance(value, Fraction | int)
            # Square roots are rounded to 64 bits.
            assert low is None or value >= low - Fraction(1, 2**60)
            assert high is None or value <= high + Fraction(1, 2**60)


def test_null_follows_sql() -> None:
    null, true, false = Constant(None), Constant(True), Constant(False)
    assert evaluate(Operation("and", (null, false)), (), {}) is False
    assert evaluate(Operation("and", (null, true)), (), {}) is None
    assert evaluate(Operation("or", (null, true)), (), {}) is True
    assert evaluate(Operation("or", (null, false)), (), {}) is None
    assert evaluate(Operation("add", (null, Constant(1))), (), {}) is None
    assert evaluate(Operation("divide", (Constant(1), Constant(0))), (), {}) is None
    assert evaluate(Operation("ratio", (Constant(1), Constant(-3))), (), {}) is None
    assert evaluate(Operation("coalesce", (null, Constant(2))), (), {}) == 2
    assert evaluate(Operation("case", (null, Constant(1), true, Constant(2), Constant(3))), (), {}) == 2
    assert evaluate(Operation("among", (Constant("a"), Constant("a"), Constant("b"))), (), {}) is True
    assert evaluate(Operation("is_null", (null,)), (), {}) is True


def test_a_formula_names_its_measurements() -> None:
    assert measured(Operation("add", (NoisyTerm(3), Operation("ratio", (NoisyTerm(1), Key(0)))))) == {1, 3}
