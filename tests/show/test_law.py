"""Pictures of laws show the laws: the drawn numbers are the mechanisms' own."""

from fractions import Fraction
from math import exp, log

import pytest

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.show import accuracy, laws, log_ratios, portrait
from discreet.show.law import log_chance, support, tail
from discreet.show.save import svg

INTEGER = [
    Geometric.calibrate(epsilon=1),
    Staircase.calibrate(epsilon=2, sensitivity=10),
    Gaussian.calibrate(epsilon=1, delta="1e-6"),
]


def drawn(chart):
    """All data rows of a chart, however deep."""
    found = []

    def walk(part):
        if isinstance(part, dict):
            data = part.get("data")
            if isinstance(data, dict) and "values" in data:
                found.extend(data["values"])
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    specification = chart.to_dict()
    for rows in specification.get("datasets", {}).values():
        found.extend(rows)
    walk(specification)
    return found


@pytest.mark.parametrize("noise", INTEGER, ids=lambda noise: type(noise).__name__)
def test_the_logarithm_drawn_is_that_of_the_exact_law(noise):
    for k in range(-12, 13):
        assert log_chance(noise, k + 5, 5) == pytest.approx(log(float(noise.pmf(k))), abs=1e-9)


@pytest.mark.parametrize("noise", INTEGER, ids=lambda noise: type(noise).__name__)
def test_the_tail_drawn_is_that_of_the_exact_law(noise):
    for r in range(0, 20, 3):
        exact = float(noise.cdf(-r - 1)) + 1 - float(noise.cdf(r))
        assert tail(noise, r) == pytest.approx(exact, rel=1e-9)


def test_truncated_laws_carry_their_atoms():
    mechanism = TruncatedGeometric.calibrate(epsilon=1, low=0, high=100)
    for report in (0, 1, 50, 99, 100):
        exact = log(float(mechanism.pmf(report, 3)))
        assert log_chance(mechanism, report, 3) == pytest.approx(exact, abs=1e-9)
    rows = drawn(laws(mechanism, (0, 1)))
    assert max(row["p"] for row in rows if row["x"] == 0) == pytest.approx(0.73106, abs=5e-6)
    law = {row["x"]: row["p"] for row in rows if row["series"] == "true answer 0"}
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)


def test_the_atoms_of_truncated_laplace_are_the_lectures():
    mechanism = TruncatedLaplace.calibrate(epsilon=1, low=0, high=100, sensitivity="0.1", step="0.001")
    assert exp(log_chance(mechanism, 0, Fraction(1, 10))) == pytest.approx(exp(-1) / 2, rel=2e-2)
    assert len(drawn(laws(mechanism, (50, 51)))) > 500


def test_the_lectures_laplace_example():
    # Sensitivity 10, epsilon 1, answers 10 and 20: the log-ratio is 1, then (30 - 2z)/10, then -1.
    noise = Laplace.calibrate(epsilon=1, sensitivity=10)
    rows = [row for row in drawn(log_ratios(noise, (10, 20), epsilon=1)) if "ratio" in row]
    for row in rows:
        expected = 1 if row["x"] <= 10 else -1 if row["x"] >= 20 else (30 - 2 * row["x"]) / 10
        assert row["ratio"] == pytest.approx(expected, abs=1e-5)
    assert exp(log_chance(noise, 10, 10)) == pytest.approx(0.05, rel=1e-5)
    assert exp(log_chance(noise, 10, 20)) == pytest.approx(0.01839, abs=5e-6)
    assert exp(log_chance(noise, 15, 10)) == pytest.approx(0.03033, abs=5e-6)


@pytest.mark.parametrize("noise", INTEGER[:2], ids=lambda noise: type(noise).__name__)
def test_no_drawn_ratio_leaves_the_lines(noise):
    step = getattr(noise, "width", 1)
    epsilon = float(noise.guarantee(step).cost)
    rows = [row for row in drawn(log_ratios(noise, (0, step), epsilon=epsilon)) if "ratio" in row]
    assert max(abs(row["ratio"]) for row in rows) == pytest.approx(epsilon, rel=1e-9)


def test_wide_laws_are_drawn_with_a_bounded_number_of_points():
    noise = Geometric.calibrate(epsilon="0.0001")
    assert len(support(noise, (0, 1))) < 400
    assert svg(laws(noise, (0, 1))).startswith("<svg")


def test_accuracy_marks_the_radius():
    noise = Geometric.calibrate(epsilon=1)
    rows = drawn(accuracy({"geometric": noise}))
    assert any(row.get("r") == noise.radius("0.05") and row.get("tail") == 0.05 for row in rows)
    assert "± 3" in svg(accuracy({"geometric": noise}))


@pytest.mark.parametrize(
    ("mechanism", "answers"),
    [
        (Geometric.calibrate(epsilon=1), (10, 11)),
        (Laplace.calibrate(epsilon=1, sensitivity=10), (10, 20)),
        (TruncatedGeometric.calibrate(epsilon=1, low=0, high=20), (10, 11)),
        (Gaussian.calibrate(epsilon=1, delta="1e-5"), (0, 1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_portraits_can_be_drawn(mechanism, answers):
    epsilon = None if isinstance(mechanism, Gaussian) else 1.0
    assert "true answer" in svg(portrait(mechanism, answers, epsilon=epsilon, title="portrait"))
