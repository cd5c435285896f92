"""The independent checker of statements: whoever checks a claim does not trust who made it.

It reads the statements that will run (`discreet.query.statement`), the declarations of the curator and the
numbers that the noise is calibrated for, and derives from the statements alone how far one person moves every
integer.  What no rule derives is refused.
"""

from discreet.query.proof.check import prove, prove_preparation
from discreet.query.proof.declared import (
    Blended,
    Chosen,
    Claim,
    Declarations,
    Divided,
    Kept,
    KeptByWeight,
    Noised,
    Reached,
    Swapped,
    SwappedAmong,
    TableDeclaration,
    Through,
)
from discreet.query.proof.derivation import Proof, ProvedStatement, Step, sealed

__all__ = [
    "Blended",
    "Chosen",
    "Claim",
    "Declarations",
    "Divided",
    "Kept",
    "KeptByWeight",
    "Noised",
    "Proof",
    "ProvedStatement",
    "Reached",
    "Step",
    "Swapped",
    "SwappedAmong",
    "TableDeclaration",
    "Through",
    "prove",
    "prove_preparation",
    "sealed",
]
