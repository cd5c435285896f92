"""The checker: believes nothing that it has not proved again, and does no searching."""

import ast
import json
from pathlib import Path

import pytest
import z3

import discreet.verify
from discreet.errors import CertificateError
from discreet.verify import check_certificate, verify
from discreet.verify.checker import scripts

FOLDER = Path(__file__).parents[2] / "examples" / "programs"
ROOM = Path(discreet.verify.__file__).parent


def proof(name):
    text = (FOLDER / f"{name}.dp").read_text()
    return text, json.loads(verify(text).certificate.to_json())


SVT = proof("svt")
MAX = proof("noisy_max_exponential")
SUM = proof("partial_sum")
COUNT = proof("geometric_count")


def tampered(original, **changes):
    data = json.loads(json.dumps(original))
    data.update(changes)
    return json.dumps(data)


def with_part(original, field, value):
    data = json.loads(json.dumps(original))
    data["parts"][0][field] = {**data["parts"][0][field], **value}
    return json.dumps(data)


def test_an_untouched_certificate_is_accepted():
    for text, data in (SVT, MAX, SUM, COUNT):
        assert check_certificate(text, json.dumps(data)).obligations > 0


def test_the_checker_imports_nothing_that_searches():
    pending, seen = ["checker"], set()
    while pending:
        module = pending.pop()
        seen.add(module)
        tree = ast.parse((ROOM / f"{module}.py").read_text())
        for node in ast.walk(tree):
            found = []
            if isinstance(node, ast.ImportFrom) and node.module == "discreet.verify":
                found = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet.verify."):
                found = [node.module.removeprefix("discreet.verify.")]
            pending += [name for name in found if name not in seen and (ROOM / f"{name}.py").exists()]
    assert not seen & {"prove", "invariant", "template", "refute", "verdict"}
    assert "product" in seen


@pytest.mark.parametrize(
    "certificate",
    [
        tampered(SVT[1], claim="epsilon eps/2"),
        tampered(SVT[1], neighbours=["q one by 1"]),
        tampered(SVT[1], program="0" * 64),
        tampered(SVT[1], format="another"),
        tampered(SVT[1], parts=[]),
        tampered(SVT[1], parts=SVT[1]["parts"] * 2),
        tampered(SVT[1], method="enumeration", parts=[]),
        tampered(SVT[1], extra=1),
        with_part(SVT[1], "moves", {"1": "0"}),
        with_part(SVT[1], "moves", {"2": "0"}),
        with_part(SVT[1], "moves", {"2": "2"}),
        with_part(SVT[1], "moves", {"7": "0"}),
        with_part(SVT[1], "moves", {"2": "nu{1} - nu{2}"}),
        with_part(SVT[1], "moves", {"2": "if tag(r) = 2 then 1 - (q{2}[i] - q{1}[i]) else 0"}),
        with_part(SVT[1], "moves", {"1": "if tag(r) = 1 then 1 else 0"}),
        with_part(SVT[1], "moves", {"1": "eta"}),
        with_part(SVT[1], "moves", {"1": "1 +"}),
        with_part(SVT[1], "variants", {"1": "N"}),
        with_part(SVT[1], "variants", {"1": "i"}),
        with_part(SVT[1], "variants", {"2": "i"}),
        with_part(SVT[1], "invariants", {"loop@1": []}),
        with_part(SVT[1], "invariants", {"loop@1": ["false"]}),
        with_part(SVT[1], "invariants", {"loop@1": ["(= 1 2"]}),
        with_part(SVT[1], "invariants", {"loop@1": ["true) (declare-const x Bool) (assert x"]}),
        with_part(SVT[1], "invariants", {"loop@9": ["true"]}),
        tampered(SVT[1], parts="all"),
        "not json",
        "[]",
    ],
)
def test_a_tampered_certificate_is_rejected(certificate):
    with pytest.raises(CertificateError):
        check_certificate(SVT[0], certificate)


def test_noise_may_not_leave_its_support():
    with pytest.raises(CertificateError):
        check_certificate(MAX[0], with_part(MAX[1], "moves", {"1": "if result(1) = i then 0 else -1"}))


def test_integer_noise_may_not_move_by_a_fraction():
    with pytest.raises(CertificateError):
        check_certificate(COUNT[0], with_part(COUNT[1], "moves", {"1": "(c{1} - c{2}) / 2"}))


def test_a_move_cannot_see_the_draw_that_it_moves():
    """z has no value before it is drawn, so a move that mentions it has no meaning."""
    with pytest.raises(CertificateError):
        check_certificate(SUM[0], with_part(SUM[1], "moves", {"1": "s{1} - s{2} + z{1} - z{2}"}))


def test_a_move_that_mentions_an_earlier_draw_speaks_of_its_old_value():
    """In the second turn eta is stale: cancelling with it would be a proof about the wrong number."""
    text = """
Stale (q : private real list) : public real list
  neighbours q all by 1
  ensures epsilon 0
  i := 0; r := []; eta := 0.0
  while i < size q
    eta := $ Laplace(1/eps)
    r := r ++ [q[i] + eta]
    i := i + 1
  return r
"""
    certificate = {
        "format": SVT[1]["format"],
        "program": __import__("hashlib").sha256(text.encode()).hexdigest(),
        "claim": "epsilon 0",
        "neighbours": ["q all by 1"],
        "method": "alignment",
        "arithmetic": "",
        "parts": [
            {
                "direction": "both",
                "moves": {"1": "eta{1} - eta{2}"},
                "variants": {"1": "size(q) - i"},
                "invariants": {
                    "loop@1": ["(>= i@1 0)", "(= |eta{1}@1| |eta{2}@1|)", "(<= |moved(1)@1| 0.0)"]
                },
            }
        ],
    }
    with pytest.raises(CertificateError, match="output"):
        check_certificate(text, json.dumps(certificate))


def test_a_certificate_does_not_carry_over_to_another_text():
    with pytest.raises(CertificateError, match="another program"):
        check_certificate(SVT[0].replace("4*N/eps", "3*N/eps"), json.dumps(SVT[1]))


def test_obligations_can_be_given_to_any_solver():
    texts = scripts(SUM[0], json.dumps(SUM[1]))
    assert len(texts) >= 5
    for text in texts:
        assert "(check-sat)" in text
        solver = z3.Solver()
        solver.from_string(text)
        assert solver.check() == z3.unsat
