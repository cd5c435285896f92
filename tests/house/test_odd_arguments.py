"""Every public constructor and method of the exact core, asked with odd arguments: an answer or a refusal.

Arguments are mostly sensible and now and then odd, so that odd ones reach deep; what is made is printed,
composed and asked further.  Anything raised must be a DiscreetError.
"""

import inspect
import os
import random
import signal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.privacy.sensitivity import prefix_sums

HUGE, TINY = Fraction(10**400), Fraction(1, 10**400)
NUMBERS = [
    0, 1, -1, 2, 3, 7, 10, 100, 2**31, 2**62, 2**63, 2**64 + 1, 2**80, -(2**70), 10**400, 1 << 9000,
    0.0, 0.5, 1.0, -0.5, 1e-9, 1e-300, 5e-324, 1e300, float("nan"), float("inf"), -0.0, 3.0000000001,
    "1", "1/2", "1e-6", "1e-400", "1e400", "1e100000000", "1e-100000000", "abc", "", " 1 ", "-1", "1/0", "½",
    Fraction(1, 3), Fraction(2, 3), 1 - TINY, TINY, HUGE, Fraction(1, 2**600), 1 - Fraction(1, 2**40),
    Decimal("0.1"), Decimal("1e-500"), Decimal("1e999999"), Decimal("NaN"), Decimal("Infinity"), True, False,
    None, 1j, b"1", [], [1], (), {}, object(), np.float32(0.1), np.int8(-1), np.uint64(2**63), np.bool_(True),
    np.array(1.9), np.array([2]), np.array(3), np.longdouble("0.1"), np.float64("nan"), np.datetime64(3, "s"),
]  # fmt: skip
LISTS = [
    [], [0], [1, 2], [3, 3, 3], [0, 10**30], [2**63, -(2**63)], [10**400, 0], [1.5, 2], ["a"], [None], [True],
    np.array([1, 2, 3]), np.array([], dtype=np.int64), np.array([2**63], dtype=np.uint64), np.array([1.5]),
    np.array([[1, 2], [3, 4]]), np.array([1, 10**30], dtype=object), np.array([np.nan, 1.0]), np.array(7),
    np.array([1e308, -1e308]), np.array(["x"]), np.array([1j]), [Fraction(1, 2)], "12", 5, None, range(4),
]  # fmt: skip
SENSIBLE = {
    "epsilon": ["0.5", 1, 3], "delta": ["1e-6", "1e-3"], "rho": ["1/8"], "sensitivity": [1, 2, "3/2"],
    "beta": ["0.05"], "alpha": ["1/2", "9/10"], "odds": [2, "11/10"], "categories": [2, 5],
    "questions": [1, 4],
    "groups": [1, 3], "low": [0, -3], "high": [5, 40], "step": [1, "1/4"], "dimension": [1, 2, 3],
    "answers": [1, 2], "width": [1, 4], "inner": [1, 2], "threshold": [5], "sigma_squared": [1, 100],
    "candidates": [1, 5], "size": [1, 3], "k": [0, 1, -2, 5], "report": [0, 3], "answer": [0, 2],
    "truth": [0, 1], "bound": [2, 20],
    "count": [0, 1, 9], "scores": [[1, 2, 3], [5]], "values": [[1, 2], 3], "counts": [[1, 0, 5]],
    "ball": ["l1", "linf"],
    "within": ["0.1"], "monotone": [True, False], "two_sided": [True, False], "coordinate": [0],
    "loss": ["absolute"],
    "order": [2, 10], "unit": [1], "cap": [50], "quantile": ["1/2"], "offset": [0], "slack": [0, "1e-9"],
    "cost": ["0.1", 1], "threshold_alpha": ["1/2"], "query_alpha": ["2/3"], "value_alpha": [None, "1/2"],
    "margin": [0, 4], "thresholds": [0], "above": [[True]], "rows": [[["1/2", "1/2"], ["1/4", "3/4"]]],
    "ratio": [2], "steps": [1, 2], "x": [0, 1.5], "m": [1, 3], "image": [None], "noise": [[0, 1]],
    "move": [[1, 0]],
    "share": ["1/2"], "l1": [2], "l2_squared": [2], "linf": [1], "l0": [2], "each": [1], "coordinates": [2],
    "inputs": [None], "outputs": [None], "neighbours": [None], "spent": [dp.Cost.zero],
    "adjacency": list(dp.Adjacency), "records": [1, 3], "buyers": [1, 3],
}  # fmt: skip

CLASSES = [
    dp.Geometric, dp.Laplace, dp.TruncatedGeometric, dp.TruncatedLaplace, dp.Gaussian, dp.Staircase,
    dp.Exponential, dp.PermuteAndFlip, dp.NoisyMax, dp.RandomizedResponse, dp.SparseVector, dp.Threshold,
    dp.NoisyThreshold, dp.KNorm, dp.Table, dp.Quantile, dp.Revenue, dp.Pure, dp.Approximate, dp.Concentrated,
    dp.UnaryEncoding, dp.HadamardResponse, dp.SubsetSelection, dp.TruncatedGaussian,
    dp.Cost, dp.PureBudget, dp.ApproximateBudget, dp.Odometer, dp.Sensitivity,
]  # fmt: skip
SKIPPED = {"then", "from_noise", "from_law", "to_json", "density", "distribution", "zero", "round", "floats"}
"""What takes functions or mechanisms, or says in its name that it is a float for pictures."""


def odd(name, dice):
    """A sensible argument for this parameter most of the time, and an odd one otherwise."""
    if dice.random() < 0.72 and name in SENSIBLE:
        return dice.choice(SENSIBLE[name])
    return dice.choice(LISTS if name in LISTED or dice.random() < 0.1 else NUMBERS)


LISTED = {"scores", "values", "counts", "rows", "above", "noise", "move", "image", "positions", "valuations"}


def arguments(call, dice):
    given = {}
    for name, parameter in inspect.signature(call).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL or name == "self":
            continue
        if parameter.default is parameter.empty or dice.random() < 0.5:
            given[name] = odd(name, dice)
    return given


def methods(value):
    for name in dir(type(value)):
        if name.startswith("_") or name in SKIPPED:
            continue
        yield name, not callable(getattr(type(value), name))


def short(value):
    """A value in words, even where its own words fail: that they do is another test's finding."""
    try:
        return repr(value)[:200]
    except Exception as error:
        return f"a {type(value).__name__} ({type(error).__name__})"


def calls(dice, count, ask):
    """Make so many calls, each through `ask`, which watches what comes out."""
    made = 0
    while made < count:
        kind = dice.choice(CLASSES)
        named = [getattr(kind, name) for name in ("calibrate", "of", "spread") if hasattr(kind, name)]
        maker = dice.choice([kind, *named])
        value = ask(maker, arguments(maker, dice), "")
        made += 1
        if not isinstance(value, kind):
            continue
        ask(lambda value=value: (str(value), repr(value)), {}, f"printing a {kind.__name__}")
        if hasattr(value, "guarantee"):
            ask(lambda value=value: dp.compose([(value, 3)]).epsilon("1e-6"), {}, f"composing {short(value)}")
        for name, plain in dice.sample(sorted(methods(value)), min(4, len(list(methods(value))))):
            if plain:
                ask(lambda value=value, name=name: getattr(value, name), {}, f"{short(value)}.{name}")
            else:
                call = getattr(value, name)
                ask(call, arguments(call, dice), f"{short(value)}.{name}")
            made += 1


def watched(call, given, what):
    try:
        return call(**given)
    except dp.DiscreetError:
        return None
    except RecursionError:
        raise
    except Exception as error:
        shown = {name: repr(each)[:80] for name, each in given.items()} if given else ""
        raise AssertionError(f"{what or call} {shown} raised {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("seed", range(4))
def test_odd_arguments_are_answered_or_refused(seed):
    calls(random.Random(seed), 120, watched)


LONG = Fraction(10**5000, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dp.RandomizedResponse.calibrate(epsilon=20000),
        lambda: dp.UnaryEncoding.calibrate(epsilon=20000, categories=3),
        lambda: dp.Laplace.calibrate(epsilon=LONG),
        lambda: dp.RandomizedResponse(LONG),
        lambda: dp.Pure(LONG),
        lambda: dp.Approximate(LONG, 0),
        lambda: dp.Sensitivity.of(LONG),
    ],
)
def test_numbers_too_long_to_be_written_are_named_when_printed(make):
    assert "a number of thousands of digits" in repr(make())
    assert str(make())


def test_whole_numbers_may_be_written_as_text_wherever_they_are_asked_for():
    bits = dp.UnaryEncoding.calibrate(epsilon=1, categories=3)
    assert bits.pmf("1", [0, 1, 0]) == bits.pmf(1, [0, 1, 0]) > bits.pmf(0, [0, 1, 0])
    table = dp.Table((0, 1), (0, 1), [["1/2", "1/2"], ["1/4", "3/4"]])
    assert list(table.pairs("1")) == list(table.pairs(1))
    assert prefix_sums("3", dp.Adjacency.REPLACE) == prefix_sums(3, dp.Adjacency.REPLACE)


def test_the_size_of_a_grid_may_be_written_in_any_way():
    median = dp.Quantile("1/2")
    for size in ("1e30", "7"):
        levels = median.levels([1, 2], [3, 4], size)
        assert int(levels.starts[-1] + levels.sizes[-1]) == int(Fraction(size))


def test_a_value_prints_as_it_would_be_built_again():
    noise = dp.Geometric.calibrate(epsilon=1, sensitivity=3)
    names = {"Geometric": dp.Geometric, "Fraction": Fraction, "Sensitivity": dp.Sensitivity}
    assert eval(repr(noise), names) == noise  # noqa: S307


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dp.UnaryEncoding.calibrate(epsilon=1, categories=2**60), "categories must lie between"),
        (lambda: dp.UnaryEncoding.calibrate(epsilon=1, categories=2**20).sample([0] * 2000), "at a time"),
        (lambda: dp.RandomizedResponse(2, categories=2**63).supports([]), "not written out"),
        (lambda: dp.NoisyMax(Fraction(1, 2), two_sided=True).shortfall("1e-1000", candidates=5), "one-sided"),
        (lambda: dp.NoisyMax(Fraction(1, 2), two_sided=True).shortfall(candidates=1e300), "one-sided"),
        (lambda: dp.Cost(3, 1, 0, 100), "Renyi curve"),
        (lambda: dp.SparseVector.calibrate(epsilon=1, answers=10**400), "a larger epsilon"),
    ],
)
def test_what_would_be_too_large_is_refused_at_once(call, words):
    with pytest.raises(dp.ParameterError, match=words):
        call()


class SlowError(BaseException):
    """A call took longer than anybody waits."""


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_odd_arguments_are_answered_or_refused_soon(part):
    seconds = float(os.environ.get("FUZZ_SECONDS", "1"))

    def alarmed(*_):
        raise SlowError

    def timed(call, given, what):
        # Processor time: a busy machine makes nothing hang.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            return watched(call, given, what)
        except SlowError:
            shown = {name: repr(each)[:80] for name, each in given.items()}
            raise AssertionError(f"{what or call} {shown} took more than {seconds} seconds") from None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    before = signal.signal(signal.SIGPROF, alarmed)
    try:
        calls(random.Random(f"odd {part} {os.environ.get('FUZZ_SEED', '')}"), 10_000, timed)
    finally:
        signal.signal(signal.SIGPROF, before)
