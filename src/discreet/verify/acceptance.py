"""Checking a certificate: the text gives the tree, the certificate gives terms, the kernel decides.

The certificate must be made out to this very text, claim and neighbours.  Whatever it says, and whatever goes
wrong while it is checked, the answer is what the kernel has proved, or CertificateError.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import z3

from discreet.errors import CertificateError
from discreet.verify import kernel
from discreet.verify.certificate import Certificate, claim_text, listed, relations, terms
from discreet.verify.check import CheckedProgram, parse
from discreet.verify.grammar import read
from discreet.verify.syntax import Array, Expr, Scalar

PATIENCE = 60.0
"""Seconds for one certificate."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A certificate that was checked: what it proves, and how many obligations that took."""

    claim: str
    neighbours: tuple[str, ...]
    obligations: int


def check_certificate(program: str, certificate: Certificate | str, *, seconds: float = PATIENCE) -> Accepted:
    """Return what a certificate proves about a program text; raises CertificateError if it proves nothing."""
    checked, given = _made_out(program, certificate)
    with refusing():
        if given.method == "enumeration":
            laws = {name: {o: read(w) for o, w in law.items()} for name, law in given.laws.items()}
            count = _enumerated(checked, laws, seconds)
        else:
            count = kernel.accept(checked.program, _parts(given), seconds, reals_of(checked))
    return Accepted(given.claim, given.neighbours, count)


def _enumerated(checked: CheckedProgram, laws: Mapping[str, Mapping[str, Expr]], seconds: float) -> int:
    """Let the kernel add up laws, in a unit in which it can."""
    unit, deadline = Fraction(1), time.monotonic() + seconds
    while True:
        try:
            left = deadline - time.monotonic()
            return kernel.accept_laws(checked.program, listed(checked.program, laws), left, unit)
        except kernel.FinerError as finer:
            unit /= int(str(finer))


@contextmanager
def refusing() -> Iterator[None]:
    """Turn whatever goes wrong with a senseless certificate into a refusal: no error ever accepts one."""
    try:
        yield
    except CertificateError:
        raise
    except (z3.Z3Exception, ArithmeticError, LookupError, ValueError, TypeError, AttributeError) as e:
        raise CertificateError(
            f"the certificate cannot be read against the program ({type(e).__name__})"
        ) from e
    except RecursionError as e:
        raise CertificateError("the certificate or the program is too large") from e


def scripts(program: str, certificate: Certificate | str) -> list[str]:
    """Return every obligation of an alignment as an SMT-LIB script whose expected answer is unsat."""
    checked, given = _made_out(program, certificate)
    found: list[str] = []
    with refusing():
        walks = kernel.walks(checked.program, _parts(given), reals_of(checked))
    for walk in walks:
        for item in walk.obligations:
            solver, denied = z3.Solver(), (*item.hypotheses, z3.Not(item.goal))
            solver.add(*walk.pair.facts, *denied)
            place = f"; line {item.node.at.line}, column {item.node.at.column}: {item.doubt}, unless unsat\n"
            found.append(f"{place}(set-logic ALL)\n{solver.to_smt2()}")
    return found


def _parts(given: Certificate) -> list[kernel.Part]:
    return [terms(part, concentrated=given.method == "concentration") for part in given.parts]


def reals_of(checked: CheckedProgram) -> frozenset[str]:
    """Return the variables and lists that hold real numbers, also where they begin as integers."""
    kinds = Scalar("real"), Array(Scalar("real"))
    return frozenset(name for name, kind in checked.types.items() if kind in kinds)


def _made_out(program: str, certificate: Certificate | str) -> tuple[CheckedProgram, Certificate]:
    given = Certificate.from_json(certificate) if isinstance(certificate, str) else certificate
    checked = parse(program)
    if given.program != checked.digest:
        raise CertificateError("the certificate belongs to another program text")
    if given.claim != claim_text(checked.program) or given.neighbours != relations(checked.program):
        raise CertificateError("the certificate states another claim or other neighbours than the program")
    if bool(given.laws) != (given.method == "enumeration") or bool(given.parts) == bool(given.laws):
        raise CertificateError("an alignment has parts, an enumeration has laws")
    return checked, given
