"""DP-Sniper's published bounds, reached with a fraction of its samples.

Its table used 232 million samples per input; the runs here are per input, and the slow rows are left to the
benchmark.  Coins are seeded, so a bound is the same number every time.
"""

import pytest
from benchmarks.audit import CASES, THEIRS
from tests.audit.seeded import seeded

from discreet.audit import audit

ROWS = {case.name: case for case in CASES}


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("Laplace", 4_000_000),
        ("TruncatedGeometric", 8_000_000),
        ("NoisyHist2", 100_000),
        ("RNM4", 400_000),
        ("SVT5", 50_000),
        ("SVT6", 1_500_000),
        ("PrefixSum", 300_000),
        ("OneTimeRAPPOR", 300_000),
        ("float Laplace", 5_000),
    ],
)
def test_published_bounds_are_reached_with_a_twentieth_of_the_samples(name, runs):
    case = ROWS[name]
    assert 20 * runs <= THEIRS
    with seeded(300):
        verdict = audit(
            case.subject,
            case.left,
            case.right,
            epsilon="0.1",
            runs=runs,
            confidence="0.9",
            batched=case.batched,
        )
    assert verdict.epsilon_lower >= case.published


def test_no_row_of_the_benchmark_uses_more_than_a_twentieth_of_their_samples():
    assert all(20 * case.runs <= THEIRS for case in CASES)
