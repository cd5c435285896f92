"""Forged certificates: whatever a text says, it proves nothing that is not so."""

import json
from hashlib import sha256

import pytest

from discreet.errors import CertificateError
from discreet.verify import check_certificate, verify

LEAK = """
Leak (q : private real list) : public real
  neighbours q one by 1
  ensures epsilon eps
  i := 0; s := 0.0
  while i < size q
    s := s + q[i]
    i := i + 1
  return s
"""
HONEST = LEAK.replace("  return s", "  z := $ Laplace(1/eps, s)\n  return z").replace("Leak", "Sum")
PROOF = json.loads(verify(HONEST).certificate.to_json())
NAME = next(iter(PROOF["parts"][0]["invariants"]))


def stolen(*conjuncts, move=None):
    """Return the honest sum's certificate, made out to the leak, with other invariants."""
    data = json.loads(json.dumps(PROOF))
    data["program"] = sha256(LEAK.encode()).hexdigest()
    part = data["parts"][0]
    part["moves"] = {} if move is None else {"1": move}
    part["invariants"][NAME] = list(conjuncts)
    return json.dumps(data)


def changed(*conjuncts):
    """Return the honest sum's certificate with other invariants."""
    data = json.loads(json.dumps(PROOF))
    data["parts"][0]["invariants"][NAME] += list(conjuncts)
    return json.dumps(data)


TRICKS = {
    "a recursive definition": "true) (define-fun-rec bad ((x Int)) Int (+ 1 (bad x))) (assert (>= (bad 0) 0)",
    "a definition of false": "true) (define-fun f () Bool false) (assert f",
    "an assertion of false": "true) (assert false",
    "a redefined symbol": "true) (define-fun size () Int 0) (assert (= size 1)",
    "a quantifier": "(forall ((x Int)) (= x x))",
    "an existential quantifier": "(exists ((x Int)) (and (< x 0) (> x 0)))",
    "a choice of its own": "(= ((as const (Array Int Int)) 0) 1)",
    "an option": "true) (set-option :timeout 1) (assert true",
    "a command": "true) (check-sat) (assert true",
    "a comment": "true ; (",
    "a string": '(= "a" "b")',
    "a quoted parenthesis": "|true) (assert false|",
    "an unknown symbol": "(= x 1)",
    "an indexed identifier": "(= (_ bv1 8) (_ bv1 8))",
    "division by a symbol": "(= (/ 1.0 0.0) (/ 2.0 0.0))",
    "a binder that captures": "(let ((true false)) true)",
    "an application of a number": "(1 2)",
    "an empty application": "()",
    "too many parentheses": "((true))",
    "a missing parenthesis": "(and true",
    "too deep": "(not " * 5000 + "true" + ")" * 5000,
    "too long": "(and " + "true " * 200_000 + ")",
    "a huge number": "(= 1 " + "9" * 100_000 + ")",
    "digits of another script": "(= \uff11 1)",
    "a lone surrogate": "\ud800",
    "a null character": "true\x00",
    "a number as a truth value": "1",
    "nothing": "",
    "false": "false",
    "a contradiction": "(= 1 2)",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_no_invariant_makes_a_leak_private(trick):
    with pytest.raises(CertificateError):
        check_certificate(LEAK, stolen(TRICKS[trick]))


@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_is_let_through_beside_an_honest_invariant(trick):
    with pytest.raises(CertificateError):
        check_certificate(HONEST, changed(TRICKS[trick]))


MOVES = [
    "1 / 0",
    "z{1}",
    "0) (assert false",
    "(forall x. x)",
    "99" * 5000,
    "1 " * 100_000,
    "(" * 5000,
    "s{3} - s{1}",
    "bad(0)",
    "\ud800",
    "\uff11",
    "q{1}[z{1}]",
    "result(1)",
    "if true then",
    "$ Laplace(1)",
    "-" * 3000 + "1",
]


@pytest.mark.parametrize("move", MOVES, ids=range(len(MOVES)))
def test_a_senseless_move_is_refused(move):
    data = json.loads(json.dumps(PROOF))
    data["parts"][0]["moves"]["1"] = move
    with pytest.raises(CertificateError):
        check_certificate(HONEST, json.dumps(data))
    with pytest.raises(CertificateError):
        check_certificate(LEAK, stolen("true", move=move))


def test_a_field_given_twice_is_refused():
    text = json.dumps(PROOF)
    assert check_certificate(HONEST, text)
    for field in ("claim", "moves", NAME):
        twice = text.replace(f'"{field}":', f'"{field}": 0, "{field}":', 1)
        assert twice != text
        with pytest.raises(CertificateError, match="twice"):
            check_certificate(HONEST, twice)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "1" * 10_000,
        "[" * 100_000,
        '{"a":' * 100_000,
        "NaN",
        '"\\ud800"',
        json.dumps({**PROOF, "program": 7}),
        json.dumps({**PROOF, "parts": PROOF["parts"] * 2}),
        json.dumps({**PROOF, "parts": [{}]}),
        json.dumps({**PROOF, "parts": [None]}),
        json.dumps({**PROOF, "parts": [{**PROOF["parts"][0], "moves": {"1" * 5000: "0"}}]}),
        json.dumps({**PROOF, "parts": [{**PROOF["parts"][0], "moves": {"\u0661": "0"}}]}),
        json.dumps({**PROOF, "parts": [{**PROOF["parts"][0], "direction": "up"}]}),
        json.dumps({**PROOF, "method": "enumeration"}),
        json.dumps({**PROOF, "method": "enumeration", "parts": []}),
        json.dumps({**PROOF, "claim": "epsilon eps/2"}),
        json.dumps({**PROOF, "neighbours": []}),
    ],
    ids=range(18),
)
def test_a_certificate_of_another_shape_is_refused(text):
    with pytest.raises(CertificateError):
        check_certificate(HONEST, text)


def test_programs_cannot_be_swapped_under_a_certificate():
    """Each of these differs from the honest text in a way that a careless hash would not see."""
    for other in (
        LEAK,
        HONEST.replace("epsilon eps", "epsilon eps/2"),
        HONEST.replace("one by 1", "one by 2"),
        HONEST.replace("1/eps", "1/(2*eps)"),
        HONEST + "# \n",
    ):
        assert other != HONEST
        with pytest.raises(CertificateError, match="another program"):
            check_certificate(other, json.dumps(PROOF))
        data = {**PROOF, "program": sha256(other.encode()).hexdigest()}
        if other.rstrip("# \n") != HONEST.rstrip("\n"):
            with pytest.raises(CertificateError):
                check_certificate(other, json.dumps(data))
