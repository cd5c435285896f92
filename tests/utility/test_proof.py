"""Certificates survive being written down, and a forged text does not."""

import json

import numpy as np
import pytest

from discreet.errors import CertificateError
from discreet.utility import Loss, Prior, band, check, complete, cycle, optimal, path
from discreet.utility.proof import from_json, to_json


def loss_at_random(size):
    return Loss.of(np.random.default_rng(4).integers(0, 9, (size, size)).tolist())


@pytest.mark.parametrize(
    "best",
    [
        optimal(path(6), Prior.binomial(6), Loss.absolute(range(7)), "0.7"),
        optimal(path(5), Prior.uniform(6), loss_at_random(6), ratio=2),
        optimal(band(5, 2), Prior.uniform(6), loss_at_random(6), 1),
        optimal(cycle(5), None, Loss.circular(5), 1),
        optimal(complete("abc"), Prior.uniform(3), Loss.zero_one("abc"), 1, delta="0.05"),
    ],
    ids=["count", "searched", "flows", "worst case", "delta"],
)
def test_a_stored_proof_is_the_same_proof(best):
    text = to_json(best.certificate)
    restored = from_json(text)
    assert restored == best.certificate
    assert check(restored) == best.verdict
    # A stored proof that promises more privacy than the mechanism has is caught by the checker.
    data = json.loads(text)
    data["level"] = {"epsilon": "1/2"}
    with pytest.raises(CertificateError):
        check(from_json(json.dumps(data)))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"proof": "trust me"}', "null"])
def test_other_texts_are_not_proofs(text):
    with pytest.raises(CertificateError, match="not a stored certificate"):
        from_json(text)


def test_a_malformed_question_is_named():
    data = json.loads(to_json(optimal(path(3), Prior.uniform(4), Loss.absolute(range(4)), 1).certificate))
    data["prior"][0] = "1/2"
    with pytest.raises(CertificateError, match="sum to 1"):
        from_json(json.dumps(data))
