"""Two runs of a program in one state: what is known of them, and the collecting of what must be proved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.law import Site
from discreet.verify.limit import tick
from discreet.verify.neighbours import Direction, Inputs
from discreet.verify.obligation import Clause, LoopRelation, PairState, Pending
from discreet.verify.reading import SymbolReading
from discreet.verify.shared import is_concentrated
from discreet.verify.syntax import Expr, Return, Scalar, Statement, TextPosition, Variable
from discreet.verify.term import Term, UnsupportedError, cast, choose

Then = Callable[[PairState], None]
MOST_CLAUSES = 4000
"""Obligations of one program; conditionals that contain loops double them."""


@dataclass(slots=True)
class PairWalk:
    """Two runs of a program walked in step; collects what must be proved."""

    checked: CheckedProgram
    direction: Direction
    moves: Mapping[int, Expr]
    variants: Mapping[int, Expr] | None
    reading: SymbolReading
    sites: Mapping[int, Site]
    unroll: int
    block: Callable[["PairWalk", tuple[Statement, ...], PairState, Then], None]
    step: Callable[["PairWalk", Statement, PairState], PairState]
    tails: Mapping[int, Fraction] = field(default_factory=dict)
    """Beyond how many scales draws are given up."""
    relations: list[LoopRelation] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    serial: count = field(default_factory=lambda: count(1))  # type: ignore[type-arg]
    waiting: Term = None
    """Whether the run with the shorter list waits, in the one-sided loop being walked."""
    live: tuple[Term, Term] = (z3.BoolVal(True), z3.BoolVal(True))
    """Where each run takes the branch being walked: elsewhere it computes nothing."""

    @property
    def inputs(self) -> Inputs:
        """Return the inputs of both runs."""
        return self.reading.inputs

    @property
    def concentrated(self) -> bool:
        """Return whether the claim is one of zero-concentrated privacy."""
        return is_concentrated(self.checked.program)

    # Clauses

    def add(self, clause: Clause) -> None:
        """Note an obligation."""
        tick()
        if len(self.clauses) >= MOST_CLAUSES:
            raise UnsupportedError(f"there are more than {MOST_CLAUSES} things to prove")
        self.clauses.append(clause)

    def emit(self, kind: str, at: TextPosition, state: PairState, goal: Term) -> None:
        """Require a formula in a state."""
        goal = z3.simplify(goal)
        if not z3.is_true(goal):
            self.add(Clause(kind, at, state.path, state.uses, goal))

    def flush(self, state: PairState) -> PairState:
        """Require what has been put off, now that the first run's behaviour up to here is known."""
        for item in state.pending:
            known = state if item.path is None else replace(state, path=item.path)
            self.emit(item.kind, item.at, known, item.formula)
        return replace(state, pending=())

    def before(self, state: PairState, kind: str, at: TextPosition, goal: Term) -> PairState:
        """Require a formula under what is known so far: a value must exist before anything is said of it."""
        goal = z3.simplify(goal)
        if z3.is_true(goal):
            return state
        return replace(state, pending=(*state.pending, Pending(kind, goal, at, state.path)))

    def later(self, state: PairState, kind: str, at: TextPosition, goal: Term) -> PairState:
        """Require a formula once the first run's behaviour up to the next loop is known."""
        goal = z3.simplify(goal)
        if z3.is_true(goal):
            return state
        return replace(state, pending=(*state.pending, Pending(kind, goal, at)))

    # Expressions

    def value(self, expression: Expr, state: PairState) -> tuple[PairState, Term, Term]:
        """Return an expression in both runs, noting that it is defined."""
        first, needs = self.reading.read(expression, 1, state)
        second, more = self.reading.read(expression, 2, state)
        if self.reading.walking:
            # The waiting run computes nothing, so nothing has to be defined for it.
            needs, more = (
                [z3.Implies(z3.Not(self.waiting), n) for n in group] if near else group
                for group, near in ((needs, self.direction == "add"), (more, self.direction == "remove"))
            )
        elif self.checked.is_shared(expression) and self.live[0].eq(self.live[1]):
            more = []
        for live, group in zip(self.live, (needs, more), strict=True):
            for need in group:
                state = self.before(state, "defined", expression.at, z3.Implies(live, need))
        return state, first, second

    def set(self, state: PairState, target: str, first: Term, second: Term) -> PairState:
        """Assign a variable in both runs."""
        kind = self.checked.types[target]
        if not isinstance(kind, Scalar):
            raise UnsupportedError(f"{target} is not a number")
        first, second = z3.simplify(cast(first, kind.kind)), z3.simplify(cast(second, kind.kind))
        if target in self.checked.shared:
            second = first
        return replace(state, left={**state.left, target: first}, right={**state.right, target: second})

    def agree(self, condition: Expr, state: PairState) -> tuple[PairState, Term]:
        """Require both runs to decide a condition alike; return what the first run decides."""
        state, first, second = self.value(condition, state)
        if not self.checked.is_shared(condition):
            state = self.later(state, "same branch", condition.at, first == second)
        return state, z3.simplify(first)

    def result_symbols(self) -> dict[int, Term]:
        """Return the ghosts of the discrete values that are returned."""
        returned = self.checked.program.body[-1]
        found: dict[int, Term] = {}
        if isinstance(returned, Return) and not self.concentrated:
            for place, value in enumerate(returned.values, start=1):
                if self.is_list(value) or self.checked.kind(value) not in ("int", "bool"):
                    continue
                term = z3.Int(f"result({place})")
                found[term.get_id()] = term
                self.reading.remembered.append(term)
        return found

    def is_list(self, value: Expr) -> bool:
        """Return whether a returned value is a list."""
        return isinstance(value, Variable) and value.name in self.checked.returned_lists


def merge(condition: Term, positive: Mapping[str, Term], negative: Mapping[str, Term]) -> dict[str, Term]:
    """Return the variables after a conditional."""
    return {key: choose(condition, positive[key], negative[key]) for key in positive if key in negative}
