"""Facts about sums: what one element adds to a variable, at the place where two lists differ.

A loop that walks over a list and adds to a variable something that depends on the element alone leaves the
two runs as far apart as the differing elements' contributions, once it has passed their place.  Which cell of
a histogram an element falls into is the plainest such contribution; over all cells together, one element
replaced moves two of them, and one added or removed moves one.
"""

from collections.abc import Iterator
from itertools import product

import z3

from discreet.verify.obligation import LoopRelation, System
from discreet.verify.syntax import Append, Array, Number, Put, statements
from discreet.verify.term import Term, constants, number, real

PLACE = z3.Int("place(0)")
"""Any place of a list."""


def differing(system: System, name: str) -> tuple[Term, Term]:
    """Return the elements of both runs at the place where a list differs; the same twice if one lacks it."""
    inputs = system.inputs
    relation = inputs.relation(name)
    if relation is not None and relation.kind == "add-remove":
        delta = inputs.deltas[name]
        return (delta, delta)
    place = inputs.positions[name]
    first = inputs.element(name, place, 1, shared=False)
    return first, inputs.element(name, place, 2, shared=False)


def contributions(relation: LoopRelation, system: System) -> Iterator[Term]:
    """Yield how far apart the runs are in variables to which each turn adds what its element is worth."""
    inputs, state = system.inputs, relation.state
    own = {term.get_id() for term in relation.changing}
    for clause in system.clauses:
        if clause.kind != "again" or clause.head[0] is not relation:
            continue
        after = dict(zip((t.get_id() for t in relation.changing), clause.head[1], strict=True))
        for name, first in state.left.items():
            if first.get_id() not in own or name in inputs.checked.shared or not z3.is_arith(first):
                continue
            second = state.right[name]
            # The run with the longer list never waits, so what a turn adds is plain to see in it.
            seen = second if "add" in inputs.sense.values() else first
            added = z3.simplify(after[seen.get_id()] - seen, som=True)
            if seen.get_id() in constants(added):
                added = z3.simplify(z3.substitute(added, (seen, _zero(seen))))
            yield from _worth(relation, system, added, real(second) - real(first))


def opened(fact: Term) -> Term:
    """Return a fact about every place as one about any place, of which a model can tell whether it holds."""
    return z3.substitute_vars(fact.body(), PLACE) if z3.is_quantifier(fact) else fact


def memories(relation: LoopRelation, system: System, bounds: list[Term]) -> Iterator[Term]:
    """Yield how far apart the runs are at every place of a list that a program reads or changes."""
    inputs, state = system.inputs, relation.state
    own = {term.get_id() for term in relation.changing}
    for name, first in state.left.items():
        second = state.right[name]
        if first.get_id() not in own or not z3.is_array(first) or name in inputs.checked.shared:
            continue
        yield first == second
        distance = real(z3.Select(second, PLACE)) - real(z3.Select(first, PLACE))
        for bound in bounds:
            yield from (z3.ForAll(PLACE, fact) for fact in (distance <= bound, distance >= -bound))
        counters = [t for n, t in state.left.items() if n in inputs.checked.shared and z3.is_int(t)]
        counters = [t for t in counters if t.get_id() in own]
        yield from _led(distance, counters, results(relation), bounds)
        inside = z3.And(PLACE >= 0, state.length[name] > PLACE)
        for least, most in _written(system, name):
            each = [
                z3.And(z3.Select(t, PLACE) >= least, z3.Select(t, PLACE) <= most) for t in (first, second)
            ]
            yield z3.ForAll(PLACE, z3.Implies(inside, z3.And(*each)))
        for ends in _ends(system):
            yield z3.ForAll(PLACE, z3.Or(distance == 0, *(end == PLACE for end in ends)))
        for counter in counters:
            yield z3.ForAll(PLACE, z3.Or(counter <= PLACE, distance == 0))
            for array, position in inputs.positions.items():
                copied = z3.If(position == PLACE, real(inputs.deltas[array]), z3.RealVal(0))
                inside = z3.If(position < inputs.size(array, 1), copied, z3.RealVal(0))
                yield z3.ForAll(PLACE, distance == z3.If(position < counter, copied, z3.RealVal(0)))
                yield z3.ForAll(PLACE, z3.Or(counter > PLACE, distance == inside))
        for clause in system.clauses:
            if clause.kind == "again" and clause.head[0] is relation:
                after = dict(zip((t.get_id() for t in relation.changing), clause.head[1], strict=True))
                seen = second if "add" in inputs.sense.values() else first
                empty = z3.K(z3.IntSort(), _zero(z3.Select(seen, PLACE)))
                added = z3.Select(z3.substitute(after[seen.get_id()], (seen, empty)), PLACE)
                plain = z3.simplify(added, expand_select_store=True, expand_select_ite=True)
                yield from (z3.ForAll(PLACE, f) for f in _worth(relation, system, plain, distance))


def _written(system: System, name: str) -> Iterator[tuple[Term, Term]]:
    """Yield the least and the greatest number that is ever put into a list, if they are numerals."""
    values = [
        statement.value
        for statement in statements(system.inputs.checked.program.body)
        if isinstance(statement, Append | Put) and statement.target == name
    ]
    numbers = [value.value for value in values if isinstance(value, Number)]
    if numbers and len(numbers) == len(values):
        yield number(min(numbers)), number(max(numbers))


def results(relation: LoopRelation) -> list[Term]:
    """Return the discrete values that the program is to return, or to append after a loop."""
    returned = [term for term in relation.rigid if str(term).startswith("result(")]
    return [*returned, *(term for _, term in relation.told)]


def _led(distance: Term, counters: list[Term], told: list[Term], bounds: list[Term]) -> Iterator[Term]:
    """Yield that a list is further ahead at the place that is told than anywhere else."""
    for result, bound, multiple in product(told, bounds, (0, 1)):
        limit = z3.simplify(multiple * bound)
        yield z3.ForAll(PLACE, z3.Or(result == PLACE, distance <= limit))
        yield z3.ForAll(PLACE, z3.Or(result == PLACE, distance >= -limit))
        for counter, sign in product(counters, (1, -1)):
            here = z3.Or(result != PLACE, counter <= PLACE, PLACE < 0)
            yield z3.ForAll(PLACE, z3.Or(here, distance >= z3.simplify(sign * limit)))
            yield z3.ForAll(PLACE, z3.Or(here, distance <= z3.simplify(sign * limit)))


def pointed(relation: LoopRelation, system: System, guards: list[Term], bounds: list[Term]) -> Iterator[Term]:
    """Yield how far apart the runs are in a list, each at a place of its own that it has found."""
    state, shared = relation.state, system.inputs.checked.shared
    own = {term.get_id() for term in relation.changing}
    lists = [n for n, t in state.left.items() if z3.is_array(t) and n not in shared]
    found = [n for n, t in state.left.items() if z3.is_int(t) and t.get_id() in own and n not in shared]
    for name, place in product(lists, found):
        here = z3.Select(state.left[name], state.left[place])
        distance = real(z3.Select(state.right[name], state.right[place])) - real(here)
        for guard, bound, multiple in product(guards, bounds, (-1, 0, 1)):
            limit = z3.simplify(multiple * bound)
            yield z3.Implies(guard, distance <= limit)
            yield z3.Implies(guard, distance >= limit)


def _zero(term: Term) -> Term:
    return z3.IntVal(0) if z3.is_int(term) else z3.RealVal(0)


def _worth(relation: LoopRelation, system: System, added: Term, distance: Term) -> Iterator[Term]:
    inputs, state = system.inputs, relation.state
    for (name, _), (element, _) in list(inputs.elements.items()):
        if name not in inputs.positions:
            continue
        symbols = [t for t in constants(element).values() if str(t).startswith(f"{name}[")]
        if len(symbols) != 1 or symbols[0].get_id() not in constants(added):
            continue
        one, two = differing(system, name)
        place, worth = inputs.positions[name], []
        for value in (one, two):
            chosen = z3.substitute(added, (element, value)) if not z3.is_const(element) else added
            worth.append(real(z3.simplify(z3.substitute(chosen, (symbols[0], value)))))
        how = inputs.relation(name)
        if how is not None and how.kind == "add-remove":
            gone = inputs.sense[name] == "remove"
            change, far = (-worth[0] if gone else worth[0]), state.left if gone else state.right
            counters = [t for t in far.values() if z3.is_int(t)]
        else:
            change = worth[1] - worth[0]
            counters = [t for n, t in state.left.items() if n in inputs.checked.shared and z3.is_int(t)]
        for counter in counters:
            yield distance == z3.If(place < counter, change, z3.RealVal(0))


def _ends(system: System) -> Iterator[list[Term]]:
    """Yield the integers at the place where a list differs, in each run: cells into which a record falls."""
    for parameter in system.inputs.checked.program.parameters:
        name, kind = parameter.name, parameter.type
        if name in system.inputs.positions and isinstance(kind, Array) and kind.element.kind == "int":
            one, two = differing(system, name)
            yield [one] if one.eq(two) else [one, two]


def cells(relation: LoopRelation, system: System, counters: list[Term]) -> Iterator[Term]:
    """Yield bounds on movement in loops over the cells of a histogram."""
    own = {term.get_id() for term in relation.changing}
    moved = [t for t in relation.state.cost.values() if t.get_id() in own]
    for counter, ends in product(counters, _ends(system)):
        passed = z3.Sum([z3.If(end < counter, z3.RealVal(1), z3.RealVal(0)) for end in ends])
        yield from (spent <= passed for spent in moved)
