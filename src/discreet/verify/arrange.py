"""Telling arrangements of a private input in two runs; whether they are allowed is decided elsewhere."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from discreet.verify.check import CheckedProgram
from discreet.verify.domain import relation
from discreet.verify.run import ExactDraws, Run, Value
from discreet.verify.syntax import Array, Neighbours, Parameter, Scalar, SensitiveQuery

Two = tuple[Value, Value]


def arrangements(
    checked: CheckedProgram,
    parameter: Parameter,
    constants: Mapping[str, Value],
    sizes: tuple[int, int] | None,
) -> Iterator[Two]:
    """Yield values of one private input in the two runs."""
    found = relation(checked.program, parameter.name)
    if found is None:
        return
    values = dict(constants)
    if sizes is not None:
        values[parameter.name] = [0] * max(sizes)
    run = Run(checked, ExactDraws(), values)
    match parameter.type:
        case Scalar():
            yield from _scalars(parameter.type, found, run)
        case Array(element):
            yield from _lists(element, found, sizes or (0, 0), run)
        case SensitiveQuery():
            return


def _limits(kind: Scalar, found: Neighbours, run: Run) -> Two:
    """Return the least and the greatest value, or two that are far apart."""
    low: Value = kind.low if kind.low is not None else Fraction(0)
    high: Value = kind.high if kind.high is not None else Fraction(10)
    if found.low is not None and found.high is not None:
        low, high = run.value(found.low), run.value(found.high)
    return low, high


def _scalars(kind: Scalar, found: Neighbours, run: Run) -> Iterator[Two]:
    if kind.kind in ("bool", "bits"):
        yield from ((False, True), (True, False)) if kind.kind == "bool" else ((0, 1), (1, 0))
        return
    low, high = _limits(kind, found, run)
    if found.bound is not None:
        bound = run.value(found.bound)
        yield low, low + bound
        yield high, high - bound
        yield (low + high) // 2 if kind.kind == "int" else (low + high) / 2, low
        return
    if kind.low is not None and kind.high is not None and kind.high - kind.low <= 8:
        values = range(kind.low, kind.high + 1)
        yield from ((a, b) for a in values for b in values if a < b)
        return
    yield low, high


def _lists(kind: Scalar, found: Neighbours, sizes: tuple[int, int], run: Run) -> Iterator[Two]:
    if kind.kind in ("bool", "bits"):
        low, high = (False, True) if kind.kind == "bool" else (0, 1)
    else:
        low, high = _limits(kind, found, run)
    if found.kind == "any":
        for first, second in ((low, high), (high, low), (low, low)):
            yield [first] * sizes[0], [second] * sizes[1]
    elif max(sizes) == 0:
        yield [], []
    elif found.kind == "add-remove":
        yield from _shortened(sizes, low, high)
    elif found.kind == "replace" and found.bound is None:
        yield from _replaced(sizes[0], low, high)
    else:
        bound = run.value(found.bound) if found.bound is not None else 1
        yield from _moved(kind, found, sizes[0], low, high, bound)


def _replaced(size: int, low: Value, high: Value) -> Iterator[Two]:
    for rest in (low, high):
        for place in dict.fromkeys((0, size - 1)):
            base = [rest] * size
            yield [*base[:place], low, *base[place + 1 :]], [*base[:place], high, *base[place + 1 :]]


def _shortened(sizes: tuple[int, int], low: Value, high: Value) -> Iterator[Two]:
    for rest in (low, high):
        for place in dict.fromkeys((0, max(sizes) - 1)):
            for value in (high, low):
                base = [rest] * max(sizes)
                longer = [*base[:place], value, *base[place + 1 :]]
                shorter = [*longer[:place], *longer[place + 1 :]]
                yield (longer, shorter) if sizes[0] > sizes[1] else (shorter, longer)


def _moved(
    kind: Scalar, found: Neighbours, size: int, low: Value, high: Value, bound: Value
) -> Iterator[Two]:
    bases: list[list[Value]] = [
        [low] * size,
        [high] + [low] * (size - 1),
        [low] + [high] * (size - 1),
        [low + 2 if kind.low is None else high] * size,
    ]
    for base in dict.fromkeys(map(tuple, bases)):
        for change in _changes(found.kind, size, bound):
            yield list(base), [a + c for a, c in zip(base, change, strict=True)]


def _changes(kind: str, size: int, bound: Value) -> Iterator[tuple[Value, ...]]:
    if kind in ("one", "replace"):
        for place in dict.fromkeys((0, size - 1, size // 2)):
            yield tuple(bound if i == place else 0 for i in range(size))
        return
    signs: list[tuple[int, ...]] = [(1,) * size]
    if kind == "monotone":
        signs += [(-1,) * size, (1,) + (0,) * (size - 1), (0,) + (1,) * (size - 1)]
    else:
        half = size // 2
        signs += [
            (1,) + (-1,) * (size - 1),
            (-1,) * (size - 1) + (1,),
            (1,) * half + (-1,) * (size - half),
        ]
    for pattern in dict.fromkeys(signs):
        yield tuple(bound * s for s in pattern)
