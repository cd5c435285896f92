"""Concrete neighbouring inputs worth trying, simplest first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from discreet.verify.check import Checked
from discreet.verify.run import Exact, Run, Value
from discreet.verify.syntax import Array, Neighbours, Parameter, Query, Scalar


@dataclass(frozen=True, slots=True)
class Pair:
    """Two complete neighbouring inputs; `private` names what differs."""

    first: Mapping[str, Value]
    second: Mapping[str, Value]
    private: tuple[str, ...]


SIZES = (1, 2, 3, 5)
EPSILONS = (Fraction(1), Fraction(1, 2), Fraction(2))
REALS = tuple(Fraction(x) for x in ("0", "1/4", "1/3", "1/2", "1", "2", "3"))


def pairs(checked: Checked) -> Iterator[Pair]:
    """Yield neighbouring inputs that satisfy the program's assumptions, the plainest constants first."""
    sizes = SIZES if any(isinstance(p.type, Array) for p in checked.program.parameters) else (0,)
    names = tuple(p.name for p in checked.program.parameters if p.private or isinstance(p.type, Query))
    # Short lists, plain constants and plain arrangements first; each variation counts like two more elements.
    plan = [
        (size + 2 * turn + 2 * (place // 4), size, {**constants, **first}, {**constants, **second})
        for size in sizes
        for turn, constants in enumerate(_constants(checked, size))
        for place, (first, second) in enumerate(_privates(checked, size, constants))
    ]
    for _, _, one, two in sorted(plan, key=lambda entry: entry[:2]):
        if _allowed(checked, one) and _allowed(checked, two):
            yield Pair(one, two, names)


def _allowed(checked: Checked, values: Mapping[str, Value]) -> bool:
    run = Run(checked, Exact(), dict(values))
    return all(run.value(condition) for condition in checked.program.requires)


def _constants(checked: Checked, size: int) -> list[dict[str, Value]]:
    """Return the plainest public constants allowed for lists of a size, then variations of one of them."""
    publics = [p for p in checked.program.parameters if not p.private and not isinstance(p.type, Query)]
    lists: dict[str, Value] = {
        p.name: [0] * size for p in checked.program.parameters if isinstance(p.type, Array)
    }
    options = [_public_choices(p) for p in publics]
    names = [p.name for p in publics]
    everything = (dict(zip(names, values, strict=True)) for values in product(*options))
    plain = next((c for c in everything if _allowed(checked, {**c, **lists})), None)
    if plain is None:
        return []
    found = [plain]
    for name, values in sorted(zip(names, options, strict=True), key=lambda entry: entry[0] != "eps"):
        found += [{**plain, name: v} for v in values if v != plain[name]]
    return [c for c in found if _allowed(checked, {**c, **lists})]


def _public_choices(parameter: Parameter) -> list[Value]:
    if parameter.name == "eps":
        return list(EPSILONS)
    match parameter.type:
        case Scalar("int", low, high):
            numbers = [1, 2, 3, 0]
            return [n for n in numbers if (low is None or n >= low) and (high is None or n <= high)] or [low]
        case Scalar("bool"):
            return [False, True]
        case Scalar("bits"):
            return [0]
        case Array(element):
            return [[1 if element.kind == "int" else Fraction(1)] * 3]
        case _:
            return list(REALS)


def _privates(
    checked: Checked, size: int, constants: Mapping[str, Value]
) -> Iterator[tuple[dict[str, Value], dict[str, Value]]]:
    options: list[list[tuple[str, Value, Value]]] = []
    for parameter in checked.program.parameters:
        if isinstance(parameter.type, Query):
            bound = constants.get(parameter.type.sensitivity, Fraction(1))
            options.append([(parameter.name, lambda d: Fraction(0), lambda d, b=bound: Fraction(b))])
        elif parameter.private:
            relation = _relation(checked, parameter)
            if relation is None:
                return
            run = Run(checked, Exact(), dict(constants))
            if isinstance(parameter.type, Array):
                found = list(_lists(parameter.type.element, relation, size, run))
            else:
                found = list(_scalars(parameter.type, relation, run))
            options.append([(parameter.name, a, b) for a, b in found])
    for combination in product(*options):
        yield {n: a for n, a, _ in combination}, {n: b for n, _, b in combination}


def _relation(checked: Checked, parameter: Parameter) -> Neighbours | None:
    found = next((r for r in checked.program.neighbours if r.name == parameter.name), None)
    if found is not None:
        return found
    scalar = parameter.type.element if isinstance(parameter.type, Array) else parameter.type
    if isinstance(scalar, Scalar) and (scalar.low is not None or scalar.kind == "bool"):
        return Neighbours(parameter.name, "replace")
    return None


def _limits(kind: Scalar, relation: Neighbours, run: Run) -> tuple[Value, Value]:
    if relation.low is not None and relation.high is not None:
        return run.value(relation.low), run.value(relation.high)
    if kind.low is not None and kind.high is not None:
        return kind.low, kind.high
    return Fraction(0), Fraction(10)


def _scalars(kind: Scalar | Query, relation: Neighbours, run: Run) -> Iterator[tuple[Value, Value]]:
    if isinstance(kind, Query) or kind.kind == "bits":
        return
    if kind.kind == "bool":
        yield False, True
        return
    low, high = _limits(kind, relation, run)
    if relation.kind in ("one", "all"):
        bound = run.value(relation.bound) if relation.bound is not None else 1
        yield low, low + bound
        return
    if kind.low is not None and kind.high is not None and kind.high - kind.low <= 8:
        yield from ((a, b) for a in range(kind.low, kind.high + 1) for b in range(a + 1, kind.high + 1))
        return
    yield low, high


def _lists(
    kind: Scalar, relation: Neighbours, size: int, run: Run
) -> Iterator[tuple[list[Value], list[Value]]]:
    if size == 0 or kind.kind in ("bool", "bits"):
        return
    low, high = _limits(kind, relation, run)
    if relation.kind in ("replace", "add-remove"):
        yield from _replaced(relation, size, low, high)
        return
    bound = run.value(relation.bound) if relation.bound is not None else 1
    bounded = kind.low is not None
    zero = kind.low if bounded else Fraction(0)
    bases: list[list[Value]] = [[zero] * size]
    if not bounded:
        bases.append([Fraction(10)] + [Fraction(0)] * (size - 1))
        bases.append([Fraction(0)] + [Fraction(10)] * (size - 1))
        bases.append([Fraction(2)] * size)
    for base in dict.fromkeys(map(tuple, bases)):
        for change in _changes(relation.kind, size, bound):
            other = [a + c for a, c in zip(base, change, strict=True)]
            if not bounded or all(kind.low <= x <= (kind.high or x) for x in other):
                yield list(base), other


def _replaced(
    relation: Neighbours, size: int, low: Value, high: Value
) -> Iterator[tuple[list[Value], list[Value]]]:
    for rest in (low, high):
        for place in dict.fromkeys((0, size - 1)):
            base = [rest] * size
            if relation.kind == "add-remove":
                for value in (high, low):
                    longer = [*base[:place], value, *base[place + 1 :]]
                    yield longer, [*longer[:place], *longer[place + 1 :]]
                continue
            yield [*base[:place], low, *base[place + 1 :]], [*base[:place], high, *base[place + 1 :]]


def _changes(kind: str, size: int, bound: Value) -> Iterator[tuple[Value, ...]]:
    if kind == "one":
        for place in dict.fromkeys((0, size - 1, size // 2)):
            yield tuple(bound if i == place else 0 for i in range(size))
        return
    signs: list[tuple[int, ...]] = [(1,) * size]
    if kind == "monotone":
        signs += [(1,) + (0,) * (size - 1), (0,) + (1,) * (size - 1), (0,) * (size - 1) + (1,)]
    else:
        half = size // 2
        signs += [
            (1,) + (-1,) * (size - 1),
            (-1,) * (size - 1) + (1,),
            (1,) * half + (-1,) * (size - half),
        ]
    for pattern in dict.fromkeys(signs):
        yield tuple(bound * s for s in pattern)
