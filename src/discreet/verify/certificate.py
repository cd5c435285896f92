"""Certificates: what a proof consists of, as JSON of exactly one shape.

An *alignment* has one part for each way in which the neighbours may be ordered.  A part says how far each
draw is moved, what stays true in each loop, what each loop counts down, and which run waits when.  A
*concentration* has the same parts, and adds up costs as zero-concentrated privacy does.  An
*enumeration* lists the law of the output on every input.  Everything inside is text of one small grammar.
Reading a certificate believes nothing of it: that is for the kernel.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from discreet.errors import CertificateError
from discreet.verify.grammar import read
from discreet.verify.header import swapped
from discreet.verify.kernel import Part as Proof
from discreet.verify.spelling import show
from discreet.verify.syntax import (
    Binary,
    EpsilonClaim,
    Expr,
    Neighbours,
    Program,
    Rho,
    Secret,
    TruthValue,
)

FORMAT = "discreet certificate 3"
ARITHMETIC = "the proof is about ideal laws and exact real arithmetic, not about floating point"


@dataclass(frozen=True, slots=True)
class CertificatePart:
    """The proof for one order of the neighbours, by numbers of draws and loops."""

    direction: Mapping[str, str]
    moves: Mapping[int, str]
    variants: Mapping[int, str]
    invariants: Mapping[int, tuple[tuple[str, ...], ...]]
    """For each visit of a loop in the order of the text, what holds whenever the loop comes round."""
    waits: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """When the first run, and when the second run, sits out a turn of a loop."""
    tails: Mapping[int, str] = field(default_factory=dict)
    """Beyond how many scales a draw is given up, for a part of delta."""
    apart: Mapping[int, str] = field(default_factory=dict)
    """A value that a continuous draw does not hit."""
    picked: str = "true"
    """Which draws may move, where notes are taken of the others."""
    notes: Mapping[int, str] = field(default_factory=dict)
    """What becomes of each note after a draw that is not picked."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof that a program is as private as it claims."""

    program: str
    claim: str
    neighbours: tuple[str, ...]
    method: Literal["alignment", "concentration", "enumeration"]
    parts: tuple[CertificatePart, ...] = ()
    laws: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps({"format": FORMAT, "arithmetic": ARITHMETIC, **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate; whatever does not have exactly the expected shape is refused."""
        try:
            fields = _shaped(json.loads(text, object_pairs_hook=_once), _SHAPE)
        except CertificateError:
            raise
        except (ValueError, RecursionError) as problem:
            raise CertificateError("the certificate is not JSON") from problem
        if fields.pop("format") != FORMAT or fields.pop("arithmetic") != ARITHMETIC:
            raise CertificateError(f"unknown certificate format; this version reads {FORMAT!r}")
        if fields["method"] not in ("alignment", "concentration", "enumeration"):
            raise CertificateError("unknown proof method")
        return cls(**{**fields, "parts": tuple(CertificatePart(**part) for part in fields["parts"])})


_PART = {"direction": {str: str}, "moves": {int: str}, "variants": {int: str}}
_PART |= {"invariants": {int: [[str]]}, "waits": {int: [str]}, "tails": {int: str}}
_PART |= {"apart": {int: str}, "picked": str, "notes": {int: str}}
_SHAPE: dict[Any, Any] = dict.fromkeys(("format", "arithmetic", "program", "claim", "method"), str)
_SHAPE |= {"neighbours": [str], "parts": [_PART], "laws": {str: {str: str}}}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's fields; a field that occurs twice would let two readers see two certificates."""
    if len(dict(pairs)) != len(pairs):
        raise CertificateError("the certificate gives a field twice")
    return dict(pairs)


def _shaped(data: Any, shape: Any) -> Any:
    match data, shape:
        case str(), type():
            return data
        case list(), [inner]:
            return tuple(_shaped(item, inner) for item in data)
        case dict(), dict() if str in shape:
            return {key: _shaped(item, shape[str]) for key, item in data.items()}
        case dict(), dict() if int in shape:
            if not all(key.isascii() and key.isdecimal() and len(key) < 7 and key[0] != "0" for key in data):
                raise CertificateError(
                    "the certificate names a draw or a loop by something else than a number"
                )
            return {int(key): _shaped(item, shape[int]) for key, item in data.items()}
        case dict(), dict() if data.keys() == shape.keys():
            return {key: _shaped(data[key], shape[key]) for key in shape}
    raise CertificateError("the certificate does not have the expected fields")


def claim_text(program: Program) -> str:
    """Return the claim as it is written in a program."""
    match program.claim:
        case EpsilonClaim(epsilon, delta):
            return f"epsilon {show(epsilon)}" + (f" delta {show(delta)}" if delta is not None else "")
        case Rho(rho):
            return f"rho {show(rho)}"
        case Secret():
            return "secret"
    return "nothing"


def neighbours_text(relation: Neighbours) -> str:
    """Return a neighbours clause as it is written in a program."""
    text = f"{relation.name} {relation.kind}"
    text += f" by {show(relation.bound)}" if relation.bound is not None else ""
    if relation.low is not None and relation.high is not None:
        text += f" in [{show(relation.low)}, {show(relation.high)}]"
    return text + (f" at the place of {relation.along}" if relation.along else "")


def relations(program: Program) -> tuple[str, ...]:
    """Return everything that a program says of neighbours, as text."""
    joint: tuple[str, ...] = ()
    match program.adjacency:
        case Binary("and", Binary("or", first, second), _) if second == swapped(first):
            joint = (f"by {show(first)}, in either order",)
        case formula if formula != TruthValue(True):
            joint = (f"by {show(formula)}",)
    return (*(neighbours_text(relation) for relation in program.neighbours), *joint)


def written(proof: Proof) -> CertificatePart:
    """Return one part of a proof as text."""
    return CertificatePart(
        dict(proof.direction),
        {site: show(move) for site, move in proof.moves.items()},
        {loop: show(variant) for loop, variant in proof.variants.items()},
        {
            loop: tuple(tuple(show(fact) for fact in visit) for visit in visits)
            for loop, visits in proof.invariants.items()
        },
        {loop: tuple(show(wait) for wait in both) for loop, both in proof.waits.items()},
        {site: show(tail) for site, tail in proof.tails.items()},
        {site: show(missed) for site, missed in proof.apart.items()},
        show(proof.picked),
        {key: show(note) for key, note in proof.notes.items()},
    )


def terms(part: CertificatePart, *, concentrated: bool = False) -> Proof:
    """Return one part of a certificate as terms."""
    return Proof(
        part.direction,
        {site: read(text) for site, text in part.moves.items()},
        {loop: read(text) for loop, text in part.variants.items()},
        {
            loop: tuple(tuple(read(text) for text in visit) for visit in visits)
            for loop, visits in part.invariants.items()
        },
        {loop: tuple(read(text) for text in both) for loop, both in part.waits.items()},
        concentrated,
        {site: read(text) for site, text in part.tails.items()},
        {site: read(text) for site, text in part.apart.items()},
        read(part.picked),
        {key: read(text) for key, text in part.notes.items()},
    )


def listed(program: Program, laws: Mapping[str, Mapping[str, Expr]]) -> list[tuple[dict[str, Any], Any]]:
    """Return the laws of a certificate with each input as terms, by parameter."""
    found = []
    for text, law in laws.items():
        parts = [part.strip(", ") for part in re.split(r"(\[[^\]]*\])|, ", text) if part and part.strip(", ")]
        if len(parts) != len(program.parameters) or ", ".join(parts) != text:
            raise CertificateError("the certificate does not state the law of every input")
        found.append(({p.name: _value(part) for p, part in zip(program.parameters, parts, strict=True)}, law))
    return found


def _value(text: str) -> Any:
    if text.startswith("["):
        return tuple(_value(part) for part in text[1:-1].split(", ") if part)
    if text in ("True", "False"):
        return TruthValue(text == "True")
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?|[A-Za-z_][A-Za-z_0-9']*", text, re.ASCII) is None:
        raise CertificateError("the certificate states an input otherwise than by its values")
    return read(text)


def issue(
    program: Program, digest: str, proofs: tuple[Proof, ...], laws: Mapping[str, Mapping[str, Expr]]
) -> Certificate:
    """Return the certificate of a program proved by alignment, or by enumeration if there are laws."""
    aligned: Literal["alignment", "concentration"] = "alignment"
    if any(proof.concentrated for proof in proofs):
        aligned = "concentration"
    return Certificate(
        digest,
        claim_text(program),
        relations(program),
        "enumeration" if laws else aligned,
        tuple(written(proof) for proof in proofs),
        {given: {output: show(weight) for output, weight in law.items()} for given, law in laws.items()},
    )
