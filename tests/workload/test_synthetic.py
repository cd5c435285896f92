"""Made-up records: they reproduce what was released, and nothing more is asked of the data."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy.guarantee import Concentrated
from discreet.workload import (
    Marginals,
    answer_marginals,
    measure_marginals,
    plan_marginals,
    synthetic,
    tabulate,
)
from discreet.workload.synthetic import synthesise

SIZES = (4, 3, 2)


@pytest.fixture(scope="module")
def released():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 600)
    records = np.column_stack([first, (first + rng.integers(0, 2, 600)) % 3, rng.integers(0, 2, 600)])
    plan = plan_marginals(Marginals(SIZES, ((0, 1), (1, 2))), Concentrated(Fraction(1, 2)))
    return answer_marginals(measure_marginals(plan, tabulate(records, SIZES, plan.needs)))


@pytest.mark.filterwarnings("ignore")
def test_made_up_records_have_integer_weights_and_the_released_marginals(released):
    made = synthesise(released)
    assert made.weights.dtype == np.int64
    assert made.weights.min() >= 1
    assert made.weights.sum() == round(float(released.centred[()]))
    for chosen in ((0, 1), (1, 2)):
        # Rounding moves a cell by a few units at most; the model itself fits within the noise.
        assert np.abs(made.table(chosen) - released.table(chosen)).max() <= 6 * released.deviation(chosen) + 6


@pytest.mark.filterwarnings("ignore")
def test_models_too_large_are_refused_before_they_are_built(released, monkeypatch):
    monkeypatch.setattr(synthetic, "LARGEST_MODEL", 1e-9)
    with pytest.raises(ParameterError, match="fewer attributes"):
        synthesise(released)


def test_without_the_optional_package_the_message_says_what_to_install(released, monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ParameterError, match="synthetic"):
        synthesise(released)
