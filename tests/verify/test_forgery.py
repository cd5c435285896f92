"""Forged certificates: whatever a text says, it proves nothing that is not so."""

import json
from hashlib import sha256

import pytest

from discreet.errors import CertificateError
from discreet.verify import check_certificate, parse, verify
from discreet.verify.certificate import Certificate, CertificatePart, claim_text, relations

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
NAME = "1"


def stolen(*conjuncts, move=None):
    """Return the honest sum's certificate, made out to the leak, with other invariants."""
    data = json.loads(json.dumps(PROOF))
    data["program"] = sha256(LEAK.encode()).hexdigest()
    part = data["parts"][0]
    part["moves"] = {} if move is None else {"1": move}
    part["invariants"][NAME] = [list(conjuncts)]
    return json.dumps(data)


def changed(*conjuncts):
    """Return the honest sum's certificate with other invariants."""
    data = json.loads(json.dumps(PROOF))
    data["parts"][0]["invariants"][NAME][0] += list(conjuncts)
    return json.dumps(data)


TRICKS = {
    "a recursive definition": "true) (define-fun-rec bad ((x Int)) Int (+ 1 (bad x))) (assert (>= (bad 0) 0)",
    "a definition of false": "true) (define-fun f () Bool false) (assert f",
    "an assertion of false": "true) (assert false",
    "a term of the solver": "(= 1 1)",
    "a quantifier": "(forall ((x Int)) (= x x))",
    "a quantifier in words": "forall x. x = x",
    "an application of a definition": "bad(0) >= 0",
    "a comment": "true # (",
    "another comment": "true ; (",
    "a string": '"a" = "b"',
    "a quoted name": "|true) (assert false|",
    "an unknown symbol": "x = 1",
    "a symbol of the solver": "size@1 = 1",
    "a variable of no run": "s{0} = s{1}",
    "a variable of a third run": "s{3} = s{1}",
    "a draw that is yet to come": "z{1} = z{2}",
    "an unknown site": "moved(7) <= 0",
    "an unknown list": "tag(s) = 1",
    "a list that is not there": "q{1}[0.5] = 0",
    "the place of no change": "position(s) = 0",
    "two terms": "true true",
    "two lines of terms": "true\ntrue",
    "a chain that is no conjunction": "0 < 1 < 2",
    "a number as a truth value": "1",
    "a truth value as a number": "true + 1 > 0",
    "a list as a number": "q = q",
    "a program's statement": "s := 0",
    "a draw": "$ Laplace(1) > 0",
    "a missing parenthesis": "(true",
    "an empty application": "abs()",
    "too deep": "not " * 5000 + "true",
    "deep parentheses": "(" * 5000 + "true" + ")" * 5000,
    "too long": "true and " * 200_000 + "true",
    "many terms": "true and " * 2000 + "true",
    "a huge number": "1 < " + "9" * 100_000,
    "digits of another script": "\uff11 = 1",
    "a lone surrogate": "\ud800",
    "a null character": "true\x00",
    "nothing": "",
    "false": "false",
    "a contradiction": "1 = 2",
    "a contradiction in disguise": "s{1} < s{1}",
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
    "true",
    "moved(1)",
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
        json.dumps({**PROOF, "parts": [{**PROOF["parts"][0], "direction": {"q": "up"}}]}),
        json.dumps({**PROOF, "parts": [{**PROOF["parts"][0], "waits": {"1": []}}]}),
        json.dumps({**PROOF, "parts": [{**PROOF["parts"][0], "moves": {"01": "0"}}]}),
        json.dumps({**PROOF, "laws": {"1": {"1": "1"}}}),
        json.dumps({**PROOF, "method": "enumeration"}),
        json.dumps({**PROOF, "method": "enumeration", "parts": []}),
        json.dumps({**PROOF, "claim": "epsilon eps/2"}),
        json.dumps({**PROOF, "neighbours": []}),
    ],
    ids=range(22),
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


ANSWER = """
Answer (x : private bool) : public bool
  ensures epsilon eps
  y := $ Response(eps)
  if x then
    y := not y
  return y
"""
TABLE = json.loads(verify(ANSWER).certificate.to_json())


def weights(**changes):
    """Return the table of the randomised answer with other laws."""
    data = json.loads(json.dumps(TABLE))
    for place, law in changes.items():
        data["laws"][{"no": "False, eps", "yes": "True, eps"}[place]] = law
    return json.dumps(data)


def test_an_honest_table_is_accepted():
    assert TABLE["method"] == "enumeration"
    assert check_certificate(ANSWER, json.dumps(TABLE)).obligations == 2
    half = {"True": "exp(eps) / (exp(eps) + 1)", "False": "1 / (exp(eps) + 1)"}
    assert check_certificate(ANSWER, weights(no=half))


@pytest.mark.parametrize(
    "law",
    [
        {},
        {"True": "1"},
        {"True": "1/2", "False": "1/2"},
        {"True": "exp(eps) / (1 + exp(eps))"},
        {"True": "exp(eps) / (1 + exp(eps))", "False": "1 / (2 + exp(eps))"},
        {"True": "1 / (1 + exp(eps))", "False": "exp(eps) / (1 + exp(eps))"},
        {"True": "exp(2*eps) / (1 + exp(eps))", "False": "1 / (1 + exp(eps))"},
        {"True": "exp(1) / (1 + exp(1))", "False": "1 / (1 + exp(1))"},
        {"True": "exp(eps) / (1 + exp(eps))", "False": "1 / (1 + exp(eps))", "Maybe": "0"},
        {"True": "exp(eps) / 0", "False": "1 / (1 + exp(eps))"},
        {"True": "exp(eps * eps) / (1 + exp(eps))", "False": "1 / (1 + exp(eps))"},
        {"True": "exp(x) / (1 + exp(eps))", "False": "1 / (1 + exp(eps))"},
        {"True": "exp(100000 * eps)", "False": "1 / (1 + exp(eps))"},
        {"True": "true", "False": "false"},
        {"True": "exp(eps) - 1", "False": "1"},
    ],
    ids=range(15),
)
def test_weights_must_be_those_that_the_kernel_adds_up(law):
    with pytest.raises(CertificateError):
        check_certificate(ANSWER, weights(no=law))


def test_a_table_must_have_every_input_and_no_other():
    for laws in (
        {"False, eps": TABLE["laws"]["False, eps"]},
        {**TABLE["laws"], "2, eps": TABLE["laws"]["False, eps"]},
        {"0, eps": TABLE["laws"]["False, eps"], "1, eps": TABLE["laws"]["True, eps"]},
        {key.replace("eps", "1"): law for key, law in TABLE["laws"].items()},
        {key.replace("eps", "x"): law for key, law in TABLE["laws"].items()},
        {key.replace(", ", ",  "): law for key, law in TABLE["laws"].items()},
        {f"[{key[:-5]}], eps": law for key, law in TABLE["laws"].items()},
    ):
        with pytest.raises(CertificateError):
            check_certificate(ANSWER, json.dumps({**TABLE, "laws": laws}))


GRADE = """
Grade (x : private {0..2}) : public int
  neighbours x one by 1
  ensures epsilon eps
  y := $ Response(eps)
  r := 0
  if (x > 0) = y then
    r := 1
  return r
"""


def test_a_table_is_about_the_inputs_in_their_own_words():
    honest = json.loads(verify(GRADE).certificate.to_json())
    laws = honest["laws"]
    assert check_certificate(GRADE, json.dumps(honest))
    for other in (
        {**laws, "3, eps": laws["2, eps"]},
        {key: law for key, law in laws.items() if key != "1, eps"},
        {f"{key[0]}.0, eps": law for key, law in laws.items()},
        {f"{key[0]} + 0, eps": law for key, law in laws.items()},
        {"x, eps": laws["0, eps"]},
        {"position(x), eps": laws["0, eps"]},
    ):
        with pytest.raises(CertificateError):
            check_certificate(GRADE, json.dumps({**honest, "laws": other}))


SUMS = """
Two (a : private real) (b : private real)
  neighbours a one by 1
  neighbours b one by 1
  ensures epsilon 2 delta 1 / 1000
  x := $ Laplace(1, a)
  y := $ Laplace(1, b)
  return (x, y)
"""


def test_one_way_of_counting_costs_does_not_pass_for_the_other():
    honest = json.loads(verify(SUMS).certificate.to_json())
    assert honest["method"] == "alignment"
    with pytest.raises(CertificateError, match="centres"):
        check_certificate(SUMS, json.dumps({**honest, "method": "concentration"}))
    bounds = [{**honest["parts"][0], "moves": {"1": "1", "2": "1"}}]
    for method, doubt in (("alignment", "outputs may differ"), ("concentration", "cost too much")):
        with pytest.raises(CertificateError, match=doubt):
            check_certificate(SUMS, json.dumps({**honest, "method": method, "parts": bounds}))


def test_a_table_made_out_to_a_stronger_claim_is_refused():
    cheap = ANSWER.replace("epsilon eps", "epsilon eps/2")
    data = {**TABLE, "program": sha256(cheap.encode()).hexdigest(), "claim": "epsilon eps / 2"}
    with pytest.raises(CertificateError, match="not as private"):
        check_certificate(cheap, json.dumps(data))


def test_a_plain_leak_has_no_table():
    leak = ANSWER.replace("  y := $ Response(eps)\n", "  y := false\n")
    data = {**TABLE, "program": sha256(leak.encode()).hexdigest()}
    data["laws"] = {"False, eps": {"False": "1"}, "True, eps": {"True": "1"}}
    with pytest.raises(CertificateError, match="not as private"):
        check_certificate(leak, json.dumps(data))


BESIDE = """
Beside (q : private real list) (q' : private real list) : public real
  neighbours q all by 1
  neighbours q' all by 1
  requires size(q) >= 1 and size(q') >= 1
  ensures epsilon eps
  r := 0.0
  if abs(q[0] - q'[0]) > 1 then
    r := q[0]
  return r
"""
POWER = """
Power (x : private {0,1}) : public real
  ensures epsilon 0
  p := 1.0; i := 0
  while i < 130 + 10*x
    p := p * eps
    i := i + 1
  return p
"""
PRINTED = "*\n".join(["eps"] * 129) + "*\n..."
"""What a solver prints of any power from the 129th on."""


def forged(program, **fields):
    """Return a certificate that is made out to a program, with nothing in it but what is given."""
    checked = parse(program)
    said = relations(checked.program)
    return Certificate(checked.digest, claim_text(checked.program), said, **{"method": "alignment", **fields})


def test_the_second_run_of_a_list_is_not_another_list_of_a_similar_name():
    """q' may be anything: that it is where q has gone in the second run would make its distance known."""
    with pytest.raises(CertificateError, match="the outputs may differ"):
        check_certificate(BESIDE, forged(BESIDE, parts=(CertificatePart({}, {}, {}, {}),)))


def test_outputs_that_are_printed_in_part_are_not_the_same_output():
    """eps**130 tells eps**140 apart, and with it the secret, though both are too long to be printed."""
    laws = {"0, eps": {PRINTED: "1"}, "1, eps": {PRINTED: "1"}}
    with pytest.raises(CertificateError, match="left open"):
        check_certificate(POWER, forged(POWER, method="enumeration", laws=laws))
