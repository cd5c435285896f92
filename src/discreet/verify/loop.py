"""Loops in both runs: cut by an invariant, or walked a few times."""

from dataclasses import replace

import z3

from discreet.verify.limit import tick
from discreet.verify.obligation import Clause, LoopRelation, PairState
from discreet.verify.shared import is_one_sided, is_quiet
from discreet.verify.syntax import (
    Array,
    Expr,
    Sample,
    Scalar,
    SensitiveQuery,
    While,
    assigned,
    lengthened,
    statements,
)
from discreet.verify.template import picked
from discreet.verify.term import Term, constants, memory_of, symbol
from discreet.verify.walk import require_walk, walked
from discreet.verify.walker import PairWalk, Then, merge


def is_apart(walk: PairWalk, statement: While) -> bool:
    """Return whether each run makes as many turns as it likes: it only computes, and they may not agree."""
    if walk.checked.is_shared(statement.condition) or is_one_sided(statement, walk.checked.program):
        return False
    return is_quiet(statement.body)


def loop(walk: PairWalk, statement: While, state: PairState, then: Then) -> None:
    """Walk through a loop, and then go on."""
    if is_one_sided(statement, walk.checked.program):
        require_walk(statement)
    if walk.unroll:
        unrolled(walk, statement, state, then, walk.unroll)
        return
    state = walk.flush(state)
    relation = cut(walk, statement, state)
    values = changed(walk, statement, state)
    walk.add(Clause("entry", statement.at, state.path, state.uses, (relation, values)))
    head = relation.state
    guard, head = going_on(walk, statement, head)
    if is_one_sided(statement, walk.checked.program):
        head = walk.flush(head)
    inside = replace(head, path=(*head.path, guard))

    def back(end: PairState) -> None:
        end = measure(walk, statement, inside, waits(walk, statement, inside, end))
        end = walk.flush(end)
        again = changed(walk, statement, end)
        walk.add(Clause("again", statement.at, end.path, end.uses, (relation, again)))

    inner(walk, statement, inside, back)
    then(replace(head, path=(*head.path, z3.Not(guard))))


def going_on(walk: PairWalk, statement: While, state: PairState) -> tuple[Term, PairState]:
    """Return whether the loop goes on, on which both runs must agree."""
    if is_apart(walk, statement):
        state, first, second = walk.value(statement.condition, state)
        return z3.simplify(z3.Or(first, second)), state
    if not is_one_sided(statement, walk.checked.program):
        state, guard = walk.agree(statement.condition, state)
        return guard, state
    state, first, second = walk.value(statement.condition, state)
    array, counter = walked(statement)
    longer, shorter = (first, second) if walk.direction == "remove" else (second, first)
    far, near = (state.left, state.right) if walk.direction == "remove" else (state.right, state.left)
    position = walk.inputs.positions[array]
    at = statement.condition.at
    lag = near[counter] == far[counter] - z3.If(position < far[counter], 1, 0)
    state = walk.later(state, "step", at, lag)
    state = walk.later(state, "same turns", at, z3.Implies(z3.And(longer, far[counter] != position), shorter))
    state = walk.later(state, "same end", at, z3.Implies(z3.Not(longer), z3.Not(shorter)))
    return z3.simplify(longer), state


def waits(walk: PairWalk, statement: While, head: PairState, end: PairState) -> PairState:
    """In a one-sided loop, let the run with the shorter list wait at the extra element."""
    if not is_one_sided(statement, walk.checked.program):
        return end
    array, counter = walked(statement)
    far = head.left if walk.direction == "remove" else head.right
    waiting = far[counter] == walk.inputs.positions[array]
    if walk.direction == "remove":
        return replace(end, right=merge(waiting, head.right, end.right))
    return replace(end, left=merge(waiting, head.left, end.left))


def unrolled(walk: PairWalk, statement: While, state: PairState, then: Then, turns: int) -> None:
    """Walk through a loop at most so many times."""
    tick()
    guard, state = going_on(walk, statement, state)
    if not z3.is_true(guard):
        then(replace(state, path=(*state.path, z3.simplify(z3.Not(guard)))))
    if z3.is_false(guard) or turns == 0:
        return
    inside = replace(state, path=(*state.path, guard))

    def again(end: PairState) -> None:
        unrolled(walk, statement, waits(walk, statement, inside, end), then, turns - 1)

    inner(walk, statement, inside, again)


def inner(walk: PairWalk, statement: While, inside: PairState, then: Then) -> None:
    """Walk through the body of a loop once."""
    if is_one_sided(statement, walk.checked.program):
        array, counter = walked(statement)
        far = inside.left if walk.direction == "remove" else inside.right
        walk.reading.walking = {counter: far[counter]}
        walk.waiting = far[counter] == walk.inputs.positions[array]
        end = inside
        for part in statement.body:
            end = walk.step(walk, part, end)
        walk.reading.walking = {}
        then(end)
    elif is_apart(walk, statement):
        then(each_its_turn(walk, statement, inside))
    else:
        walk.block(walk, statement.body, inside, then)


def each_its_turn(walk: PairWalk, statement: While, head: PairState) -> PairState:
    """Let each run make a turn where its own condition holds, and wait where it does not."""
    state, first, second = walk.value(statement.condition, head)
    outer, walk.live = walk.live, (z3.And(walk.live[0], first), z3.And(walk.live[1], second))
    for part in statement.body:
        state = walk.step(walk, part, state)
    walk.live = outer
    left, right = merge(first, state.left, head.left), merge(second, state.right, head.right)
    return replace(state, left=left, right=right)


def measure(walk: PairWalk, statement: While, head: PairState, end: PairState) -> PairState:
    """Require the loop's variant to stay non-negative and to decrease by one."""
    if walk.variants is None:
        return end
    variant = walk.variants.get(statement.loop)
    if variant is None:
        return end  # almost surely it ends all the same, which the kernel has to find by itself
    if is_apart(walk, statement):
        both = [sum(_rest(walk, variant, side, state) for side in (1, 2)) for state in (head, end)]
        return walk.later(end, "terminates", statement.at, both[1] <= both[0] - 1)
    side = 2 if walk.direction == "add" and is_one_sided(statement, walk.checked.program) else 1
    before, after = walk.reading.read(variant, side, head)[0], walk.reading.read(variant, side, end)[0]
    end = walk.later(end, "terminates", statement.at, before >= 0)
    return walk.later(end, "terminates", statement.at, after <= before - 1)


def _rest(walk: PairWalk, variant: Expr, side: int, state: PairState) -> Term:
    """Return how many turns one run may have left; below zero they are none."""
    value = walk.reading.read(variant, side, state)[0]
    return z3.If(value >= 0, value, 0)


def cut(walk: PairWalk, statement: While, state: PairState) -> LoopRelation:
    """Forget everything that the loop may change, and name what is left."""
    visit = sum(r.loop == statement.loop for r in walk.relations) + 1
    suffix = f"@{statement.loop}" if visit == 1 else f"@{statement.loop}.{visit}"
    touched = assigned(statement.body)
    sites = {s.site for s in statements(statement.body) if isinstance(s, Sample)}
    left, right = dict(state.left), dict(state.right)
    changing: list[Term] = []
    for name in sorted(touched & state.left.keys()):
        kind = walk.checked.types[name]
        if isinstance(kind, SensitiveQuery):
            continue
        if name in walk.checked.shared:
            left[name] = right[name] = _fresh(f"{name}{suffix}", kind)
            changing.append(left[name])
        else:
            left[name] = _fresh(f"{name}{{1}}{suffix}", kind)
            right[name] = _fresh(f"{name}{{2}}{suffix}", kind)
            changing += [left[name], right[name]]
    cost = dict(state.cost)
    for key in sorted(sites):
        cost[key] = z3.Real(f"moved({key}){suffix}")
        changing.append(cost[key])
    length = dict(state.length)
    for name in sorted(lengthened(statement.body) & state.length.keys()):
        length[name] = z3.Int(f"size({name}){suffix}")
        changing.append(length[name])
    fresh = replace(state, left=left, right=right, cost=cost, length=length)
    known = {term.get_id() for term in changing}
    kept = [*left.values(), *right.values(), *cost.values(), *length.values(), *walk.inputs.facts]
    rigid = [t for key, t in constants(*kept).items() if key not in known]
    rigid += [t for key, t in walk.result_symbols().items() if key not in {r.get_id() for r in rigid}]
    rigid.sort(key=str)
    told = _to_be_told(walk, statement, fresh)
    rigid += [term for _, term in told]
    relation = LoopRelation(f"loop{suffix}", statement.loop, tuple(changing), tuple(rigid), fresh, told)
    relation = replace(relation, state=replace(fresh, uses=(*state.uses, relation)))
    walk.relations.append(relation)
    return relation


def _to_be_told(walk: PairWalk, statement: While, state: PairState) -> tuple[tuple[str, Term], ...]:
    if walk.concentrated:
        return ()
    found = [n for n in picked(walk.checked, statement) if n in state.length]
    return tuple((name, walk.reading.ghost("value", name, state.length[name])) for name in found)


def _fresh(name: str, kind: Scalar | Array) -> Term:
    return memory_of(name, kind) if isinstance(kind, Array) else symbol(name, kind.kind)


def changed(walk: PairWalk, statement: While, state: PairState) -> tuple[Term, ...]:
    """Return the values that a state gives to what the loop may change, in the order of `cut`."""
    touched = assigned(statement.body)
    sites = {s.site for s in statements(statement.body) if isinstance(s, Sample)}
    values: list[Term] = []
    relation = next(r for r in reversed(walk.relations) if r.loop == statement.loop)
    for name in sorted(touched & relation.state.left.keys()):
        values.append(state.left[name])
        if name not in walk.checked.shared:
            values.append(state.right[name])
    values += [state.cost[key] for key in sorted(sites)]
    longer = lengthened(statement.body) & relation.state.length.keys()
    values += [state.length[name] for name in sorted(longer)]
    return tuple(values)
