"""Certificates: what a proof consists of, as JSON that outlives the search that found it.

A certificate names the program by the hash of its text, repeats claim and neighbours for the reader, and
holds for each direction of the neighbours the moves of all draws, an invariant for each loop as SMT-LIB
conjuncts, and for each loop an expression that counts its remaining turns.  A finite program needs none
of this: its certificate says that enumeration decides it, and the checker enumerates again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import z3

from discreet.errors import CertificateError
from discreet.verify.check import Checked
from discreet.verify.syntax import Epsilon, Expr, Neighbours, Rho, Secret, show
from discreet.verify.term import Term

FORMAT = "discreet certificate 1"
ARITHMETIC = "the proof is about ideal laws and exact real arithmetic, not about floating point"


@dataclass(frozen=True, slots=True)
class Part:
    """The proof for one direction: moves and variants as formulas, invariants as SMT-LIB conjuncts."""

    direction: str
    moves: Mapping[int, str]
    variants: Mapping[int, str]
    invariants: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof that a program is as private as it claims."""

    program: str
    claim: str
    neighbours: tuple[str, ...]
    method: Literal["alignment", "enumeration"]
    parts: tuple[Part, ...] = ()

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(
            {
                "format": FORMAT,
                "program": self.program,
                "claim": self.claim,
                "neighbours": list(self.neighbours),
                "method": self.method,
                "arithmetic": ARITHMETIC,
                "parts": [
                    {
                        "direction": part.direction,
                        "moves": {str(k): v for k, v in part.moves.items()},
                        "variants": {str(k): v for k, v in part.variants.items()},
                        "invariants": {k: list(v) for k, v in part.invariants.items()},
                    }
                    for part in self.parts
                ],
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate; whatever does not have exactly the expected shape is refused."""
        try:
            data = json.loads(text, object_pairs_hook=_once)
        except CertificateError:
            raise
        except (ValueError, RecursionError) as problem:
            raise CertificateError("the certificate is not JSON") from problem
        fields = _table(data, {"format", "program", "claim", "neighbours", "method", "arithmetic", "parts"})
        if fields["format"] != FORMAT:
            raise CertificateError(f"unknown certificate format; this version reads {FORMAT!r}")
        if fields["method"] not in ("alignment", "enumeration"):
            raise CertificateError("unknown proof method")
        return cls(
            _text(fields["program"]),
            _text(fields["claim"]),
            tuple(_text(item) for item in _list(fields["neighbours"])),
            fields["method"],
            tuple(_part(item) for item in _list(fields["parts"])),
        )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's fields; a field that occurs twice would let two readers see two certificates."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise CertificateError("the certificate gives a field twice")
    return fields


def _part(data: Any) -> Part:
    fields = _table(data, {"direction", "moves", "variants", "invariants"})
    return Part(
        _text(fields["direction"]),
        {_number(k): _text(v) for k, v in _table(fields["moves"]).items()},
        {_number(k): _text(v) for k, v in _table(fields["variants"]).items()},
        {_text(k): tuple(_text(x) for x in _list(v)) for k, v in _table(fields["invariants"]).items()},
    )


def _table(data: Any, keys: set[str] | None = None) -> dict[str, Any]:
    if not isinstance(data, dict) or (keys is not None and set(data) != keys):
        raise CertificateError("the certificate does not have the expected fields")
    return data


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise CertificateError("the certificate has something else where a list is expected")
    return data


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise CertificateError("the certificate has something else where text is expected")
    return data


def _number(key: str) -> int:
    if not key.isascii() or not key.isdecimal() or len(key) > 6:
        raise CertificateError("the certificate names a draw or a loop by something that is not a number")
    return int(key)


def claim_text(checked: Checked) -> str:
    """Return the claim as it is written in a program."""
    match checked.program.claim:
        case Epsilon(epsilon, None):
            return f"epsilon {show(epsilon)}"
        case Epsilon(epsilon, delta) if delta is not None:
            return f"epsilon {show(epsilon)} delta {show(delta)}"
        case Rho(rho):
            return f"rho {show(rho)}"
        case Secret():
            return "secret"
        case _:
            return "nothing"


def neighbours_text(relation: Neighbours) -> str:
    """Return a neighbours clause as it is written in a program."""
    text = f"{relation.name} {relation.kind}"
    if relation.bound is not None:
        text += f" by {show(relation.bound)}"
    if relation.low is not None and relation.high is not None:
        text += f" in [{show(relation.low)}, {show(relation.high)}]"
    return text


def part(
    direction: str,
    moves: Mapping[int, Expr],
    variants: Mapping[int, Expr],
    invariants: Mapping[str, Term],
) -> Part:
    """Write one direction of a proof down."""
    return Part(
        direction,
        {key: show(move) for key, move in moves.items()},
        {key: show(variant) for key, variant in variants.items()},
        {name: tuple(_script(c) for c in conjuncts(formula)) for name, formula in invariants.items()},
    )


def conjuncts(formula: Term) -> list[Term]:
    """Return the members of a conjunction."""
    if z3.is_and(formula):
        return [part for child in formula.children() for part in conjuncts(child)]
    return [] if z3.is_true(formula) else [formula]


def _script(formula: Term) -> str:
    return " ".join(formula.sexpr().split())


def issue(checked: Checked, parts: tuple[Part, ...]) -> Certificate:
    """Return the certificate of a program proved by alignment, or by enumeration if there are no parts."""
    return Certificate(
        checked.digest,
        claim_text(checked),
        tuple(neighbours_text(r) for r in checked.program.neighbours),
        "alignment" if parts else "enumeration",
        parts,
    )
