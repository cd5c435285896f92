"""Subset sums give a secret column back unless all answers share a budget."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from tests.audit.seeded import seeded

from discreet.audit.attack.curator import coin_flips, naive
from discreet.audit.attack.reconstruction import (
    agreement,
    budgeted,
    least_squares,
    linear_program,
    questions_admitted,
    reconstruction,
    subset_sums,
)
from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric

PEOPLE, QUESTIONS = 1000, 4000


@pytest.fixture(scope="module")
def world():
    with seeded(100):
        secret, asked = coin_flips(PEOPLE), coin_flips(QUESTIONS, PEOPLE)
    return secret, asked, subset_sums(secret, asked)


def test_exact_sums_are_those_of_integer_arithmetic(world):
    secret, asked, exact = world
    assert (exact == asked.astype(np.int64) @ secret.astype(np.int64)).all()


def test_noise_well_below_the_root_of_n_leaves_almost_every_record_open(world):
    """Standard deviation 4.2 against a root of 31.6: at least 99 % of a thousand records come back."""
    secret, asked, exact = world
    with seeded(101):
        noisy = Geometric.calibrate(epsilon=Fraction(1, 3)).sample(exact)
    assert agreement(secret, least_squares(asked, noisy)) >= 0.99


def test_noise_for_each_answer_alone_leaves_every_record_open(world):
    secret, asked, exact = world
    with seeded(102):
        noisy = naive(exact)
    assert agreement(secret, least_squares(asked, noisy)) >= 0.999


def test_a_budget_of_one_for_all_answers_leaves_a_coin(world):
    """Within three standard deviations of guessing, by least squares."""
    secret, asked, exact = world
    with seeded(103):
        noisy = budgeted(exact, 1)
    variance = float(Geometric.calibrate(epsilon=Fraction(1, QUESTIONS)).variance)
    luck = 3 * sqrt(0.25 / PEOPLE)
    assert abs(agreement(secret, least_squares(asked, noisy)) - 0.5) <= luck
    assert abs(agreement(secret, least_squares(asked, noisy, variance)) - 0.5) <= luck


def test_linear_programming_recovers_what_least_squares_does_and_resists_lies():
    """A few answers that are wildly wrong do not disturb absolute values, and ruin squares."""
    with seeded(104):
        secret, asked = coin_flips(100), coin_flips(600, 100)
    exact = subset_sums(secret, asked)
    with seeded(105):
        noisy = Geometric.calibrate(epsilon=1).sample(exact)
    assert agreement(secret, linear_program(asked, noisy)) >= 0.99
    lies = noisy.copy()
    lies[::10] += 5000
    assert agreement(secret, linear_program(asked, lies)) >= 0.99
    assert agreement(secret, least_squares(asked, lies)) < 0.9


def test_linear_programming_does_no_better_than_a_coin_against_a_budget():
    with seeded(106):
        secret, asked = coin_flips(200), coin_flips(800, 200)
        noisy = budgeted(subset_sums(secret, asked), 1)
    assert abs(agreement(secret, linear_program(asked, noisy)) - 0.5) <= 3 * sqrt(0.25 / 200)


def test_the_budget_admits_as_many_questions_as_it_pays_for():
    assert questions_admitted(1, 1) == 1
    assert questions_admitted(1, Fraction(1, 7)) == 7
    assert questions_admitted(2, "0.3") == 6


def test_the_report_tells_the_whole_story():
    with seeded(107):
        report = reconstruction(people=120, questions=480, small=40)
    shares = {row[0]: float(row[2].rstrip("%")) for row in report.table}
    assert shares["raw answers"] == 100
    assert shares["naive noise"] >= 99
    assert abs(shares["discreet"] - 50) <= 300 * sqrt(0.25 / 120)
    assert "refuses the next" in report.stop
    assert {series for figure in report.figures for _, _, series in figure.points} >= {
        "raw answers",
        "discreet",
    }


def test_a_handful_of_people_is_refused():
    with pytest.raises(ParameterError, match="at least 10"):
        reconstruction(people=3)
