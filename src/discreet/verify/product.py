"""The product program: two runs on neighbouring inputs, walked in step, and what must be proved about them.

Theorem (alignment).  Fix neighbours D1, D2 and a value w of the discrete part of the output: the branches
that append, the lengths of lists, the integers and truth values returned.  Let a rule move the t-th draw
of the first run by s_t, a function of w, the inputs, and the draws before t only.  Suppose that for all
draws under which M(D1) outputs w, the moved draws (i) take M(D2) through the same draws, (ii) to the same
w and the same continuous outputs, (iii) at total cost at most c, and (iv) stay in the support of their
laws.  Then Pr[M(D1) in S] <= exp(c) Pr[M(D2) in S] for all S.

Proof.  For fixed w the moves form a triangular map with unit Jacobian, hence injective and measure
preserving; its density ratio is at most exp(c); sum over the countably many w.

So the two runs need to agree only where they draw, append or loop; elsewhere each takes its own branch.  The
hypothesis "the first run outputs w" speaks of the first run alone and may therefore be used at any time.

This module generates the obligations, given the moves.  It does no searching, and the certificate checker
trusts nothing else.  A draw is always a fresh symbol, and its move is read in the state before the draw:
a move that mentions the drawn variable speaks of its old value.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.claim import polynomial, within_claim
from discreet.verify.draw import sample
from discreet.verify.law import site
from discreet.verify.loop import loop
from discreet.verify.neighbours import Direction, Inputs, Instance
from discreet.verify.obligation import Clause, PairState, System
from discreet.verify.reading import SymbolReading
from discreet.verify.shared import is_synchronised
from discreet.verify.syntax import (
    Append,
    Array,
    Assign,
    Element,
    Expr,
    If,
    Items,
    ProcedureCall,
    Put,
    Return,
    Sample,
    Statement,
    Variable,
    While,
    assigned,
    remembered,
    revised,
    statements,
)
from discreet.verify.term import Term, UnsupportedError, cast, choose, memory_of, real
from discreet.verify.walker import PairWalk, Then, merge


def obligations(
    checked: CheckedProgram,
    direction: Direction,
    moves: Mapping[int, Expr],
    variants: Mapping[int, Expr] | None = None,
    *,
    unknowns: Mapping[str, Term] | None = None,
    instance: Instance | None = None,
    unroll: int = 0,
    tails: Mapping[int, Fraction] | None = None,
) -> System:
    """Return what must be proved; with `unroll`, loops are walked that many times instead of cut."""
    inputs = Inputs(checked, direction, instance or Instance())
    draws = [s for s in statements(checked.program.body) if isinstance(s, Sample)]
    sites = {s.site: site(checked, s, inputs) for s in draws}
    reading = SymbolReading(checked, inputs, unknowns or {})
    walk = PairWalk(checked, direction, moves, variants, reading, sites, unroll, block, step, tails or {})
    start(walk)
    return System(tuple(walk.relations), tuple(walk.clauses), walk.inputs, walk.sites)


def start(walk: PairWalk) -> None:
    """Walk through the whole program."""
    at = walk.checked.program.at
    zero = {key: z3.RealVal(0) for key in walk.sites}
    state = PairState({}, {}, zero, {})
    for entry in walk.sites.values():
        for value in entry.positive:
            goal = z3.And(
                polynomial(value.numerator, {}, walk.inputs) > 0,
                polynomial(value.denominator, {}, walk.inputs) > 0,
            )
            walk.emit("positive scale", entry.statement.at, state, goal)
    block(walk, walk.checked.program.body, state, lambda _: None)
    if walk.checked.program.claim is None:
        raise UnsupportedError(f"line {at.line}: the program claims nothing; add ensures epsilon ...")


def block(walk: PairWalk, rest: tuple[Statement, ...], state: PairState, then: Then) -> None:
    """Walk through statements, and then go on."""
    for place, statement in enumerate(rest):
        following = rest[place + 1 :]
        match statement:
            case While():

                def after(
                    end: PairState, statement: While = statement, following: tuple[Statement, ...] = following
                ) -> None:
                    block(walk, following, told(walk, statement, end), then)

                loop(walk, statement, state, after)
                return
            case If(condition, positive, negative) if _loops(statement):
                state, first = walk.agree(condition, state)
                block(walk, positive + following, replace(state, path=(*state.path, first)), then)
                block(walk, negative + following, replace(state, path=(*state.path, z3.Not(first))), then)
                return
            case _:
                state = told(walk, statement, step(walk, statement, state))
    then(state)


def told(walk: PairWalk, statement: Statement, state: PairState) -> PairState:
    """Note which result is fixed by now: a variable that nothing assigns any more has its returned value."""
    body, target = walk.checked.program.body, assigned((statement,))
    place = next((n for n, other in enumerate(body) if other is statement), None)
    if place is None or walk.concentrated or not isinstance(body[-1], Return):
        return state
    for number, value in enumerate(body[-1].values, start=1):
        match value:
            case Variable(name) if name in target - assigned(body[place + 1 :]) and name in state.left:
                if not walk.is_list(value) and walk.checked.kind(value) in ("int", "bool"):
                    fact = _whole(state.left[name]) == z3.Int(f"result({number})")
                    state = replace(state, path=(*state.path, fact))
    return state


def step(walk: PairWalk, statement: Statement, state: PairState) -> PairState:
    """Walk through one statement that is not a loop."""
    match statement:
        case Assign(target, Items()):
            return begun(walk, target, replace(state, length={**state.length, target: z3.IntVal(0)}))
        case Assign(target, value):
            state, first, second = walk.value(value, state)
            return walk.set(state, target, first, second)
        case Append():
            return append(walk, statement, state)
        case Put(target, place, value, at):
            state, _, _ = walk.value(Element(target, place, at=at), state)  # what is changed must be there
            state, *places = walk.value(place, state)
            state, *values = walk.value(value, state)
            return kept(walk, target, state, places, values)
        case Sample():
            return sample(walk, statement, state)
        case If():
            return branch(walk, statement, state)
        case Return():
            finish(walk, statement, state)
            return replace(state, pending=())
        case While() | ProcedureCall():
            raise UnsupportedError("loops and calls are not simple statements")
    assert_never(statement)


def branch(walk: PairWalk, statement: If, state: PairState) -> PairState:
    """Walk through both branches of a conditional and put the states together."""
    condition = statement.condition
    if is_synchronised(statement):
        state, first = walk.agree(condition, state)
        second = first
    else:
        state, first, second = walk.value(condition, state)
        first, second = z3.simplify(first), z3.simplify(second)
        if walk.checked.is_shared(condition):
            second = first
    base = replace(state, pending=(), path=())
    yes = under(walk, statement.positive, base, (first, second))
    no = under(walk, statement.negative, base, (z3.Not(first), z3.Not(second)))
    # What only one run computes is already limited to that run.
    guards = (first, z3.Not(first)) if is_synchronised(statement) else (z3.BoolVal(True),) * 2
    guarded = [
        replace(
            p,
            formula=z3.Implies(guard, p.formula),
            path=None if p.path is None else (*state.path, *p.path),
        )
        for s, guard in zip((yes, no), guards, strict=True)
        for p in s.pending
    ]
    path = [z3.Implies(first, h) for h in yes.path] + [z3.Implies(z3.Not(first), h) for h in no.path]
    return replace(
        state,
        left=merge(first, yes.left, no.left),
        right={
            key: term if key not in walk.checked.shared else merge(first, yes.left, no.left)[key]
            for key, term in merge(second, yes.right, no.right).items()
        },
        cost={key: choose(first, yes.cost[key], no.cost[key]) for key in state.cost},
        length=merge(first, yes.length, no.length),
        pending=(*state.pending, *guarded),
        path=(*state.path, *path),
    )


def under(
    walk: PairWalk, rest: tuple[Statement, ...], state: PairState, live: tuple[Term, Term]
) -> PairState:
    """Walk through a branch that each run takes where its own condition holds."""
    outer = walk.live
    walk.live = z3.And(outer[0], live[0]), z3.And(outer[1], live[1])
    for statement in rest:
        state = step(walk, statement, state)
    walk.live = outer
    return state


def append(walk: PairWalk, statement: Append, state: PairState) -> PairState:
    """Let a list grow in both runs; what is returned must be the same."""
    target, at = statement.target, statement.at
    state, first, second = walk.value(statement.value, state)
    index = state.length[target]
    state = kept(walk, target, state, [index, index], [first, second])
    state = replace(state, length={**state.length, target: z3.simplify(index + 1)})
    if target not in walk.checked.returned_lists - revised(walk.checked.program.body):
        return state
    path: list[Term] = []
    if not walk.concentrated:
        path.append(walk.reading.ghost("tag", target, index) == statement.tag)
        kind = walk.checked.types[target]
        if isinstance(kind, Array) and kind.element.kind in ("int", "bool"):
            path.append(walk.reading.ghost("value", target, index) == _whole(first))
    state = replace(state, path=(*state.path, *path))
    return walk.later(state, "same output", at, _equal(first, second))


def begun(walk: PairWalk, target: str, state: PairState) -> PairState:
    """Begin a list; where its elements are remembered, what lies beyond its end is never read."""
    kind = walk.checked.types[target]
    if target not in remembered(walk.checked.program) or not isinstance(kind, Array):
        return state
    memory = memory_of(f"memory({target})", kind)
    return replace(state, left={**state.left, target: memory}, right={**state.right, target: memory})


def kept(walk: PairWalk, target: str, state: PairState, places: list[Term], values: list[Term]) -> PairState:
    """Remember an element of a list in both runs, where elements are remembered."""
    kind = walk.checked.types[target]
    if target not in state.left or not isinstance(kind, Array):
        return state
    left, right = (
        z3.simplify(z3.Store(memory[target], place, cast(value, kind.element.kind)))
        for memory, place, value in zip((state.left, state.right), places, values, strict=True)
    )
    right = left if target in walk.checked.shared else right
    return replace(state, left={**state.left, target: left}, right={**state.right, target: right})


def same_elements(walk: PairWalk, value: Variable, state: PairState) -> PairState:
    """Require that a list of which elements were changed ends alike in both runs."""
    name = value.name
    if name not in revised(walk.checked.program.body) or name in walk.checked.shared:
        return state
    place = z3.Int(f"somewhere~{next(walk.serial)}")
    inside = z3.And(place >= 0, place < state.length[name])
    same = z3.Select(state.left[name], place) == z3.Select(state.right[name], place)
    return walk.later(state, "same output", value.at, z3.Implies(inside, same))


def finish(walk: PairWalk, statement: Return, state: PairState) -> None:
    """Require that both runs return the same, at a price within the claim."""
    for place, value in enumerate(statement.values, start=1):
        if isinstance(value, Variable) and walk.is_list(value):
            state = same_elements(walk, value, state)
            continue
        state, first, second = walk.value(value, state)
        if walk.checked.kind(value) in ("int", "bool") and not walk.concentrated:
            state = replace(state, path=(*state.path, _whole(first) == z3.Int(f"result({place})")))
        state = walk.later(state, "same output", value.at, _equal(first, second))
    walk.add(Clause("end", statement.at, state.path, state.uses, z3.BoolVal(True)))
    state = walk.later(
        state,
        "cost",
        statement.at,
        within_claim(walk.checked.program.claim, walk.sites, state.cost, walk.inputs),
    )
    walk.flush(state)


def _loops(statement: If) -> bool:
    return any(
        isinstance(s, While) for s in (*statements(statement.positive), *statements(statement.negative))
    )


def _whole(term: Term) -> Term:
    return z3.If(term, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(term) else term


def _equal(first: Term, second: Term) -> Term:
    if z3.is_arith(first):
        return real(first) == real(second)
    return first == second
