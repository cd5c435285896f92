"""The checker: believes a certificate only after proving every obligation again, without searching.

From the program's text it regenerates what must hold: that both runs draw, append and loop alike, that
outputs agree, that scales are public and positive, that moved noise stays in its support and moves by
integers where it must, that every loop ends, that everything is defined, and that the total cost is
within the claim.  Moves are read in the state before the draw and cannot see it; invariants may only
speak about what exists at the head of their loop.  Each obligation is one question to Z3; every answer
but a proof rejects the certificate.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import z3

from discreet.errors import CertificateError
from discreet.verify import finite
from discreet.verify.certificate import Certificate, Part, claim_text, neighbours_text
from discreet.verify.check import Checked, parse
from discreet.verify.closed import read_closed
from discreet.verify.discharge import Failure, failures, possible, script
from discreet.verify.neighbours import directions
from discreet.verify.obligation import Relation, System
from discreet.verify.parse import parse_formula
from discreet.verify.product import obligations
from discreet.verify.syntax import Expr, Sample, While, statements
from discreet.verify.term import Term, UnsupportedError

PATIENCE = 20_000
"""Milliseconds for one obligation: the checker may take longer than the search."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A certificate that was checked: what it proves, and how many obligations that took."""

    claim: str
    neighbours: tuple[str, ...]
    obligations: int


def check_certificate(program: str, certificate: Certificate | str) -> Accepted:
    """Return what a certificate proves about a program text; raises CertificateError if it proves nothing."""
    given = Certificate.from_json(certificate) if isinstance(certificate, str) else certificate
    checked = parse(program)
    if given.program != checked.digest:
        raise CertificateError("the certificate belongs to another program text")
    relations = tuple(neighbours_text(r) for r in checked.program.neighbours)
    if given.claim != claim_text(checked) or given.neighbours != relations:
        raise CertificateError("the certificate states another claim or other neighbours than the program")
    if given.method == "enumeration":
        return _enumerated(checked, given)
    count = 0
    for system, invariants in _systems(checked, given):
        failed = failures(system, invariants, PATIENCE)
        if failed:
            raise CertificateError(f"the certificate does not prove the program private: {_words(failed[0])}")
        count += len(system.clauses)
    return Accepted(given.claim, given.neighbours, count)


def scripts(program: str, certificate: Certificate | str) -> list[str]:
    """Return every obligation of a certificate as an SMT-LIB script whose expected answer is unsat."""
    given = Certificate.from_json(certificate) if isinstance(certificate, str) else certificate
    checked = parse(program)
    return [
        script(clause, system, invariants)
        for system, invariants in _systems(checked, given)
        for clause in system.clauses
    ]


def _systems(checked: Checked, given: Certificate) -> list[tuple[System, Mapping[str, Term]]]:
    try:
        wanted = directions(checked)
        if [part.direction for part in given.parts] != list(wanted):
            raise CertificateError("the certificate does not treat every direction of the neighbours once")
        result: list[tuple[System, Mapping[str, Term]]] = []
        for direction, part in zip(wanted, given.parts, strict=True):
            moves, variants = _moves(checked, part), _variants(checked, part)
            system = obligations(checked, direction, moves, variants)
            if not possible(system.inputs):
                raise CertificateError("no input satisfies the assumptions of the program")
            result.append((system, _invariants(system, part)))
        return result
    except CertificateError:
        raise
    except (UnsupportedError, KeyError, ValueError, RecursionError, z3.Z3Exception) as problem:
        raise CertificateError(f"the certificate cannot be read against the program: {problem}") from problem


def _moves(checked: Checked, part: Part) -> dict[int, Expr]:
    sites = {s.site for s in statements(checked.program.body) if isinstance(s, Sample)}
    if not set(part.moves) <= sites:
        raise CertificateError("the certificate moves a draw that the program does not make")
    return {site: parse_formula(text) for site, text in part.moves.items()}


def _variants(checked: Checked, part: Part) -> dict[int, Expr]:
    loops = {s.loop for s in statements(checked.program.body) if isinstance(s, While)}
    if set(part.variants) != loops:
        raise CertificateError("the certificate does not bound the turns of every loop")
    return {loop: parse_formula(text) for loop, text in part.variants.items()}


def _invariants(system: System, part: Part) -> dict[str, Term]:
    if set(part.invariants) != {relation.name for relation in system.relations}:
        raise CertificateError("the certificate does not have an invariant for every loop")
    return {
        relation.name: _formula(relation, part.invariants[relation.name]) for relation in system.relations
    }


def _formula(relation: Relation, conjuncts: tuple[str, ...]) -> Term:
    symbols = {str(term): term for term in (*relation.changing, *relation.rigid)}
    found = [read_closed(text, symbols) for text in conjuncts]
    return z3.And(*found) if found else z3.BoolVal(True)


def _words(failure: Failure) -> str:
    clause = failure.clause
    meaning = {
        "positive scale": "a scale is not known to be positive",
        "same branch": "the two runs may take different branches",
        "same output": "the two runs may output different values",
        "cost": "the moves may cost more than the claim",
        "support": "moved noise may leave the support of its law",
        "integer move": "integer noise may be moved by a fraction",
        "centres": "the centres may be further apart than stated",
        "defined": "an expression may have no value",
        "terminates": "the loop may not end",
        "entry": "the invariant may not hold when the loop is entered",
        "again": "the invariant may not be preserved by the loop",
        "step": "the runs may look at different elements",
        "same turns": "the runs may differ in their number of turns",
        "same end": "the runs may differ in their number of turns",
    }.get(clause.kind, clause.kind)
    return f"line {clause.at.line}, column {clause.at.column}: {meaning}"


def _enumerated(checked: Checked, given: Certificate) -> Accepted:
    if given.parts:
        raise CertificateError("a certificate by enumeration has no parts")
    try:
        decision = finite.decide(checked)
    except finite.NotFiniteError as problem:
        raise CertificateError(f"the program is not finite: {problem}") from problem
    if not decision.holds:
        raise CertificateError("enumeration shows that the program is not as private as it claims")
    return Accepted(given.claim, given.neighbours, decision.inequalities)
