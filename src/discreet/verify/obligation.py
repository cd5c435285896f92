"""What must be proved of a product program: clauses over the unknown invariants of its loops."""

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.verify.law import Site
from discreet.verify.neighbours import Inputs
from discreet.verify.syntax import TextPosition
from discreet.verify.term import Term


@dataclass(frozen=True, slots=True)
class PairState:
    """Both runs at one moment: their variables, the movement spent at each site, and how they came here."""

    left: Mapping[str, Term]
    right: Mapping[str, Term]
    cost: Mapping[int, Term]
    length: Mapping[str, Term]
    path: tuple[Term, ...] = ()
    uses: tuple["LoopRelation", ...] = ()
    pending: tuple["Pending", ...] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """Something to prove, under a path, or once the first run's behaviour up to the next loop is known."""

    kind: str
    formula: Term
    at: TextPosition
    path: tuple[Term, ...] | None = None


@dataclass(frozen=True, slots=True)
class LoopRelation:
    """The unknown invariant of one loop: its changing and rigid symbols, and the state they stand for."""

    name: str
    loop: int
    changing: tuple[Term, ...]
    rigid: tuple[Term, ...]
    state: PairState
    told: tuple[tuple[str, Term], ...] = ()
    """Lists to which the program will append what this loop finds, with the value that it will be."""


@dataclass(frozen=True, slots=True)
class Clause:
    """body and the used invariants imply the head: an instance of an invariant, or a formula to prove."""

    kind: str
    at: TextPosition
    body: tuple[Term, ...]
    uses: tuple[LoopRelation, ...]
    head: Term | tuple[LoopRelation, tuple[Term, ...]]


@dataclass(frozen=True, slots=True)
class System:
    """All obligations of one direction."""

    relations: tuple[LoopRelation, ...]
    clauses: tuple[Clause, ...]
    inputs: Inputs
    sites: Mapping[int, Site]
