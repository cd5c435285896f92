"""The state of two runs walked together, what is to be proved of them, and the shapes of statements."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import Term, choose, refuse

Node = tree.Statement | tree.Expr
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Part:
    """The proof for one order of the neighbours: terms by the numbers of draws and loops."""

    direction: Mapping[str, str]
    moves: Mapping[int, tree.Expr]
    variants: Mapping[int, tree.Expr]
    invariants: Mapping[int, tuple[tuple[tree.Expr, ...], ...]]
    """For each visit of a loop in the order of the text, what holds whenever the loop comes round."""
    waits: Mapping[int, tuple[tree.Expr, ...]] = field(default_factory=dict)
    """When the first run, and when the second run, sits out a turn of a loop."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """Something to prove: the hypotheses imply the goal; until then there is a doubt."""

    doubt: str
    node: Node
    hypotheses: tuple[Term, ...]
    goal: Term


@dataclass(frozen=True, slots=True)
class State:
    """Both runs at one moment; `path` is what the first run has done, `due` what is still to be proved."""

    values: Mapping[tuple[str, int], Term]
    moved: Mapping[int, Term]
    length: Mapping[str, Term]
    path: tuple[Term, ...] = ()
    due: tuple[Obligation, ...] = ()


class WiderError(Exception):
    """A variable that began as an integer becomes a real number."""


def quiet(block: tuple[tree.Statement, ...]) -> bool:
    """Return whether statements only compute, so that each run may take its own branches."""
    return all(isinstance(s, tree.Assign | tree.If) for s in tree.statements(block))


def merged(test: Term, yes: Mapping[Key, Term], no: Mapping[Key, Term]) -> dict[Key, Term]:
    """Return what two branches leave behind, of what both of them have."""
    return {key: choose(test, term, no[key]) for key, term in yes.items() if key in no}


def shapely(program: tree.Program) -> None:
    """Refuse a tree in which one number, name or list could mean two things."""
    everything, names = list(tree.statements(program.body)), [p.name for p in program.parameters]
    for kind, number in ((tree.Sample, "site"), (tree.Append, "tag"), (tree.While, "loop")):
        numbers = [getattr(s, number) for s in everything if isinstance(s, kind)]
        if len(set(numbers)) != len(numbers):
            raise refuse(f"two statements have one {number}")
    starts = [s for s in everything if isinstance(s, tree.Assign) and isinstance(s.value, tree.Items)]
    if len({s.target for s in starts}) != len(starts) or any(s not in program.body for s in starts):
        raise refuse("a list starts once, outside of loops and branches")
    if len(set(names)) != len(names) or tree.assigned(program.body) & set(names):
        raise refuse("a parameter has its name and its value for itself")
    if [s for s in everything if isinstance(s, tree.Return)] != [*program.body[-1:]]:
        raise refuse("a program returns once, at its end")
