"""Neighbouring inputs on which something is known to go wrong, found by solving.

The two runs are walked in step on short lists, once with equal noise and once with the noise moved so that
the next output stays the same.  Wherever a branch, an output or the price may differ from what a proof would
need, the solver is asked for inputs, constants and noise with which it does.  These inputs break no claim by
themselves; they are where a claim is most likely to break.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice

import z3

from discreet.verify.candidate import sizes
from discreet.verify.check import CheckedProgram
from discreet.verify.discharge import solver
from discreet.verify.domain import cases, same_length, senses
from discreet.verify.limit import tick
from discreet.verify.neighbours import Inputs, Instance
from discreet.verify.obligation import System
from discreet.verify.product import obligations
from discreet.verify.space import NeighbourPair, Space, Wish, value_of
from discreet.verify.syntax import Array, Expr, Scalar
from discreet.verify.template import build
from discreet.verify.term import UnsupportedError

PATIENCE = 300
MOST = 12
"""Clauses of one walk that are asked about."""
EACH = 3
"""Pairs that are taken from one walk."""
SIZES = 3
"""Lengths of lists that are tried."""
TELLING = (
    "same output",
    "same branch",
    "cost",
    "support",
    "upward move",
    "integer move",
    "same end",
    "same turns",
)


def suspects(checked: CheckedProgram) -> Iterator[NeighbourPair]:
    """Yield neighbours on which the two runs part, or the price exceeds the claim."""
    seen: set[str] = set()
    for size in sizes(checked)[:SIZES]:
        for case in cases(checked.program):
            for moves in telling_moves(checked):
                tick()
                try:
                    found = list(islice(_walked(checked, case, size, moves), EACH))
                except UnsupportedError:
                    continue
                for pair in found:
                    key = repr((pair.first, pair.second))
                    if pair.first != pair.second and key not in seen:
                        seen.add(key)
                        yield pair


def telling_moves(checked: CheckedProgram) -> Iterator[dict[int, Expr]]:
    """Yield no moves at all, and moves that keep the next output the same."""
    yield {}
    template = build(checked, rich=False, guards=False)
    firsts = {s.name: -1 if s.name.endswith(".0") else 0 for s in template.slots}
    if firsts:
        yield template.fill(firsts)


def _walked(
    checked: CheckedProgram, case: str, size: int, moves: Mapping[int, Expr]
) -> Iterator[NeighbourPair]:
    lists = [p.name for p in checked.program.parameters if isinstance(p.type, Array)]
    if any(not same_length(checked.program, n) and not senses(checked.program, case) for n in lists):
        return
    instance = Instance(dict.fromkeys(lists, size))
    system = obligations(checked, case, moves, instance=instance, unroll=size + 1)
    space = Space(checked, case, {name: _lengths(system.inputs, name) for name in lists})
    asked = 0
    for clause in system.clauses:
        if clause.kind not in TELLING or isinstance(clause.head, tuple) or asked >= MOST:
            continue
        asked += 1
        query = solver(PATIENCE)
        query.add(*system.inputs.facts_for([*clause.body, clause.head]), *clause.body, z3.Not(clause.head))
        if query.check() == z3.sat:
            pair = space.pair(list(model_values(system, query.model())))
            if pair is not None:
                yield pair


def _lengths(inputs: Inputs, name: str) -> tuple[int, int]:
    first, second = (z3.simplify(inputs.size(name, side)) for side in (1, 2))
    return int(first.as_long()), int(second.as_long())


def model_values(system: System, model: z3.ModelRef) -> Iterator[Wish]:
    """Yield the values that a model gives to constants, inputs and elements."""
    inputs = system.inputs
    for parameter in inputs.checked.program.parameters:
        if not parameter.private and isinstance(parameter.type, Scalar):
            yield from _wish(parameter.name, inputs.public(parameter.name), model)
    for name, (first, second) in inputs.scalars.items():
        yield from _wish(f"{name}{{1}}", first, model)
        yield from _wish(f"{name}{{2}}", second, model)
    for (name, key), (first, second) in inputs.elements.items():
        place = value_of(model.eval(inputs.indices[(name, key)], model_completion=True))
        for run, term in ((1, first), (2, second)):
            yield from _wish(f"{name}{{{run}}}[{place}]", term, model)


def _wish(name: str, term: object, model: z3.ModelRef) -> Iterator[Wish]:
    value = value_of(model.eval(term, model_completion=True))
    if isinstance(value, bool | int | Fraction):
        yield name, value
