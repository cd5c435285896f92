"""The verdict on a program: proved, refuted, or unknown, and never a guess.

PROVED comes with a certificate that the kernel has accepted.  REFUTED comes with neighbouring
inputs, an event and its probabilities.  Everything else is UNKNOWN, with the reason: that no proof was found
refutes nothing, and that no counterexample was found proves nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import z3

from discreet.errors import CertificateError, ParameterError
from discreet.markup import BAD, GOOD, OPEN, card, listed
from discreet.verify import finite
from discreet.verify.acceptance import PATIENCE, check_certificate
from discreet.verify.certificate import ARITHMETIC, Certificate, issue
from discreet.verify.check import CheckedProgram, parse
from discreet.verify.claim import composed
from discreet.verify.ended import refute_ended
from discreet.verify.explain import counterexample_facts
from discreet.verify.explore import Quotient, paths, sum_quotients
from discreet.verify.fault import first_fault
from discreet.verify.foresight import foreseen
from discreet.verify.kernel import Part
from discreet.verify.limit import (
    DEFAULT_MEGABYTES,
    MOST_MEGABYTES,
    MOST_SAMPLES,
    MOST_SECONDS,
    LimitError,
    bound,
    remaining,
    within,
)
from discreet.verify.prove import NoProof, prove
from discreet.verify.python import translate
from discreet.verify.reason import why
from discreet.verify.refute import (
    OutputEvent,
    Predicate,
    bounds,
    breaks,
    claimed,
    entries,
    mass,
    refute,
    witness,
)
from discreet.verify.relate import are_neighbours
from discreet.verify.sampled import refute_by_sampling
from discreet.verify.space import NeighbourPair
from discreet.verify.weigh import laws
from discreet.verify.witness import Witness


@dataclass(frozen=True, slots=True)
class Proved:
    """The program is as private as it claims; `public` names the inputs that were taken as public unasked."""

    certificate: Certificate
    public: tuple[str, ...] = ()

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return what there is to say, by name."""
        proof = self.certificate
        facts = [
            ("claim", proof.claim),
            ("neighbours", "; ".join(proof.neighbours)),
            ("proof", f"by {proof.method}, accepted by the kernel"),
        ]
        if self.public:
            facts.insert(0, ("taken as public", ", ".join(self.public)))
        return facts

    def __repr__(self) -> str:
        return listed("PROVED", self.facts, note=ARITHMETIC)

    def _repr_html_(self) -> str:
        return card("PROVED", self.facts, note=ARITHMETIC, colour=GOOD)


@dataclass(frozen=True, slots=True)
class Refuted:
    """The program is less private than it claims."""

    witness: Witness

    def __repr__(self) -> str:
        return listed("REFUTED", counterexample_facts(self.witness))

    def _repr_html_(self) -> str:
        return card("REFUTED", counterexample_facts(self.witness), colour=BAD)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither a proof nor a counterexample was found."""

    reason: str

    def __repr__(self) -> str:
        return listed("UNKNOWN", [("why", self.reason)])

    def _repr_html_(self) -> str:
        return card("UNKNOWN", [("why", self.reason)], colour=OPEN)


Verdict = Proved | Refuted | Unknown

FEW = 8
"""Pairs of inputs that are tried before the first attempt at a proof."""


def source(program: str | Path) -> str:
    """Return the text of a program given as text or as a path."""
    if not isinstance(program, str | Path):
        raise ParameterError(
            "a program is a text, the path of one, or a Python function; "
            f"got something of type {type(program).__name__}"
        )
    if isinstance(program, Path) or ("\n" not in program and program.endswith(".dp")):
        path = Path(program)
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise ParameterError(f"the program {path} cannot be read") from problem
    return program


def understood(program: str | Path | Callable[..., object]) -> tuple[str, CheckedProgram]:
    """Return the text of a program and what it means, given as text, as a path, or as a Python function."""
    if callable(program):
        translated = translate(program)
        return translated.text, translated.checked
    text = source(program)
    return text, parse(text)


def verify(
    program: str | Path | Callable[..., object],
    *,
    seconds: float = 30.0,
    samples: int = 0,
    megabytes: int = DEFAULT_MEGABYTES,
) -> Verdict:
    """Prove or refute that a program is as private as it claims.

    A program is a text in the verifier's language, the path of one, or a Python function (see `program`).
    `seconds` of processor time and `megabytes` of memory limit the whole search; with `samples` above zero, a
    claim that resists it is also tested by that many executions on each of a few inputs.  A program that has
    no meaning on some input (a law with impossible parameters, a list read outside its bounds) and that is
    neither proved nor refuted is refused with a ProgramError.
    """
    bound("seconds", seconds, 0, MOST_SECONDS)
    bound("megabytes", megabytes, 1, MOST_MEGABYTES, whole=True)
    bound("samples", samples, 0, MOST_SAMPLES, whole=True)
    text, checked = understood(program)
    if checked.program.claim is None:
        return Unknown("the program claims nothing; add a line such as: ensures epsilon eps")
    z3.set_param("memory_max_size", megabytes)
    try:
        with within(seconds, megabytes):
            return _search(checked, text, seconds, samples)
    except LimitError as problem:
        return Unknown(f"{problem} before a proof or a counterexample was found")
    except (MemoryError, z3.Z3Exception):
        return Unknown("the memory limit was reached before a proof or a counterexample was found")
    except RecursionError:
        return Unknown("the program is too large for this search")


def _search(checked: CheckedProgram, text: str, seconds: float, samples: int) -> Verdict:
    decided = _enumerate(checked, text, seconds / 3)
    if decided is not None:
        return decided
    attempt, tried, other = NoProof("no time was given", exhausted=False), set[str](), composed(checked)
    asked = False
    # Most wrong claims fall to the first few counterexamples, and most right ones to the first proof.  Before
    # that proof inputs are counted, not timed: the order of its terms depends on what was done before.
    for refuting, most, proving in ((1 / 10, FEW, 1 / 4), (1 / 10, None, 1 / 3), (1 / 4, None, 0.0)):
        found = refute(checked, seconds * refuting, most, tried)
        if found is not None:
            return Refuted(found)
        early = foreseen(checked) if most is not None else None
        if early is not None:
            return _certified(checked, text, early)
        if proving and not attempt.exhausted:
            # Where costs may also be added up as advanced composition does, that is tried before long.
            proofs = prove(checked, seconds * proving / (1 if other is None else 4))
            if not isinstance(proofs, NoProof):
                return _certified(checked, text, proofs)
            attempt = proofs
            together = attempt if other is None else prove(other, seconds * proving)
            if not isinstance(together, NoProof):
                return _certified(checked, text, tuple(replace(p, concentrated=True) for p in together))
        if not asked and (proving == 0.0 or attempt.exhausted):
            asked, fault = True, first_fault(checked)
            if fault is not None:
                raise fault
    cut = refute_ended(checked, seconds / 10)
    if cut is not None:
        return Refuted(cut)
    sampled = refute_by_sampling(checked, samples) if samples else None
    if sampled is not None:
        return Refuted(sampled)
    told = why(checked)
    return Unknown(f"{attempt.reason}; {told}" if told is not None else attempt.reason)


def taken_as_public(checked: CheckedProgram) -> tuple[str, ...]:
    """Return the inputs that were taken as public although the text does not say so."""
    return tuple(p.name for p in checked.program.parameters if not p.stated and not p.private)


def _certified(checked: CheckedProgram, text: str, parts: tuple[Part, ...]) -> Proved | Unknown:
    certificate = issue(checked.program, checked.digest, parts, {})
    try:
        check_certificate(text, certificate, seconds=min(PATIENCE, remaining()))
    except CertificateError as problem:
        return Unknown(f"a proof was found but the kernel did not accept it: {problem}")
    return Proved(certificate, taken_as_public(checked))


def _enumerate(checked: CheckedProgram, text: str, seconds: float) -> Proved | Refuted | None:
    """Decide finite programs by enumeration; None for all others."""
    try:
        with within(seconds):
            decision = finite.decide(checked)
    except (finite.NotFiniteError, LimitError):
        return None
    if decision.holds:
        certificate = issue(checked.program, checked.digest, (), laws(checked))
        try:
            check_certificate(text, certificate, seconds=min(PATIENCE, remaining()))
        except CertificateError:
            return None
        return Proved(certificate, taken_as_public(checked))
    if decision.counterexample is None:
        return None
    return _from_enumeration(checked, decision.counterexample)


def _from_enumeration(checked: CheckedProgram, found: finite.Counterexample) -> Refuted | None:
    """Turn an enumerated counterexample into a witness, computed again by the refuter's own means."""
    private = tuple(p.name for p in checked.program.parameters if p.private)
    pair = NeighbourPair(found.first, found.second, private)
    if not are_neighbours(checked, pair.first, pair.second):
        return None
    claim = claimed(checked, pair.first)
    if claim is None:
        return None
    laws = [list(paths(checked, values)) for values in (pair.first, pair.second)]
    telling: list[tuple[str, Quotient, Quotient]] = []
    for output in {path.output: None for path in laws[0]}:
        shape, flat = entries(output)
        event = OutputEvent(shape, tuple(Predicate("=", v) for v in flat))
        above, below = mass(laws[0], event), mass(laws[1], event)
        if breaks(above, below, claim[0], Fraction(0)):
            telling.append((event.words(), above, below))
    above = sum_quotients([t[1] for t in telling])
    below = sum_quotients([t[2] for t in telling])
    if not breaks(above, below, *claim):
        return None
    words = " or ".join(t[0] for t in telling)
    return Refuted(witness(pair, words, bounds(above), bounds(below), *claim, swapped=False))
