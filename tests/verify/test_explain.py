"""Proofs are told in the words of the program."""

from discreet.verify import parse, verify
from discreet.verify.explain import proof_in_words

TOTAL = """
Total (d : private real list) : public real
  neighbours d add-remove in [0, 1]
  ensures epsilon eps
  i := 0; s := 0.0
  while i < size(d)
    s := s + d[i]
    i := i + 1
  z := $ Laplace(1/eps, s)
  return z
"""


def test_a_proof_names_its_moves_invariants_and_waits():
    told = proof_in_words(parse(TOTAL), verify(TOTAL).certificate)
    assert "Let d lack one element in the second input." in told
    assert "Let d have one element more in the second input." in told
    assert "draw 1, z (line 9): moved by" in told
    assert "Whenever the loop 1 comes round:" in told
    assert "Run 2 sits out a turn of the loop 1 when i{1} = position(d)." in told
    assert "Run 1 sits out a turn of the loop 1 when i{2} = position(d)." in told
    assert "within the claim" in told or "at most the claim: epsilon eps" in told
