"""Plausible facts about loops that keep the best few of many: which of the told places were seen by now.

Of the places that a program will tell, a part was seen; those lead the list kept so far, in the order in
which they are told.  There the second run keeps the same ones, each ahead by the bound on the distance of the
inputs, and whatever else it keeps is ahead by no more.
"""

from collections.abc import Iterator
from itertools import combinations, permutations

import z3

from discreet.verify.obligation import LoopRelation, System
from discreet.verify.syntax import Return, Variable
from discreet.verify.term import Term, real

MOST = 3
"""Places that are told; the situations double with each."""


def several(
    relation: LoopRelation, system: System, counters: list[Term], bounds: list[Term]
) -> Iterator[Term]:
    """Yield facts about the best few, where a loop keeps more than one place that is returned."""
    slots = told(relation, system)
    state, own = relation.state, {t.get_id() for t in relation.changing}
    kept = [n for n, t in state.left.items() if t.get_id() in own and z3.is_arith(t)]
    kept = [n for n in kept if n not in system.inputs.checked.shared]
    for counter in counters:
        yield from (state.left[name] <= counter for name, _ in slots)
        for least in range(2, len(slots) + 1):
            for one, other in combinations((state.left[name] for name, _ in slots), 2):
                yield z3.Or(counter < least, one != other)
            for one, other in permutations((n for n in kept if z3.is_real(state.left[n])), 2):
                yield z3.Or(counter < least, state.left[one] >= state.left[other])
                yield z3.Or(counter < least, state.right[one] >= state.right[other])
        for spent in (t for t in state.cost.values() if t.get_id() in own):
            seen = z3.Sum(*(z3.If(counter > r, z3.RealVal(1), z3.RealVal(0)) for _, r in slots))
            yield from (spent <= multiple * bound * seen for bound in bounds for multiple in (1, 2))
        for guard in _situations(counter, [(state.left[name], r) for name, r in slots]):
            for name in kept:
                first, second = state.left[name], state.right[name]
                yield z3.Implies(guard, first == second)
                for limit in (b for bound in bounds for b in (bound, -bound)):
                    yield z3.Implies(guard, real(second) - real(first) <= limit)
                    yield z3.Implies(guard, real(second) - real(first) >= limit)


def told(relation: LoopRelation, system: System) -> list[tuple[str, Term]]:
    """Return the private integers that a loop keeps and the program returns, each with its result."""
    checked, own = system.inputs.checked, {t.get_id() for t in relation.changing}
    returned, results = checked.program.body[-1], {str(term): term for term in relation.rigid}
    found: list[tuple[str, Term]] = []
    for place, value in enumerate(returned.values if isinstance(returned, Return) else (), start=1):
        match value:
            case Variable(name) if name in relation.state.left and name not in checked.shared:
                term, result = relation.state.left[name], results.get(f"result({place})")
                if z3.is_int(term) and term.get_id() in own and result is not None:
                    found.append((name, result))
    return found if 2 <= len(found) <= MOST else []


def _situations(counter: Term, slots: list[tuple[Term, Term]]) -> Iterator[Term]:
    """Yield which results lie behind the counter, and that these lead the places kept, in their order."""
    results = [result for _, result in slots]
    apart = [one != other for one, other in combinations(results, 2)]
    for count in range(len(slots) + 1):
        for seen in combinations(results, count):
            ahead = [counter <= r for r in results if not any(r.eq(s) for s in seen)]
            behind = [z3.And(counter > r, r >= 0) for r in seen]
            leading = [kept == r for (kept, _), r in zip(slots, seen, strict=False)]
            yield z3.And(*apart, *ahead, *behind, *leading)
