"""The verdict on a program: proved, refuted, or unknown, and never a guess.

PROVED comes with a certificate that the independent checker has accepted.  REFUTED comes with neighbouring
inputs, an event and its probabilities.  Everything else is UNKNOWN, with the reason: that no proof was found
refutes nothing, and that no counterexample was found proves nothing.
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.errors import CertificateError, ParameterError
from discreet.markup import BAD, GOOD, OPEN, card
from discreet.verify import finite
from discreet.verify.candidate import Pair
from discreet.verify.certificate import ARITHMETIC, Certificate, issue, part
from discreet.verify.check import Checked, parse
from discreet.verify.checker import check_certificate
from discreet.verify.explain import counterexample_facts
from discreet.verify.explore import Quotient, paths, sum_quotients
from discreet.verify.prove import NoProof, Proof, prove
from discreet.verify.refute import Event, Predicate, breaks, claimed, entries, mass, refute, witness
from discreet.verify.sampled import refute_by_sampling
from discreet.verify.syntax import Query
from discreet.verify.witness import Witness


@dataclass(frozen=True, slots=True)
class Proved:
    """The program is as private as it claims."""

    certificate: Certificate

    def _repr_html_(self) -> str:
        proof = self.certificate
        facts = [
            ("claim", proof.claim),
            ("neighbours", "; ".join(proof.neighbours)),
            ("proof", f"by {proof.method}, accepted by the independent checker"),
        ]
        return card("PROVED", facts, note=ARITHMETIC, colour=GOOD)


@dataclass(frozen=True, slots=True)
class Refuted:
    """The program is less private than it claims."""

    witness: Witness

    def _repr_html_(self) -> str:
        return card("REFUTED", counterexample_facts(self.witness), colour=BAD)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither a proof nor a counterexample was found."""

    reason: str

    def _repr_html_(self) -> str:
        return card("UNKNOWN", [("why", self.reason)], colour=OPEN)


Verdict = Proved | Refuted | Unknown


def source(program: str | Path) -> str:
    """Return the text of a program given as text or as a path."""
    if isinstance(program, Path) or ("\n" not in program and program.endswith(".dp")):
        path = Path(program)
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise ParameterError(f"the program {path} cannot be read") from problem
    return program


def verify(program: str | Path, *, seconds: float = 30.0, samples: int = 0) -> Verdict:
    """Prove or refute that a program is as private as it claims.

    `seconds` of processor time limit the search for a proof, and half of it the search for a
    counterexample; with `samples` above zero, a claim that resists both is also tested by that many
    executions on each of a few inputs.
    """
    text = source(program)
    checked = parse(text)
    if checked.program.claim is None:
        return Unknown("the program claims nothing; add a line such as: ensures epsilon eps")
    decided = _enumerate(checked, text)
    if decided is not None:
        return decided
    attempt: tuple[Proof, ...] | NoProof = NoProof("no time was given", exhausted=False)
    # Most wrong claims fall to the first few counterexamples, and most right ones to the first proof.
    for refuting, proving in ((1 / 60, 1 / 4), (1 / 4, 1.0), (1 / 2, 0.0)):
        found = refute(checked, seconds * refuting)
        if found is not None:
            return Refuted(found)
        if proving and isinstance(attempt, NoProof) and not attempt.exhausted:
            attempt = prove(checked, seconds * proving)
        if not isinstance(attempt, NoProof):
            break
    if not isinstance(attempt, NoProof):
        parts = tuple(part(p.direction, p.moves, p.variants, p.invariants) for p in attempt)
        certificate = issue(checked, parts)
        try:
            check_certificate(text, certificate)
        except CertificateError as problem:
            return Unknown(f"a proof was found but the checker did not accept it: {problem}")
        return Proved(certificate)
    sampled = refute_by_sampling(checked, samples) if samples else None
    return Refuted(sampled) if sampled is not None else Unknown(attempt.reason)


def _enumerate(checked: Checked, text: str) -> Proved | Refuted | None:
    """Decide finite programs by enumeration; None for all others."""
    try:
        decision = finite.decide(checked)
    except finite.NotFiniteError:
        return None
    if decision.holds:
        certificate = issue(checked, ())
        check_certificate(text, certificate)
        return Proved(certificate)
    if decision.counterexample is None:
        return None
    return _from_enumeration(checked, decision.counterexample)


def _from_enumeration(checked: Checked, found: finite.Counterexample) -> Refuted | None:
    """Turn an enumerated counterexample into a witness, computed again by the refuter's own means."""
    publics: dict[str, object] = {}
    for parameter in checked.program.parameters:
        if not parameter.private and not isinstance(parameter.type, Query):
            fixed = finite.fixed(checked, parameter.name)
            publics[parameter.name] = found.eps if parameter.name == "eps" else fixed
    pair = Pair({**publics, **found.first}, {**publics, **found.second}, tuple(found.first))
    claim = claimed(checked, pair.first)
    if claim is None:
        return None
    laws = [list(paths(checked, values)) for values in (pair.first, pair.second)]
    telling: list[tuple[str, Quotient, Quotient]] = []
    for output in {path.output: None for path in laws[0]}:
        shape, flat = entries(output)
        event = Event(shape, tuple(Predicate("=", v) for v in flat))
        above, below = mass(laws[0], event), mass(laws[1], event)
        if breaks(above, below, claim[0], Fraction(0)):
            telling.append((event.words(), above, below))
    above = sum_quotients([t[1] for t in telling])
    below = sum_quotients([t[2] for t in telling])
    if not breaks(above, below, *claim):
        return None
    words = " or ".join(t[0] for t in telling)
    return Refuted(witness(pair, words, above, below, *claim, swapped=False))
