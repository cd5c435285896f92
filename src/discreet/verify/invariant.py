"""Finding loop invariants: Z3's Horn solver and Houdini, side by side.

The Horn solver invents formulas; it is quick, finds joint potentials by itself, but gives up where
arithmetic is not linear.  Houdini starts from a list of plausible facts about distances, counters and
movements, and discards those that are not preserved until the rest is; it cannot invent, but never loses
its way.  Neither is trusted: what they return is checked again, clause by clause.
"""

from collections.abc import Iterator, Mapping
from itertools import product

import z3

from discreet.verify.contribution import cells, contributions, memories, opened, pointed, results
from discreet.verify.discharge import SLOWEST, WORK, goal, hypotheses, instance, solver
from discreet.verify.limit import milliseconds, tick
from discreet.verify.obligation import LoopRelation, System
from discreet.verify.several import several, told
from discreet.verify.syntax import Array, Number, Scalar, While, statements, subexpressions
from discreet.verify.term import Term, absolute, constants, real
from discreet.verify.written import words

Invariants = Mapping[str, Term]


def spacer(system: System, timeout: int = 3000) -> Invariants | None:
    """Return invariants found by the Horn solver, or None."""
    predicates = {
        r.name: z3.Function(r.name, *(p.sort() for p in (*r.changing, *r.rigid)), z3.BoolSort())
        for r in system.relations
    }

    def applied(relation: LoopRelation, values: tuple[Term, ...]) -> Term:
        return predicates[relation.name](*values, *relation.rigid)

    horn = z3.SolverFor("HORN")
    horn.set("rlimit", timeout * WORK)
    horn.set("timeout", milliseconds(SLOWEST * timeout))
    for clause in system.clauses:
        match clause.head:
            case (relation, values):
                head = applied(relation, values)
            case formula:
                head = formula
        body = [*clause.body, *(applied(r, r.changing) for r in clause.uses)]
        body += system.inputs.facts_for([*body, head])
        everything = list(constants(*body, head).values())
        rule = z3.Implies(z3.And(*body), head) if body else head
        horn.add(z3.ForAll(everything, rule) if everything else rule)
    try:
        if horn.check() != z3.sat:
            return None
        model = horn.model()
    except z3.Z3Exception:
        return None
    found: dict[str, Term] = {}
    for relation in system.relations:
        meaning = model[predicates[relation.name]]
        if not isinstance(meaning, z3.FuncInterp) or meaning.num_entries():
            return None
        # Not model.eval: it would also fill in the values that the model gives to the loop's symbols.
        formula = z3.substitute_vars(meaning.else_value(), *relation.changing, *relation.rigid)
        allowed = {t.get_id() for t in (*relation.changing, *relation.rigid)}
        if any(key not in allowed for key in constants(formula)) or _has_variables(formula):
            return None
        found[relation.name] = formula
    return found


def _has_variables(formula: Term) -> bool:
    stack = [formula]
    while stack:
        term = stack.pop()
        if z3.is_quantifier(term) or z3.is_var(term):
            return True
        stack.extend(term.children())
    return False


def houdini(system: System, rounds: int = 12, timeout: int = 1500) -> Invariants | None:
    """Return the conjunction of all candidate facts that are jointly preserved."""
    kept = {r.name: _writable(r, system, list(candidates(r, system))) for r in system.relations}
    moving = [clause for clause in system.clauses if isinstance(clause.head, tuple)]
    for _ in range(rounds):
        tick()
        invariants = {name: z3.And(*facts) if facts else z3.BoolVal(True) for name, facts in kept.items()}
        changed = False
        for clause in moving:
            relation, values = clause.head
            query = solver(timeout)
            query.add(*hypotheses(clause, system, invariants, goal(clause, invariants)))
            survivors = _preserved(query, relation, values, kept[relation.name])
            if len(survivors) < len(kept[relation.name]):
                kept[relation.name] = survivors
                invariants = {
                    **invariants,
                    relation.name: z3.And(*survivors) if survivors else z3.BoolVal(True),
                }
                changed = True
        if not changed:
            return {name: _slim(facts) for name, facts in kept.items()}
    return None


def _writable(relation: LoopRelation, system: System, facts: list[Term]) -> list[Term]:
    """Return the facts that a certificate has words for."""
    known = words(relation, system.inputs)
    return [fact for fact in facts if all(key in known for key in constants(fact))]


def _preserved(
    query: z3.Solver, relation: LoopRelation, values: tuple[Term, ...], facts: list[Term]
) -> list[Term]:
    """Drop the facts that some model of the clause violates, many at a time."""
    alive = list(facts)
    shown = {fact.get_id(): opened(instance(relation, fact, values)) for fact in facts}
    while alive:
        tick()
        query.push()
        query.add(z3.Not(z3.And(*(shown[f.get_id()] for f in alive))))
        answer = query.check()
        model = query.model() if answer == z3.sat else None
        query.pop()
        if answer == z3.unsat:
            return alive
        if model is None:
            return [f for f in alive if _single(query, shown[f.get_id()])]
        rest = [f for f in alive if not z3.is_false(model.eval(shown[f.get_id()], model_completion=True))]
        alive = rest if len(rest) < len(alive) else [f for f in alive if _single(query, shown[f.get_id()])]
    return alive


def _single(query: z3.Solver, fact: Term) -> bool:
    query.push()
    query.add(z3.Not(fact))
    answer = query.check()
    query.pop()
    return bool(answer == z3.unsat)


def _slim(facts: list[Term]) -> Term:
    """Return the conjunction without facts that the others imply."""
    kept = list(facts)
    for fact in reversed(facts):
        others = [f for f in kept if f is not fact]
        query = solver(300)
        query.add(*others, z3.Not(fact))
        if query.check() == z3.unsat:
            kept = others
    return z3.And(*kept) if kept else z3.BoolVal(True)


def candidates(relation: LoopRelation, system: System) -> Iterator[Term]:
    """Yield plausible facts about the state at the head of a loop."""
    state, inputs = relation.state, system.inputs
    own = {t.get_id() for t in relation.changing}
    program = inputs.checked.program
    counters = [t for n, t in state.left.items() if n in inputs.checked.shared and z3.is_int(t)]
    counters += list(state.length.values())
    counters = [t for t in counters if t.get_id() in own or z3.is_int_value(t)]
    changing_counters = [t for t in counters if t.get_id() in own]
    sizes = [inputs.size(p.name, 1) for p in program.parameters if f"{p.name}" and _is_list(p.type)]
    limits = sizes + [
        inputs.public(p.name) for p in program.parameters if not p.private and _is_integer(p.type)
    ]
    limits += _numbers(relation.loop, system)
    bounds = _bounds(system)
    pairs = [
        (state.left[n], state.right[n])
        for n in state.left
        if n not in inputs.checked.shared and state.left[n].get_id() in own
    ]
    for counter in changing_counters:
        yield counter >= 0
        for limit in limits:
            yield counter <= limit
            if z3.is_const(limit) and not z3.is_int_value(limit):
                yield z3.Or(counter <= limit, counter == 0)
        for other in changing_counters:
            if other is not counter:
                yield counter <= other
                yield counter == other
    guards = [z3.BoolVal(True)] if told(relation, system) else _guards(relation, system, changing_counters)
    yield from memories(relation, system, bounds)
    yield from pointed(relation, system, guards, bounds)
    for first, second in pairs:
        if z3.is_array(first):
            continue
        if z3.is_bool(first):
            yield first == second
            continue
        for start in _starts(relation, system, first):
            yield (first == start) == (second == start)
            for side in (first, second):
                yield side >= start
                yield from (side < counter for counter in changing_counters if z3.is_int(side))
            for result in results(relation):
                yield _under(z3.Or(first == start, first == result), first == second)
        for guard in guards:
            yield _under(guard, first == second)
            for bound in bounds:
                for multiple in (-2, -1, 0, 1, 2):
                    limit = z3.simplify(multiple * bound)
                    distance = real(second) - real(first)
                    yield _under(guard, distance <= limit)
                    yield _under(guard, distance >= limit)
        for counter in changing_counters:
            if z3.is_int(first):
                yield z3.Implies(counter > 0, first < counter)
                yield z3.Implies(counter > 0, second < counter)
                yield first >= 0
        yield from _one_change(first, second, counters, system)
    if told(relation, system):
        yield from several(relation, system, changing_counters, bounds)
    yield from contributions(relation, system)
    yield from cells(relation, system, changing_counters)
    yield from _movements(relation, system, changing_counters, limits, bounds)


def _starts(relation: LoopRelation, system: System, symbol: Term) -> list[Term]:
    """Return the integers that a variable has when a loop begins: often they mean that nothing was found."""
    place = next(n for n, term in enumerate(relation.changing) if term.eq(symbol))
    heads = [c.head for c in system.clauses if c.kind == "entry" and isinstance(c.head, tuple)]
    return [values[place] for own, values in heads if own is relation and z3.is_int_value(values[place])]


def _under(guard: Term, fact: Term) -> Term:
    return fact if z3.is_true(guard) else z3.Implies(guard, fact)


def _is_list(kind: object) -> bool:
    return isinstance(kind, Array)


def _is_integer(kind: object) -> bool:
    return isinstance(kind, Scalar) and kind.kind == "int"


def _numbers(number: int, system: System) -> list[Term]:
    """Return the integers in the condition of a loop: it may end there, or one further."""
    body = system.inputs.checked.program.body
    conditions = [s.condition for s in statements(body) if isinstance(s, While) and s.loop == number]
    parts = [part for condition in conditions for part in subexpressions(condition)]
    found = {int(p.value) for p in parts if isinstance(p, Number) and p.value.denominator == 1}
    return [z3.IntVal(value + step) for value in sorted(found) for step in (0, 1) if value + step > 1]


def _bounds(system: System) -> list[Term]:
    """Return the magnitudes by which inputs may differ, and one."""
    found: list[Term] = [z3.RealVal(1)]
    for relation in system.inputs.checked.program.neighbours:
        if relation.bound is not None:
            found.append(z3.simplify(real(system.inputs.header(relation.bound))))
    unique: dict[str, Term] = {str(term): term for term in found}
    return list(unique.values())


def _guards(relation: LoopRelation, system: System, counters: list[Term]) -> list[Term]:
    """Return the situations that a fact may be limited to: before, or after, the winner was seen."""
    found = [z3.BoolVal(True)]
    checked = system.inputs.checked
    state = relation.state
    integers = [t for n, t in state.left.items() if z3.is_int(t) and n not in checked.shared]
    for result in results(relation):
        for counter in counters:
            found.append(counter <= result)
            for chosen in integers:
                found.append(z3.And(counter > result, result >= 0, chosen == result))
    return found


def _one_change(first: Term, second: Term, counters: list[Term], system: System) -> Iterator[Term]:
    """Yield facts for inputs of which a single element changes."""
    for name, position in system.inputs.positions.items():
        delta = real(system.inputs.deltas[name])
        relation = system.inputs.relation(name)
        removed = relation is not None and relation.kind == "add-remove"
        if removed:
            delta = -delta if system.inputs.direction == "remove" else delta
        distance = real(second) - real(first)
        watched = list(counters)
        if removed:
            far = "left" if system.inputs.direction == "remove" else "right"
            watched += [t for r in system.relations for n, t in getattr(r.state, far).items() if z3.is_int(t)]
        for counter in watched:
            seen = z3.If(position < counter, delta, z3.RealVal(0))
            one = z3.If(position < counter, z3.RealVal(1), z3.RealVal(0))
            for sign in (1, -1):
                yield distance == sign * seen
                yield distance == sign * one
            yield z3.Or(distance == 0, distance == seen)
            yield z3.Implies(counter <= position, first == second)
            yield absolute(distance) <= absolute(seen)
            if z3.is_int(first):
                yield second == first + z3.If(
                    position < counter, 1 if system.inputs.direction == "add" else -1, 0
                )
        if z3.is_int(first):
            for limit in (system.inputs.size(name, 1), system.inputs.size(name, 2)):
                yield first <= limit
                yield second <= limit
            yield second >= 0


def _movements(
    relation: LoopRelation, system: System, counters: list[Term], limits: list[Term], bounds: list[Term]
) -> Iterator[Term]:
    """Yield bounds on how far each site's noise has been moved."""
    own = {t.get_id() for t in relation.changing}
    moved = [t for t in relation.state.cost.values() if t.get_id() in own]
    for spent in moved:
        yield spent >= 0
        for bound in bounds:
            for multiple in (0, 1, 2, 3, 4):
                most = z3.simplify(multiple * bound)
                yield spent <= most
                if multiple:
                    for counter in (*counters, *limits):
                        yield spent <= most * real(counter)
                    for limit in limits:
                        yield spent <= most * (real(limit) - 1)
                    for result in results(relation):
                        for counter in counters:
                            yield spent <= z3.If(counter > result, most, z3.RealVal(0))
        for _, value in relation.told:
            rounds = [t for n, t in relation.state.left.items() if n in system.inputs.checked.shared]
            rounds = [t for t in rounds if z3.is_int(t) and z3.is_const(t) and t.get_id() not in own]
            for outer, counter, bound, multiple in product(rounds, counters, bounds, (1, 2)):
                most = z3.simplify(multiple * bound)
                yield spent <= most * real(outer) + z3.If(counter > value, most, z3.RealVal(0))
        for name, position in system.inputs.positions.items():
            delta = absolute(real(system.inputs.deltas[name]))
            for counter in counters:
                for multiple in (1, 2):
                    yield spent <= z3.If(position < counter, multiple * delta, z3.RealVal(0))
                yield spent <= z3.If(position < counter, z3.RealVal(1), z3.RealVal(0))
    if len(moved) > 1:
        yield from _joint(relation, system, counters, moved)


def _joint(relation: LoopRelation, system: System, counters: list[Term], moved: list[Term]) -> Iterator[Term]:
    """Yield bounds on joint movement plus a pending distance, for inputs of which one element changes."""
    total = z3.Sum(*moved)
    own = {t.get_id() for t in relation.changing}
    distances: list[Term] = [z3.RealVal(0)]
    distances += [
        absolute(real(relation.state.right[n]) - real(t))
        for n, t in relation.state.left.items()
        if t.get_id() in own and z3.is_arith(t) and n not in system.inputs.checked.shared
    ]
    for name, position in system.inputs.positions.items():
        delta = absolute(real(system.inputs.deltas[name]))
        for counter in counters:
            for distance in distances:
                for multiple in (1, 2):
                    yield total + distance <= z3.If(position < counter, multiple * delta, z3.RealVal(0))
