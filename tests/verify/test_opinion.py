"""Another solver may be asked the same questions; it is never needed."""

from importlib.util import find_spec

import pytest

from discreet.errors import CertificateError, ParameterError
from discreet.verify import opinion, verify

COUNT = """
Count (x : private int) : public int
  neighbours x one by 1
  ensures epsilon eps
  z := $ Geometric(1/eps, x)
  return z
"""
CERTIFICATE = verify(COUNT).certificate


@pytest.mark.skipif(find_spec("cvc5") is None, reason="cvc5 is not installed")
def test_another_solver_agrees():
    found = opinion.second_opinion(COUNT, CERTIFICATE)
    assert found.proved > 0
    assert not found.undecided


def test_without_another_solver_the_error_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(opinion, "find_spec", lambda _: None)
    with pytest.raises(ParameterError, match="cvc5"):
        opinion.second_opinion(COUNT, CERTIFICATE)


@pytest.mark.parametrize(
    ("answers", "proved", "open_"), [(("unsat",), True, False), (("unknown", ""), False, True)]
)
def test_only_a_proof_counts(monkeypatch, answers, proved, open_):
    """The solver is a stand-in here: what is tested is what is made of its answers."""
    asked = iter(answers * 100)
    monkeypatch.setattr(opinion, "find_spec", lambda _: True)
    monkeypatch.setattr(opinion, "_asked", lambda text, options: next(asked))
    found = opinion.second_opinion(COUNT, CERTIFICATE)
    assert bool(found.proved) == proved
    assert bool(found.undecided) == open_


def test_a_solver_that_disagrees_is_heard(monkeypatch):
    monkeypatch.setattr(opinion, "find_spec", lambda _: True)
    monkeypatch.setattr(opinion, "_asked", lambda text, options: "sat")
    with pytest.raises(CertificateError, match="line 5"):
        opinion.second_opinion(COUNT, CERTIFICATE)
