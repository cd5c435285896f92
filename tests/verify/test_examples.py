"""Every example program gets the verdict its first line states, and every proof convinces the checker."""

from fractions import Fraction
from functools import cache
from math import exp, log
from pathlib import Path

import pytest

from discreet.verify import Proved, Refuted, Unknown, check_certificate, same_law, verify
from discreet.verify.certificate import Certificate
from discreet.verify.check import parse
from discreet.verify.explain import counterexample_in_words, proof_in_words

FOLDER = Path(__file__).parents[2] / "examples" / "programs"
PROGRAMS = sorted(FOLDER.glob("*.dp"))
MUST_PROVE = {
    "adaptive_svt",
    "dummy_sum_a",
    "dummy_sum_b",
    "exponential_mechanism",
    "gap_svt",
    "histogram",
    "lap_added",
    "lap_centred",
    "mean",
    "noisy_max",
    "noisy_max_exponential",
    "noisy_max_monotone",
    "num_svt",
    "one_time_pad",
    "partial_sum",
    "prefix_sum",
    "randomized_response",
    "smart_sum",
    "svt",
    "svt_monotone",
    "svt_resample",
}
MUST_REFUTE = {
    "bad_gap_svt",
    "bad_histogram",
    "bad_partial_sum",
    "bad_smart_sum",
    "dummy_sum_a_cheap",
    "mean_without_noise",
    "noisy_max_half_noise",
    "noisy_max_value_exponential",
    "svt_releasing_answers",
    "svt_too_little_noise",
    "svt_without_cutoff",
    "svt_without_query_noise",
}


def stated(path):
    return path.read_text().splitlines()[0].removeprefix("# verdict: ")


def test_the_headers_state_what_must_be_shown():
    verdicts = {path.stem: stated(path) for path in PROGRAMS}
    assert {name for name, verdict in verdicts.items() if verdict == "proved"} >= MUST_PROVE
    assert {name for name, verdict in verdicts.items() if verdict == "refuted"} >= MUST_REFUTE


SLOW = {
    "adaptive_svt",
    "bad_gap_svt",
    "count_add_remove",
    "dummy_sum_a",
    "dummy_sum_b",
    "gaussian_histogram",
    "noisy_max_exponential",
    "noisy_max_monotone",
    "noisy_max_value",
    "num_svt",
    "prefix_sum",
    "prefix_sum_all",
    "rounds",
    "scale_mentions_data",
    "smart_sum",
    "sum_add_remove",
    "svt_monotone",
    "svt_releasing_answers",
    "svt_resample",
    "svt_resample_always",
    "svt_without_cutoff",
    "two_releases",
}
"""Their refutations or proofs take seconds: they run in `make fuzz`, as does the corpus that is marked so."""


def parameters():
    for path in PROGRAMS:
        yield pytest.param(path, id=path.stem, marks=[pytest.mark.fuzz] if path.stem in SLOW else [])


@cache
def verdict_of(path):
    """Each program is decided once, whatever is then asked about its verdict."""
    return verify(path, seconds=1 if stated(path) == "unknown" else 30)


@pytest.mark.parametrize("path", list(parameters()))
def test_the_verdict_is_the_stated_one(path):
    verdict = verdict_of(path)
    text = path.read_text()
    match verdict:
        case Proved(certificate):
            assert stated(path) == "proved"
            again = Certificate.from_json(certificate.to_json())
            assert again == certificate
            assert check_certificate(text, again).claim == certificate.claim
            told = proof_in_words(parse(text), certificate)
            assert certificate.claim in told
            assert "draw 1" in told or certificate.method == "enumeration"
        case Refuted(witness):
            assert stated(path) == "refuted"
            assert witness.method == "exact"
            low, high = witness.first_probability[0], witness.second_probability[1]
            assert 0 <= witness.second_probability[0] <= high <= 1
            assert float(low) > exp(witness.epsilon) * float(high) + float(witness.delta)
            assert "probability" in counterexample_in_words(witness)
        case Unknown(reason):
            assert stated(path) == "unknown"
            assert reason


def test_the_reasons_for_unknown_are_precise():
    names = ("never_ends", "scale_mentions_data")
    reasons = {name: verdict_of(FOLDER / f"{name}.dp") for name in names}
    assert reasons["never_ends"].reason.startswith("line 10, column 3: no bound on the number of turns")
    assert "the scale of Laplace depends on the private data" in reasons["scale_mentions_data"].reason


def test_the_two_laplace_programs_have_the_same_law():
    texts = [(FOLDER / f"lap_{kind}.dp").read_text() for kind in ("added", "centred")]
    assert type(same_law(*texts)).__name__ == "Equal"


def test_known_losses_are_reproduced_exactly():
    """Index 1 wins with probability 1/2 for q = (0, 0), and exp(-2) for (1, -1), at scale 1."""
    witness = verdict_of(FOLDER / "noisy_max_half_noise.dp").witness
    assert witness.first_probability == (Fraction(1, 2), Fraction(1, 2))
    assert abs(float(witness.second_probability[0]) - exp(-2)) < 1e-12
    assert abs(witness.loss - log(exp(2) / 2)) < 1e-12
