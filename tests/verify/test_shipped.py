"""Every mechanism that the library ships: its program is proved, or the law of the class itself is decided.

A program is the mechanism in the verifier's language, with the noise that the class draws or, where the
language has only its continuous form, that one.  Other laws are taken from the class and decided exactly;
what lies outside a window is merged, which is post-processing.
"""

from fractions import Fraction
from importlib import import_module
from itertools import product
from pkgutil import iter_modules

import pytest

import discreet
import discreet.mechanisms
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.threshold import NoisyThreshold, Threshold
from discreet.verify import Proved, is_private, verify

SCORES = "(u : private int list); neighbours u {how}; requires size(u) >= 1"
MAXIMUM = [
    "i := 0; best := 0; m := 0",
    "while i < size u",
    "  z := $ {law}({scale}/eps)",
    "  if i = 0 or u[i] + z > m then",
    "    m := u[i] + z",
    "    best := i",
    "  i := i + 1",
    "return best",
]
PROGRAMS = {
    "Laplace": ("(x : private real); neighbours x one by 1", ["z := $ Laplace(1/eps, x)", "return z"]),
    "TruncatedLaplace": (
        "(x : private real) (low : public real) (high : public real); neighbours x one by 1",
        ["z := $ Laplace(1/eps, x)", "return max(low, min(high, z))"],
    ),
    "Geometric": ("(x : private int); neighbours x one by 1", ["z := $ Geometric(1/eps, x)", "return z"]),
    "TruncatedGeometric": (
        "(x : private int) (low : public int) (high : public int); neighbours x one by 1",
        ["z := $ Geometric(1/eps, x)", "return max(low, min(high, z))"],
    ),
    "Gaussian": (
        "(x : private int) (s : public int); neighbours x one by 1; requires s > 0",
        ["z := $ DiscreteGaussian(s, x)", "return z"],
        "rho 1/(2*s*s)",
    ),
    "RandomizedResponse": (
        "(x : private {0,1})",
        ["b := $ Response(eps)", "y := x", "if not b then", "  y := 1 - x", "return y"],
    ),
    "Exponential": (SCORES.format(how="all by 1"), ["j := $ ExpMech(eps/2, u)", "return j"]),
    "Quantile": (
        SCORES.format(how="all by B") + "; requires B > 0",
        ["j := $ ExpMech(eps/(2*B), u)", "return j"],
    ),
    "Revenue": (
        SCORES.format(how="monotone by B") + "; requires B > 0",
        ["j := $ ExpMech(eps/B, u)", "return j"],
    ),
    "NoisyMax": (
        SCORES.format(how="all by 1"),
        [line.format(law="Geometric", scale=2) for line in MAXIMUM],
    ),
    # The same law as permute-and-flip: the largest sum of score and exponential noise.
    "PermuteAndFlip": (
        SCORES.format(how="all by 1").replace("int list", "real list"),
        [line.format(law="Exponential", scale=2).replace("m := 0", "m := 0.0") for line in MAXIMUM],
    ),
    "SparseVector": (
        "(q : private real list) (N : public int) (T : public real); neighbours q all by 1; requires N >= 1",
        [
            "eta := $ Exponential(2/eps)",
            "count := 0; i := 0; r := []",
            "while i < size q and count < N",
            "  nu := $ Exponential(4*N/eps)",
            "  if q[i] + nu >= T + eta then",
            "    r := r ++ [q[i] + nu - T - eta]",
            "    count := count + 1",
            "  else",
            "    r := r ++ [-1]",
            "  i := i + 1",
            "return r",
        ],
    ),
    # Noise on each item followed by running sums.
    "KNorm": (
        "(q : private int list); neighbours q one by 1",
        [
            "i := 0; next := 0; r := []",
            "while i < size q",
            "  z := $ Geometric(1/eps)",
            "  next := next + q[i] + z",
            "  r := r ++ [next]",
            "  i := i + 1",
            "return r",
        ],
    ),
}
DECIDED = {"KNorm", "KeyCount", "NoisyThreshold", "Staircase", "Threshold", "TruncatedGaussian"}
"""Laws of the classes themselves, decided below."""
ELSEWHERE = {"Table", "TruncatedGeometric", "Exponential", "PermuteAndFlip", "RandomizedResponse"}
"""Laws of the classes themselves, decided in test_mechanisms.py."""
LOCAL = {"HadamardResponse", "SubsetSelection", "UnaryEncoding"}
"""Reports of one value of a few, whose laws are compared one by one in mechanisms/test_frequency.py."""
FINITE = {"KeyGaussian", "KeyWeight", "TruncatedGaussian"}
"""Their laws always have slack, and are compared outcome by outcome in files of their own in theorems/."""
HELPERS = {
    "Levels",
    "fitness",
    "optimum",
    "Frequencies",
    "frequencies",
    "HeavyHitters",
    "frequency_oracle",
    "frequency_oracles",
}
"""No mechanisms: candidates and scores for the exponential mechanism, and what becomes of local reports."""


def test_every_mechanism_at_the_door_is_covered():
    shipped = {name for name, home in discreet._WHERE.items() if home.startswith("discreet.mechanisms.")}
    for module in iter_modules(discreet.mechanisms.__path__, "discreet.mechanisms."):
        own = vars(import_module(module.name)).items()
        shipped |= {n for n, kind in own if isinstance(kind, type) and hasattr(kind, "guarantee")}
    assert shipped - HELPERS - {"IntegerNoise"} == PROGRAMS.keys() | DECIDED | ELSEWHERE | LOCAL | FINITE


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_of_a_mechanism_is_proved(name):
    header, body, *claim = PROGRAMS[name]
    head, *clauses = header.split("; ")
    promise = f"ensures {claim[0] if claim else 'epsilon eps'}"
    text = "\n".join([f"P {head}", *(f"  {line}" for line in (*clauses, promise, *body))]) + "\n"
    verdict = verify(text)
    assert isinstance(verdict, Proved), verdict
    halved = text.replace("ensures epsilon eps", "ensures epsilon eps/2").replace("rho 1/(2*s", "rho 1/(4*s")
    assert halved != text
    assert not isinstance(verify(halved, seconds=0.5), Proved)


def test_the_staircase_is_as_private_as_it_says():
    mechanism = Staircase.calibrate(epsilon="0.7", sensitivity=3)
    low, high = -9, 12
    table = {}
    for x in range(4):
        inner = {z: mechanism.pmf(z - x) for z in range(low + 1, high)}
        table[x] = {**inner, low: mechanism.cdf(low - x), high: 1 - mechanism.cdf(high - 1 - x)}
    epsilon = mechanism.guarantee().epsilon().high
    pairs = [(a, b) for a in table for b in table if a < b]
    assert is_private(table, pairs, epsilon)
    assert not is_private(table, pairs, epsilon * Fraction(999, 1000))


def test_lattice_noise_with_a_cube_for_its_ball_is_as_private_as_it_says():
    mechanism = KNorm.calibrate(epsilon="0.7", dimension=2, ball="linf")
    moves = [(0, 0), (1, 0), (0, 1), (1, 1), (1, -1)]
    window = list(product(range(-3, 5), repeat=2))
    table = {}
    for x, y in moves:
        law = {(a, b): mechanism.pmf((a - x, b - y)) for a, b in window}
        table[x, y] = {**law, "elsewhere": 1 - sum(law.values())}
    epsilon = mechanism.guarantee().epsilon().high
    pairs = [((0, 0), move) for move in moves[1:]]
    assert is_private(table, pairs, epsilon)
    assert not is_private(table, pairs, epsilon * Fraction(999, 1000))


def test_noise_within_a_bound_is_as_private_as_it_says():
    mechanism = discreet.TruncatedGaussian(Fraction(4), 7)
    table = {x: {k: mechanism.pmf(k - x) for k in range(x - 7, x + 8)} for x in range(3)}
    assert all(sum(law.values()) == 1 for law in table.values())
    pairs = [(0, 1), (1, 2)]
    delta = mechanism.profile(1).delta(Fraction(1)).high
    assert is_private(table, pairs, Fraction(1), delta)
    assert not is_private(table, pairs, Fraction(1), delta * Fraction(99, 100))


def test_the_selection_of_groups_is_as_private_as_it_says():
    mechanism = Threshold.calibrate(epsilon="0.7", delta="0.01")
    counts = range(mechanism.certain + 2)
    table = {n: {"kept": mechanism.keep(n), "not": 1 - mechanism.keep(n)} for n in counts}
    promise = mechanism.guarantee()
    pairs = [(n, n + 1) for n in counts[:-1]]
    assert is_private(table, pairs, promise.epsilon(promise.slack).high, promise.slack)
    assert not is_private(table, pairs, promise.epsilon(promise.slack).high, promise.slack / 2)


def test_groups_with_noisy_counts_are_as_private_as_they_say():
    mechanism = NoisyThreshold.calibrate(epsilon="0.7", delta="0.01")
    noise, top = discreet.Geometric(mechanism.alpha), mechanism.threshold + 8
    table = {0: {"hidden": Fraction(1)}}
    for n in range(1, mechanism.threshold + 4):
        shown = {z: noise.pmf(z - n) for z in range(mechanism.threshold, top)}
        table[n] = {**shown, top: 1 - noise.cdf(top - 1 - n), "hidden": 1 - mechanism.keep(n)}
        assert sum(table[n].values()) == 1
    promise = mechanism.guarantee()
    pairs = [(n, n + 1) for n in range(len(table) - 1)]
    assert is_private(table, pairs, promise.epsilon(promise.slack).high, promise.slack)
    assert not is_private(table, pairs, promise.epsilon(promise.slack).high, promise.slack / 2)


def test_groups_shown_with_the_count_of_their_selection_are_as_private_as_they_say():
    mechanism = KeyCount.calibrate(epsilon="0.7", delta="0.01")
    table = {}
    for n in range(4 * mechanism.threshold):
        law = {n + k: mechanism.pmf(k) for k in range(-4 * mechanism.threshold, mechanism.threshold)}
        shown = {count: p for count, p in law.items() if count >= mechanism.threshold and p}
        table[n] = {**shown, "hidden": 1 - sum(shown.values())}
        assert table[n]["hidden"] == 1 - mechanism.keep(n)
    promise = mechanism.guarantee()
    pairs = [(n, n + 1) for n in range(len(table) - 1)]
    assert is_private(table, pairs, promise.epsilon(promise.slack).high, promise.slack)
    assert not is_private(table, pairs, promise.epsilon(promise.slack).high, promise.slack / 2)
