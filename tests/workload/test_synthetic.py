"""Made-up records: they reproduce what was released, and nothing more is asked of the data."""

import sys
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context

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


def released():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 600)
    records = np.column_stack([first, (first + rng.integers(0, 2, 600)) % 3, rng.integers(0, 2, 600)])
    plan = plan_marginals(Marginals(SIZES, ((0, 1), (1, 2))), Concentrated(Fraction(1, 2)))
    return answer_marginals(measure_marginals(plan, tabulate(records, SIZES, plan.needs)))


def apart(task):
    """Return what a task returns in a process of its own.

    The library of models starts threads, and a process that has threads should not fork, as other tests do.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(task).result()


def made_up():
    tables = released()
    made = synthesise(tables)
    fits = [(made.table(c), tables.table(c), tables.deviation(c)) for c in ((0, 1), (1, 2))]
    return made.weights, round(float(tables.centred[()])), fits, too_large()


def test_made_up_records_have_integer_weights_and_the_released_marginals_and_large_models_are_refused():
    weights, total, fits, refusal = apart(made_up)
    assert weights.dtype == np.int64
    assert weights.min() >= 1
    assert weights.sum() == total
    for made, table, deviation in fits:
        # Rounding moves a cell by a few units at most; the model itself fits within the noise.
        assert np.abs(made - table).max() <= 6 * deviation + 6
    assert "fewer attributes" in refusal


def too_large():
    synthetic.LARGEST_MODEL = 1e-9
    try:
        synthesise(released())
    except ParameterError as refusal:
        return str(refusal)


def test_without_the_optional_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ParameterError, match="synthetic"):
        synthesise(released())
