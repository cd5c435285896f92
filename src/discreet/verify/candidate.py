"""Concrete neighbouring inputs worth trying, simplest first.

The arrangements are old acquaintances: one query up and the rest down, halves against halves, a leader and a
follower, the ends of an interval.  Public constants come from the solver, and so does every arrangement that
the header's formula does not allow as it stands: the nearest pair of neighbours takes its place.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import TypeVar

import z3

from discreet.verify.arrange import Two, arrangements
from discreet.verify.check import CheckedProgram
from discreet.verify.discharge import solver
from discreet.verify.domain import cases, relation, same_length, senses
from discreet.verify.limit import milliseconds, tick
from discreet.verify.neighbours import Inputs
from discreet.verify.relate import are_neighbours
from discreet.verify.resolve import claim_expressions
from discreet.verify.run import Value
from discreet.verify.space import NeighbourPair, Space, TabledQuery, Wish
from discreet.verify.syntax import (
    Array,
    Binary,
    Number,
    Parameter,
    Scalar,
    SensitiveQuery,
    expressions,
    names,
    statements,
    subexpressions,
)
from discreet.verify.term import UnsupportedError

SIZES = (1, 2, 3, 5)
LONGEST = 24
LONG = 12
"""Lengths beyond this have too many paths to be tried on a mere hint."""
REALS = tuple(Fraction(x) for x in ("1", "1/2", "2", "1/10", "0", "1/4", "1/3", "3", "5"))
WHOLE = (1, 2, 3, 0, 5)
VARIED = 6
"""Inputs of which several values are tried with one another."""


T = TypeVar("T")


def nearest(options: list[list[T]]) -> list[tuple[T, ...]]:
    """Return all combinations, those of early options first; beyond a few, each has its first option only."""
    most = {1: 400, 2: 24, 3: 10}.get(len(options), 4)
    ranked = [list(enumerate(own[: most if place < VARIED else 1])) for place, own in enumerate(options)]
    combinations = sorted(product(*ranked), key=lambda chosen: sum(place for place, _ in chosen))
    return [tuple(value for _, value in chosen) for chosen in combinations]


@dataclass(frozen=True, slots=True)
class InputShape:
    """Lists of given sizes and public constants that the header allows."""

    space: Space
    constants: Mapping[str, Value]


def pairs(checked: CheckedProgram) -> Iterator[NeighbourPair]:
    """Yield neighbouring inputs, the plainest first: short lists, plain constants, plain arrangements."""
    seen: set[str] = set()
    sources = [(place, _frames(checked, size)) for place, size in enumerate(sizes(checked))]
    active: list[tuple[int, Iterator[NeighbourPair]]] = []
    step = 0
    # Every four arrangements count like two more elements, and so does each variation of the constants for
    # the shortest lists; for longer ones it counts like four.
    while sources or active:
        tick()
        for source in list(sources):
            start, frames = source
            if step >= start and (step - start) % (4 if start else 2) == 0:
                frame = next(frames, None)
                if frame is None:
                    sources.remove(source)
                else:
                    active.append((step, _framed(checked, frame)))
        for entry in [e for e in active if (step - e[0]) % 2 == 0]:
            found = list(islice(entry[1], 4))
            if len(found) < 4:
                active.remove(entry)
            for pair in found:
                key = repr((pair.first, pair.second))
                if key not in seen:
                    seen.add(key)
                    yield pair
        step += 1


def pairs_of_size(checked: CheckedProgram, size: int) -> Iterator[NeighbourPair]:
    """Yield neighbouring inputs with lists of one size, for each choice of the constants a few."""
    for frame in _frames(checked, size):
        yield from islice(_framed(checked, frame), 2)


def sizes(checked: CheckedProgram) -> list[int]:
    """Return lengths of lists to try: short ones, those that the text mentions, and some that it allows."""
    if not any(isinstance(p.type, Array) for p in checked.program.parameters):
        return [0]
    try:
        allowed = _allowed_size(checked)
    except UnsupportedError:
        return list(SIZES)
    return list(dict.fromkeys((*SIZES, *_mentioned(checked), *allowed, 0)))


def _mentioned(checked: CheckedProgram) -> list[int]:
    """Return the lengths at which a comparison of the program with a small number may turn."""
    everything = [e for s in statements(checked.program.body) for e in expressions(s)]
    parts = [part for e in everything for part in subexpressions(e)]
    numbers = [p.right.value for p in parts if isinstance(p, Binary) and isinstance(p.right, Number)]
    found = {int(n) + 1 for n in numbers if n.denominator == 1 and max(SIZES[:3]) <= n < LONG}
    return sorted(found)


def _allowed_size(checked: CheckedProgram) -> list[int]:
    inputs = Inputs(checked, cases(checked.program)[0])
    lengths = [inputs.size(p.name, 1) for p in checked.program.parameters if isinstance(p.type, Array)]
    query = solver(milliseconds(500))
    query.add(*inputs.facts, *(length <= LONGEST for length in lengths))
    for size in SIZES:
        query.add(z3.Or(*(length != size for length in lengths)))
    if query.check() != z3.sat:
        return []
    model = query.model()
    return [int(model.eval(length, model_completion=True).as_long()) for length in lengths]


def _frames(checked: CheckedProgram, size: int) -> Iterator[InputShape]:
    """Yield public constants for lists of a size, the plainest first."""
    seen: set[str] = set()
    hidden = {p.name for p in checked.program.parameters if p.private or isinstance(p.type, SensitiveQuery)}
    every = [(case, own) for case in cases(checked.program) for own in _lengths(checked, case, size)]
    try:
        spaces = [Space(checked, case, own) for case, own in every]
    except UnsupportedError:
        return
    for wishes in _constants(checked):
        for space in spaces:
            pair = space.pair(wishes)
            if pair is None:
                continue
            constants = {n: v for n, v in pair.first.items() if n not in hidden}
            if repr((space.sizes, constants)) not in seen:
                seen.add(repr((space.sizes, constants)))
                yield InputShape(space, constants)


def _lengths(checked: CheckedProgram, case: str, size: int) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield sizes of all lists in both runs: all alike if the header allows, else what it allows."""
    program = checked.program
    lists = [p.name for p in program.parameters if isinstance(p.type, Array)]
    chosen = dict.fromkeys(lists, size)
    if len(lists) > 1:
        chosen = _agreeing_sizes(checked, case, chosen)
    result: dict[str, tuple[int, int]] = {}
    for name, own in chosen.items():
        found = relation(program, name)
        if same_length(program, name):
            result[name] = own, own
        elif found is not None and found.kind == "any":
            result[name] = own, own + 1
        else:
            result[name] = (own, own - 1) if senses(program, case).get(name) == "remove" else (own - 1, own)
    yield result
    if any(first != second for first, second in result.values()) and "any" in _kinds(checked):
        yield {name: (own, own) for name, own in chosen.items()}


def _kinds(checked: CheckedProgram) -> set[str]:
    found = (relation(checked.program, p.name) for p in checked.program.parameters if p.private)
    return {r.kind for r in found if r is not None}


def _agreeing_sizes(checked: CheckedProgram, case: str, wanted: Mapping[str, int]) -> dict[str, int]:
    """Return sizes as close to the wanted ones as the header allows."""
    try:
        inputs = Inputs(checked, case)
    except UnsupportedError:
        return dict(wanted)
    query = solver(milliseconds(500))
    query.add(*inputs.facts, *(inputs.size(name, 1) <= LONGEST for name in wanted))
    result = dict(wanted)
    for name, size in wanted.items():
        query.push()
        query.add(inputs.size(name, 1) == size)
        if query.check() != z3.sat:
            query.pop()
    if query.check() == z3.sat:
        model = query.model()
        result = {n: int(model.eval(inputs.size(n, 1), model_completion=True).as_long()) for n in wanted}
    return result


def _constants(checked: CheckedProgram) -> Iterator[list[Wish]]:
    """Yield wishes for the public constants: all plain, then each of them in turn something else."""
    publics = [
        p for p in checked.program.parameters if not p.private and not isinstance(p.type, SensitiveQuery)
    ]
    claimed = {name for e in claim_expressions(checked.program) for name in names(e)}
    plain: list[Wish] = []
    others: list[list[Wish]] = []
    for parameter in publics:
        name, kind = parameter.name, parameter.type
        if isinstance(kind, Array):
            plain += [(f"{name}{{1}}[{i}]", 1) for i in range(LONGEST)]
            continue
        choices: tuple[Fraction | int | bool, ...] = (False, True)
        if isinstance(kind, Scalar) and kind.kind in ("int", "real"):
            choices = WHOLE if kind.kind == "int" else REALS if name in claimed else (Fraction(0), *REALS)
        plain += [(name, value) for value in choices]
        others += [[(name, value)] for value in choices[1:6]]
    yield plain
    for other in sorted(others, key=lambda wishes: wishes[0][0] not in claimed):
        yield other + plain


def _framed(checked: CheckedProgram, frame: InputShape) -> Iterator[NeighbourPair]:
    """Yield neighbours with given constants, solved for where an arrangement is not allowed as it stands."""
    for first, second in _privates(checked, frame):
        tick()
        one, two = {**frame.constants, **first}, {**frame.constants, **second}
        names = tuple(p.name for p in checked.program.parameters if p.private)
        if are_neighbours(checked, one, two):
            yield NeighbourPair(one, two, names)
            continue
        wishes: list[Wish] = [(n, v) for n, v in frame.constants.items() if not isinstance(v, list)]
        for side, values in ((1, first), (2, second)):
            for name, value in values.items():
                if isinstance(value, list):
                    wishes += [(f"{name}{{{side}}}[{i}]", v) for i, v in enumerate(value)]
                elif not isinstance(value, TabledQuery):
                    wishes.append((f"{name}{{{side}}}", value))
        nearest = frame.space.pair(wishes)
        if nearest is not None:
            yield nearest


def _arranged(checked: CheckedProgram, parameter: Parameter, frame: InputShape) -> list[Two]:
    """Return arrangements of one input; columns of one row may also change in opposite directions."""
    sizes, found = frame.space.sizes.get(parameter.name), relation(checked.program, parameter.name)
    pairs = list(arrangements(checked, parameter, frame.constants, sizes))
    if found is None or not found.along:
        return pairs
    return [way for first, second in pairs for way in ((first, second), (second, first))]


def _privates(
    checked: CheckedProgram, frame: InputShape
) -> Iterator[tuple[dict[str, Value], dict[str, Value]]]:
    """Yield what the private inputs might be in the two runs."""
    program = checked.program
    options = [
        [(p.name, a, b) for a, b in _arranged(checked, p, frame)] for p in program.parameters if p.private
    ]
    for combination in nearest(options):
        first = {name: a for name, a, _ in combination}
        second = {name: b for name, _, b in combination}
        for parameter in program.parameters:
            if isinstance(parameter.type, SensitiveQuery):
                bound = frame.constants[parameter.type.sensitivity]
                table: dict[tuple[Value, ...], Value] = {}
                for values, answer in ((second, bound), (first, Fraction(0))):
                    table |= {tuple(v): answer for v in values.values() if isinstance(v, list)}
                first[parameter.name] = second[parameter.name] = TabledQuery(table)
        yield first, second
