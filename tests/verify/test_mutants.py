"""Mutants: programs broken on purpose.  None that costs more than it claims may be proved.

The ground truth does not come from the prover.  Most mutants are worse than their claim by analysis: the
original's price is known and tight, and halving a scale, doubling a distance, halving a claim or dropping
a draw raises it.  For the others, and for every mutant that is proved, the exact refuter is asked, which
shares no code with the prover beyond the reading of programs.
"""

import re
from pathlib import Path

import pytest

from discreet.errors import CertificateError
from discreet.exact.number import exp_up
from discreet.verify import check_certificate, parse
from discreet.verify.certificate import issue
from discreet.verify.prove import NoProof, prove
from discreet.verify.refute import refute

FOLDER = Path(__file__).parents[2] / "examples" / "programs"
ORIGINALS = {
    path.stem: path.read_text()
    for path in sorted(FOLDER.glob("*.dp"))
    if path.read_text().startswith("# verdict: proved")
}
DRAW = re.compile(
    r"(\w+) ?:= ?\$ (Laplace|Geometric|Exponential|Gaussian) ?\(([^,()]*(?:\([^()]*\))?[^,()]*)"
)


def numbered(pattern, text):
    return range(len(pattern.findall(text)))


def replaced(pattern, text, which, build):
    matches = list(pattern.finditer(text))
    chosen = matches[which]
    return text[: chosen.start()] + build(chosen) + text[chosen.end() :]


def halved_scale(text):
    for which in numbered(DRAW, text):
        yield replaced(DRAW, text, which, lambda m: f"{m[1]} := $ {m[2]}(({m[3]})/2")


def missing_noise(text):
    whole = re.compile(r"(\w+) ?:= ?\$ (Laplace|Geometric|Exponential|Gaussian) ?\((.*)\)(;?)\n")
    for which in numbered(whole, text):

        def silent(m):
            centre = m[3].rpartition(", ")[2] if ", " in m[3] else "0"
            zero = "0.0" if m[2] != "Geometric" else "0"
            return f"{m[1]} := {zero} + {centre}\n"

        yield replaced(whole, text, which, silent)


def doubled_distance(text):
    if re.search(r"by 1\n", text):
        yield text.replace("by 1\n", "by 2\n")


def halved_claim(text):
    claim = re.search(r"ensures (epsilon|rho) (.*)\n", text)
    if claim:
        yield text.replace(claim[0], f"ensures {claim[1]} ({claim[2]})/2\n")


def everyone_changes(text):
    if " one by 1" in text or " monotone by 1" in text:
        yield text.replace(" one by 1", " all by 1").replace(" monotone by 1", " all by 1")


def no_cutoff(text):
    if " and count < N" in text:
        yield text.replace(" and count < N", "")


WORSE = (halved_scale, missing_noise, doubled_distance, halved_claim, everyone_changes, no_cutoff)
EXEMPT = {
    # Only the sensitivity of f matters here, not the distance of the data.
    ("doubled_distance", "lap_added"),
    ("doubled_distance", "lap_centred"),
    ("everyone_changes", "lap_added"),
    ("everyone_changes", "lap_centred"),
}


def sampled(items, every):
    """Mark all but every so many parameters as long searches, for `make fuzz`."""
    for place, item in enumerate(items):
        own = item if hasattr(item, "values") and hasattr(item, "id") else pytest.param(item, id=str(item))
        marks = () if place % every == 0 else pytest.mark.fuzz
        yield pytest.param(*own.values, id=own.id, marks=marks)


def worse():
    for name, text in ORIGINALS.items():
        for mutation in WORSE:
            if (mutation.__name__, name) in EXEMPT:
                continue
            for number, mutant in enumerate(mutation(text)):
                yield pytest.param(mutant, id=f"{name}-{mutation.__name__}-{number}")


SVT, MAX, HISTOGRAM = (ORIGINALS[n] for n in ("svt", "noisy_max", "histogram"))
NUMBERS = SVT.replace("bool list", "real list").replace("[false]", "[0]")
ODD = {
    # wrong outputs, guards, reused and stale noise: whatever the verdict, it must not contradict the refuter
    "svt-outputs-the-query": NUMBERS.replace("[true]", "[q[i]]"),
    "svt-outputs-the-noisy-query": NUMBERS.replace("[true]", "[q[i] + nu]"),
    "svt-compares-without-noise": SVT.replace("q[i] + nu >= Tb", "q[i] >= Tb"),
    "svt-compares-with-the-raw-threshold": SVT.replace("q[i] + nu >= Tb", "q[i] + nu >= T"),
    "svt-flipped-guard": SVT.replace(">= Tb", "<= Tb"),
    "svt-counts-misses": SVT.replace("      count := count + 1\n", "").replace(
        "      r := r ++ [false]\n", "      r := r ++ [false]\n      count := count + 1\n"
    ),
    "svt-stale-query-noise": SVT.replace("    nu := $ Laplace(4*N/eps)\n", "").replace(
        "  Tb := T + eta\n", "  Tb := T + eta\n  nu := $ Laplace(4*N/eps)\n"
    ),
    "svt-reused-threshold-noise": SVT.replace("    nu := $ Laplace(4*N/eps)\n", "    nu := 0.0 + eta\n"),
    "svt-one-more-hit": SVT.replace("count < N", "count <= N"),
    "svt-releases-the-threshold": SVT.replace("  return r", "  return (r, Tb)"),
    "max-stale-noise": MAX.replace("    eta := $ Laplace(2/eps)\n", "").replace(
        "  best := 0;", "  eta := $ Laplace(2/eps)\n  best := 0;"
    ),
    "max-returns-the-value": MAX.replace("return r", "return best"),
    "max-returns-both": MAX.replace("return r", "return (r, best)"),
    "max-forgets-the-noise-of-the-best": MAX.replace("best := q[i] + eta", "best := q[i]"),
    "max-compares-raw": MAX.replace("q[i] + eta > best", "q[i] > best"),
    "max-minimum": MAX.replace("> best", "< best"),
    "max-keeps-ties": MAX.replace("> best", ">= best"),
    "histogram-stale-noise": HISTOGRAM.replace("    z := $ Laplace(1/eps)\n", "").replace(
        "  i := 0;", "  z := $ Laplace(1/eps)\n  i := 0;"
    ),
    "histogram-releases-noise-too": HISTOGRAM.replace("return r", "return (r, z)").replace(
        "  i := 0;", "  z := 0.0\n  i := 0;"
    ),
    "histogram-released-twice": HISTOGRAM.replace(
        "    r := r ++ [q[i] + z]\n", "    r := r ++ [q[i] + z]\n    r := r ++ [q[i] + z]\n"
    ),
    "histogram-average-of-two-draws": HISTOGRAM.replace(
        "    r := r ++ [q[i] + z]\n", "    y := $ Laplace(1/eps)\n    r := r ++ [q[i] + (y + z)/2]\n"
    ),
    "histogram-branch-on-data": HISTOGRAM.replace(
        "    z := $ Laplace(1/eps)\n",
        "    z := 0.0\n    if q[i] > 0 then\n      z := $ Laplace(1/eps)\n",
    ),
}
BETTER = [
    pytest.param(replaced(DRAW, text, 0, lambda m: f"{m[1]} := $ {m[2]}(2*({m[3]})"), id=name)
    for name, text in ORIGINALS.items()
    if DRAW.search(text)
]


def proved(text, seconds=0.6):
    checked = parse(text)
    attempt = prove(checked, seconds)
    if isinstance(attempt, NoProof):
        return False
    certificate = issue(checked.program, checked.digest, attempt, {})
    try:
        check_certificate(text, certificate)
    except CertificateError:
        return False
    return True


def test_there_are_more_than_a_hundred_mutants():
    assert len(list(worse())) + len(ODD) + len(BETTER) >= 150
    assert len({text.values[0] for text in worse()}) == len(list(worse()))


@pytest.mark.parametrize("text", list(sampled(worse(), 16)))
def test_a_mutant_that_costs_more_than_it_claims_is_never_proved(text):
    assert not proved(text)


@pytest.mark.parametrize("name", list(sampled(ODD, 9)))
def test_an_odd_mutant_is_never_both_proved_and_refuted(name):
    text = ODD[name]
    assert text not in (SVT, MAX, HISTOGRAM), "the mutation must change the program"
    if proved(text):
        assert refute(parse(text), 2.0) is None


@pytest.mark.parametrize("text", list(sampled(BETTER, 4)))
def test_more_noise_is_never_refuted(text):
    assert refute(parse(text), 0.15) is None


QUICK = ("histogram", "noisy_max", "partial_sum", "prefix_sum", "num_svt")
CONTINUOUS = {name: text for name, text in ORIGINALS.items() if DRAW.search(text) and "Gaussian" not in text}


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.fuzz) for n in CONTINUOUS]
)
def test_every_correct_program_is_refuted_exactly_once_its_noise_is_halved(name):
    """So the ground truth is no rubber stamp: it objects to each of these, with certified numbers."""
    halved = DRAW.sub(lambda m: f"{m[1]} := $ {m[2]}(({m[3]})/2", CONTINUOUS[name])
    witness = refute(parse(halved), 20.0)
    assert witness is not None
    assert witness.method == "exact"
    assert witness.loss > witness.epsilon
    low, high = witness.first_probability[0], witness.second_probability[1]
    assert low > exp_up(witness.epsilon) * high
