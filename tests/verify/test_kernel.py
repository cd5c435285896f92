"""The kernel: believes nothing that it has not derived and proved itself, and does no searching."""

import ast
import json
import sys
from functools import cache
from pathlib import Path

import pytest
import z3

import discreet.verify
from discreet.errors import CertificateError
from discreet.verify import check_certificate, verify
from discreet.verify.acceptance import scripts

FOLDER = Path(__file__).parents[2] / "examples" / "programs"
ROOM = Path(discreet.verify.__file__).parent


@cache
def proof(name):
    text = (FOLDER / f"{name}.dp").read_text()
    return text, json.loads(verify(text).certificate.to_json())


def tampered(original, **changes):
    data = json.loads(json.dumps(original))
    data.update(changes)
    return json.dumps(data)


def with_part(original, field, value):
    data = json.loads(json.dumps(original))
    data["parts"][0][field] = {**data["parts"][0][field], **value}
    return json.dumps(data)


def test_an_untouched_certificate_is_accepted():
    for text, data in map(proof, ("svt", "noisy_max_exponential", "partial_sum", "geometric_count")):
        assert check_certificate(text, json.dumps(data)).obligations > 0


def test_the_kernel_imports_the_tree_and_nothing_of_the_search():
    allowed = {"discreet.errors", "discreet.exact.number", "discreet.verify", "z3", "flint"}
    for path in (ROOM / "kernel").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                if node.module == "discreet.verify":
                    assert [alias.name for alias in node.names] == ["syntax"]
                elif node.module not in allowed and not node.module.startswith("discreet.verify.kernel."):
                    assert node.module.split(".")[0] in sys.stdlib_module_names
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    assert alias.name in allowed or alias.name in sys.stdlib_module_names


def test_the_kernel_is_small_enough_to_be_read():
    """at most 800 lines of code: the theorems above them and the empty lines between them do not count."""
    total = 0
    for path in (ROOM / "kernel").glob("*.py"):
        text = path.read_text()
        words = {
            line
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for line in range(node.lineno, node.end_lineno + 1)
        }
        lines = enumerate(text.splitlines(), start=1)
        total += sum(n not in words and bool(line.partition("#")[0].strip()) for n, line in lines)
    assert total <= 800


@pytest.mark.parametrize(
    "forged",
    [
        lambda svt: tampered(svt, claim="epsilon eps/2"),
        lambda svt: tampered(svt, neighbours=["q one by 1"]),
        lambda svt: tampered(svt, program="0" * 64),
        lambda svt: tampered(svt, format="another"),
        lambda svt: tampered(svt, parts=[]),
        lambda svt: tampered(svt, parts=svt["parts"] * 2),
        lambda svt: tampered(svt, method="enumeration", parts=[]),
        lambda svt: tampered(svt, laws={"1": {"1": "1"}}),
        lambda svt: tampered(svt, extra=1),
        lambda svt: with_part(svt, "moves", {"1": "0"}),
        lambda svt: with_part(svt, "moves", {"2": "0"}),
        lambda svt: with_part(svt, "moves", {"2": "2"}),
        lambda svt: with_part(svt, "moves", {"7": "0"}),
        lambda svt: with_part(svt, "moves", {"2": "nu{1} - nu{2}"}),
        lambda svt: with_part(svt, "moves", {"2": "if tag(r) = 2 then 1 - (q{2}[i] - q{1}[i]) else 0"}),
        lambda svt: with_part(svt, "moves", {"1": "if tag(r) = 1 then 1 else 0"}),
        lambda svt: with_part(svt, "moves", {"1": "eta"}),
        lambda svt: with_part(svt, "moves", {"1": "1 +"}),
        lambda svt: with_part(svt, "variants", {"1": "N"}),
        lambda svt: with_part(svt, "variants", {"1": "i"}),
        lambda svt: with_part(svt, "variants", {"1": "i + N"}),
        lambda svt: with_part(svt, "invariants", {"1": []}),
        lambda svt: with_part(svt, "invariants", {"1": [[]]}),
        lambda svt: with_part(svt, "invariants", {"1": [["false"]]}),
        lambda svt: with_part(svt, "invariants", {"1": [["1 = 2"]]}),
        lambda svt: with_part(svt, "invariants", {"1": [["(1 = 1"]]}),
        lambda svt: with_part(svt, "invariants", {"1": [["true) (declare-const x Bool) (assert x"]]}),
        lambda svt: with_part(svt, "waits", {"1": ["true", "true"]}),
        lambda svt: with_part(svt, "waits", {"1": ["false", "i{1} = 0"]}),
        lambda svt: with_part(svt, "waits", {"1": ["false"]}),
        lambda svt: tampered(svt, parts=[{**svt["parts"][0], "direction": {"q": "up"}}]),
        lambda svt: tampered(svt, parts="all"),
        lambda _: "not json",
        lambda _: "[]",
    ],
)
def test_a_tampered_certificate_is_rejected(forged):
    text, certificate = proof("svt")
    with pytest.raises(CertificateError):
        check_certificate(text, forged(certificate))


def test_noise_may_not_leave_its_support():
    text, data = proof("noisy_max_exponential")
    with pytest.raises(CertificateError):
        check_certificate(text, with_part(data, "moves", {"1": "if result(1) = i then 0 else -1"}))


def test_integer_noise_may_not_move_by_a_fraction():
    text, data = proof("geometric_count")
    with pytest.raises(CertificateError):
        check_certificate(text, with_part(data, "moves", {"1": "(c{1} - c{2}) / 2"}))


def test_a_move_cannot_see_the_draw_that_it_moves():
    """z has no value before it is drawn, so a move that mentions it has no meaning."""
    text, data = proof("partial_sum")
    with pytest.raises(CertificateError):
        check_certificate(text, with_part(data, "moves", {"1": "s{1} - s{2} + z{1} - z{2}"}))


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
    _, honest = proof("svt")
    certificate = {
        "format": honest["format"],
        "program": __import__("hashlib").sha256(text.encode()).hexdigest(),
        "claim": "epsilon 0",
        "neighbours": ["q all by 1"],
        "method": "alignment",
        "arithmetic": honest["arithmetic"],
        "laws": {},
        "parts": [
            {
                "direction": {},
                "moves": {"1": "eta{1} - eta{2}"},
                "variants": {"1": "size(q) - i"},
                "invariants": {
                    "1": [["i{1} >= 0", "i{1} = i{2}", "eta{1} = eta{2}", "moved(1) <= 0"]],
                },
                "waits": {},
                "tails": {},
                "apart": {},
                "picked": "true",
                "notes": {},
            }
        ],
    }
    with pytest.raises(CertificateError, match="output"):
        check_certificate(text, json.dumps(certificate))


def test_a_certificate_does_not_carry_over_to_another_text():
    text, data = proof("svt")
    with pytest.raises(CertificateError, match="another program"):
        check_certificate(text.replace("4*N/eps", "3*N/eps"), json.dumps(data))


def test_obligations_can_be_given_to_any_solver():
    text, data = proof("partial_sum")
    texts = scripts(text, json.dumps(data))
    assert len(texts) >= 5
    for text in texts:
        assert "(check-sat)" in text
        solver = z3.Solver()
        solver.from_string(text)
        assert solver.check() == z3.unsat
