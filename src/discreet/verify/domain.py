"""Which inputs a program has, and which of them are neighbours: one formula, for everyone.

Everything that a header says of the inputs (types, ranges, lengths, integrality, `requires`, `neighbours`) is
compiled here, once.  The prover assumes the formula, the refuter satisfies it, the interpreter and the
enumeration check it.

A pair of inputs is described by what holds *always*, of sizes, scalars and public constants; by what holds of
every element of a list in one run (its *range*); and by what *links* the elements of a list in the two runs.
The last two speak of an index INDEX, for which they hold at every place of the list.  A list of which a
single element changes comes with a *witness*, the place of the change; a place beyond the end means that
nothing changes.

The relation between neighbours is symmetric.  A proof goes through its cases one by one: for a list whose
elements all move in the same direction the second run lies above or below the first ("up", "down"); for
add-remove it lacks an element or has one more ("remove", "add").  With several such lists the cases are all
combinations.  A pair of inputs are neighbours when it satisfies the formula of some case.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from discreet.errors import ProgramError
from discreet.verify.substitute import mapped
from discreet.verify.syntax import (
    Array,
    Binary,
    Conditional,
    Element,
    Expr,
    Neighbours,
    Number,
    Program,
    Scalar,
    SensitiveQuery,
    Size,
    TruthValue,
    Variable,
)

INDEX = "?i"
MOST_CASES = 16
ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))


@dataclass(frozen=True, slots=True)
class Domain:
    """The formula of one case; `positions` names the witness of each list of which one element changes."""

    always: tuple[Expr, ...]
    ranges: Mapping[str, tuple[Expr, ...]]
    links: Mapping[str, tuple[Expr, ...]]
    positions: Mapping[str, str]


def relation(program: Program, name: str) -> Neighbours | None:
    """Return how a private input may differ, if anything says so."""
    return next((r for r in program.neighbours if r.name == name), None)


def same_length(program: Program, name: str) -> bool:
    """Return whether neighbouring inputs agree on the length of a list."""
    parameter = program.parameter(name)
    if parameter is None or not parameter.private:
        return parameter is not None
    found = relation(program, name)
    return found is not None and found.kind not in ("add-remove", "any")


def cases(program: Program) -> tuple[str, ...]:
    """Return the cases of the neighbour relation that a proof must go through."""
    oriented = _oriented(program)
    if not oriented:
        return ("both",)
    combinations = list(product(*(senses for _, senses in oriented)))
    if len(combinations) > MOST_CASES:
        at = program.at
        raise ProgramError("too many lists whose elements move in the same direction", at.line, at.column)
    return tuple(_label(oriented, chosen) for chosen in combinations)


def senses(program: Program, case: str) -> dict[str, str]:
    """Return for each list with a direction which one a case is about."""
    oriented = _oriented(program)
    for chosen in product(*(senses for _, senses in oriented)):
        if _label(oriented, chosen) == case:
            return {name: sense for (name, _), sense in zip(oriented, chosen, strict=True)}
    return {}


def _oriented(program: Program) -> list[tuple[str, tuple[str, str]]]:
    found: list[tuple[str, tuple[str, str]]] = []
    for clause in program.neighbours:
        if clause.kind == "monotone":
            found.append((clause.name, ("up", "down")))
        if clause.kind == "add-remove":
            found.append((clause.name, ("remove", "add")))
    return found


def _label(oriented: list[tuple[str, tuple[str, str]]], chosen: tuple[str, ...]) -> str:
    if len(oriented) <= 1:
        return chosen[0] if chosen else "both"
    return ", ".join(f"{name} {sense}" for (name, _), sense in zip(oriented, chosen, strict=True))


def valid(program: Program) -> tuple[tuple[Expr, ...], dict[str, tuple[Expr, ...]]]:
    """Return what the header says of one input: of its scalars and sizes, and of every element of a list."""
    always: list[Expr] = []
    ranges: dict[str, tuple[Expr, ...]] = {}
    for parameter in program.parameters:
        found = relation(program, parameter.name) if parameter.private else None
        match parameter.type:
            case Scalar():
                always += _limits(Variable(parameter.name), parameter.type, found)
            case Array(element):
                ranges[parameter.name] = tuple(
                    _limits(Element(parameter.name, Variable(INDEX)), element, found)
                )
            case SensitiveQuery():
                pass
    return (*always, *program.requires), ranges


def domain(program: Program, case: str) -> Domain:
    """Return the formula of one case of the neighbour relation."""
    single, ranges = valid(program)
    always = [e for condition in single for e in _both(program, condition)]
    always += [] if program.adjacency == TruthValue(True) else [program.adjacency]
    links: dict[str, tuple[Expr, ...]] = {}
    positions: dict[str, str] = {}
    chosen = senses(program, case)
    for parameter in program.parameters:
        name, listed = parameter.name, isinstance(parameter.type, Array)
        if listed:
            always += [_at_least(Size(name, side), ZERO) for side in (1, 2)]
        if listed and not parameter.private:
            always.append(_equal(Size(name, 1), Size(name, 2)))
        found = relation(program, name) if parameter.private else None
        if found is None:
            continue
        bounds = _both(program, found.bound) if found.bound is not None else ()
        always += [_at_least(bound, ZERO) for bound in bounds]
        if not listed:
            always += [_within(Variable(name, 1), Variable(name, 2), bound) for bound in bounds]
            continue
        always += _lengths(name, found, chosen.get(name, ""))
        links[name] = tuple(_links(name, found, bounds, chosen.get(name, "")))
        if found.kind in ("one", "replace", "add-remove"):
            positions[name] = f"position({found.along or name})"
            always.append(_at_least(Variable(positions[name]), ZERO))
    return Domain(tuple(always), ranges, links, positions)


def _limits(value: Expr, kind: Scalar, found: Neighbours | None) -> Iterator[Expr]:
    """Yield what the declared type, and the interval of a neighbours clause, say of one value."""
    if kind.low is not None:
        yield _at_least(value, Number(Fraction(kind.low)))
    if kind.high is not None:
        yield Binary("<=", value, Number(Fraction(kind.high)))
    if found is not None and found.low is not None and found.high is not None:
        yield _at_least(value, found.low)
        yield Binary("<=", value, found.high)


def _lengths(name: str, found: Neighbours, sense: str) -> Iterator[Expr]:
    first, second = Size(name, 1), Size(name, 2)
    match found.kind:
        case "any":
            return
        case "add-remove":
            longer, shorter = (first, second) if sense == "remove" else (second, first)
            yield _equal(longer, Binary("+", shorter, ONE))
            yield Binary("<", Variable(f"position({name})"), longer)
        case _:
            yield _equal(first, second)


def _links(name: str, found: Neighbours, bounds: tuple[Expr, ...], sense: str) -> Iterator[Expr]:
    """Yield how the elements of a list are related in the two runs, at every place that both lists have."""
    here = Variable(INDEX)
    first, second = Element(name, here, 1), Element(name, here, 2)
    place = Variable(f"position({found.along or name})")
    if found.kind == "add-remove":
        longer, shorter = (1, 2) if sense == "remove" else (2, 1)
        after = Element(name, Binary("+", here, ONE), longer)
        source = Conditional(Binary("<", here, place), Element(name, here, longer), after)
        yield _equal(Element(name, here, shorter), source)
    if found.kind in ("one", "replace"):
        yield Binary("or", _equal(here, place), _equal(first, second))
    yield from (_within(first, second, bound) for bound in bounds)
    if sense == "up":
        yield _at_least(second, first)
    if sense == "down":
        yield _at_least(first, second)


def run(program: Program, expression: Expr, side: int) -> Expr:
    """Return an expression of the header as it reads in one run."""
    match expression:
        case Variable(name):
            parameter = program.parameter(name)
            return Variable(name, side) if parameter is not None and parameter.private else expression
        case Size(array):
            return Size(array, side)
        case Element(array, index):
            return Element(array, run(program, index, side), side)
        case _:
            return mapped(expression, lambda part: run(program, part, side))


def _both(program: Program, expression: Expr) -> tuple[Expr, ...]:
    """Return a condition of the header in both runs, which is one condition if the runs cannot disagree."""
    first, second = run(program, expression, 1), run(program, expression, 2)
    return (first,) if first == second else (first, second)


def _at_least(value: Expr, limit: Expr) -> Expr:
    return Binary(">=", value, limit)


def _equal(first: Expr, second: Expr) -> Expr:
    return Binary("=", first, second)


def _within(first: Expr, second: Expr, bound: Expr) -> Expr:
    return Binary(
        "and",
        Binary("<=", Binary("-", second, first), bound),
        Binary("<=", Binary("-", first, second), bound),
    )


def at_index(expression: Expr, index: Expr) -> Expr:
    """Return what a range or a link says of one place of a list."""
    match expression:
        case Variable(name) if name == INDEX:
            return index
        case _:
            return mapped(expression, lambda part: at_index(part, index))


def sided(expression: Expr, side: int) -> Expr:
    """Return a range as it reads in one run."""
    match expression:
        case Element(array, index):
            return Element(array, index, side)
        case Size(array):
            return Size(array, side)
        case _:
            return mapped(expression, lambda part: sided(part, side))


def expanded(formula: Domain, sizes: Mapping[str, tuple[int, int]]) -> list[Expr]:
    """Return the formula for lists of given sizes in the two runs, without its index."""
    found = list(formula.always)
    for name, parts in formula.ranges.items():
        for side, size in enumerate(sizes[name], start=1):
            found += [at_index(sided(p, side), _literal(i)) for i in range(size) for p in parts]
    for name, parts in formula.links.items():
        found += [at_index(p, _literal(i)) for i in range(min(sizes[name])) for p in parts]
    return found


def _literal(value: int) -> Number:
    return Number(Fraction(value))
