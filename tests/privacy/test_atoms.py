"""Finite pairs: envelopes and groups in exact rational arithmetic, against enumeration."""

from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Profile
from discreet.privacy.loss import GeometricLoss

XS = [Fraction(n, 5) for n in range(0, 40, 2)] + [Fraction(n, 13) for n in range(7, 20)]


@st.composite
def channels(draw, most_inputs=4, most_outputs=4):
    """A small channel: one exact law over the outputs for each input; zeros allowed."""
    inputs, outputs = draw(st.integers(2, most_inputs)), draw(st.integers(2, most_outputs))
    rows = []
    for _ in range(inputs):
        weights = draw(st.lists(st.integers(0, 9), min_size=outputs, max_size=outputs).filter(any))
        rows.append([Fraction(weight, sum(weights)) for weight in weights])
    return rows


def _curve(row, other, x):
    """The largest P(S) - x Q(S) over all events S, by trying every one."""
    return max(
        sum(
            (p - x * q for (p, q), chosen in zip(zip(row, other, strict=True), event, strict=True) if chosen),
            Fraction(0),
        )
        for event in product((False, True), repeat=len(row))
    )


def _neighbours(rows):
    """Inputs in a line: each is a neighbour of the next."""
    return [tuple(zip(rows[i], rows[i + 1], strict=True)) for i in range(len(rows) - 1)]


@given(channels())
def test_the_envelope_is_the_exact_maximum_over_neighbours_in_both_orders(rows):
    law = Profile.of_atoms(*_neighbours(rows)).law
    for x in XS:
        exact = max(
            max(_curve(rows[i], rows[i + 1], x), _curve(rows[i + 1], rows[i], x))
            for i in range(len(rows) - 1)
        )
        assert law.hockey_stick(x) == exact


@given(channels())
def test_the_envelope_is_a_pair_of_probability_laws_without_repeated_ratios(rows):
    atoms = Profile.of_atoms(*_neighbours(rows)).law.atoms
    assert sum(p for p, _ in atoms) == sum(q for _, q in atoms) == 1
    ratios = [p / q if q else None for p, q in atoms]
    assert len(set(ratios)) == len(ratios)


@settings(max_examples=60)
@given(channels(most_inputs=4, most_outputs=3), st.integers(2, 3))
def test_groups_dominate_inputs_that_many_steps_apart(rows, size):
    law = Profile.of_atoms(*_neighbours(rows)).group(size).law
    for i in range(len(rows) - size):
        for x in XS:
            assert law.hockey_stick(x) >= _curve(rows[i], rows[i + size], x)
            assert law.hockey_stick(x) >= _curve(rows[i + size], rows[i], x)


@given(
    st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=20), st.integers(1, 4), st.integers(1, 4)
)
def test_groups_of_geometric_noise_are_exactly_longer_shifts(alpha, shift, size):
    assert GeometricLoss(alpha, shift).atoms().group(size) == GeometricLoss(alpha, shift * size).atoms()


def test_a_group_bound_without_the_iteration_is_caught():
    """The twin: multiplying epsilon but keeping delta, which the enumeration must refute."""
    rows = [
        [Fraction(9, 10), Fraction(1, 10), Fraction(0)],
        [Fraction(8, 10), Fraction(1, 10), Fraction(1, 10)],
        [Fraction(7, 10), Fraction(1, 10), Fraction(2, 10)],
    ]
    law = Profile.of_atoms(*_neighbours(rows)).law
    epsilon = law.ratio
    twin = law.hockey_stick(epsilon)
    assert _curve(rows[2], rows[0], epsilon**2) > twin
    assert law.group(2).hockey_stick(epsilon**2) >= _curve(rows[2], rows[0], epsilon**2)


def test_an_impossible_output_is_an_infinite_loss():
    law = AtomsLoss.of([("0.1", 0), ("0.9", "0.9"), (0, "0.1")])
    assert law.slack == Fraction(1, 10)
    assert law.epsilon(Fraction(1, 20))[1] is None
    assert law.epsilon(Fraction(1, 10)) == (0, 0)
