"""Shapes that a proof's moves may take: linear combinations of distances, by cases on the output.

For each draw the template lists what its noise could be moved by: the bound on the inputs' distance, the
distance of an element read nearby, the distance of a variable, and the distance of the next output that
depends on the draw (moving by its negative makes the two outputs equal).  Cases distinguish what the
program will output next, whether the current index will be returned, and whether the loop goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import product

from discreet.verify.check import CheckedProgram
from discreet.verify.ending import conjuncts
from discreet.verify.law import logistic
from discreet.verify.substitute import mapped, substitute
from discreet.verify.syntax import (
    Append,
    Apply,
    Array,
    Ask,
    Assign,
    Binary,
    Conditional,
    Element,
    Expr,
    If,
    Items,
    Number,
    Put,
    Return,
    Sample,
    Scalar,
    SensitiveQuery,
    Size,
    Statement,
    TruthValue,
    Unary,
    Variable,
    While,
    assigned,
    expressions,
    names,
    remembered,
    revised,
    statements,
    subexpressions,
)

ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))
DRAWN = "?drawn"


@dataclass(frozen=True, slots=True)
class Slot:
    """One unknown coefficient: `name` multiplies `basis` at a site in a case; boolean slots select by xor."""

    name: str
    site: int
    case: int
    basis: Expr
    boolean: bool


@dataclass(frozen=True, slots=True)
class Template:
    """The moves of all sites, with unknown coefficients."""

    moves: dict[int, Expr]
    slots: tuple[Slot, ...]
    cases: dict[int, tuple[Expr, ...]]

    def fill(self, values: dict[str, int]) -> dict[int, Expr]:
        """Return the moves for given coefficients, as small expressions."""
        filled: dict[int, Expr] = {}
        for site, cases in self.cases.items():
            chosen = [
                [s for s in self.slots if s.site == site and s.case == c] for c in range(len(cases) + 1)
            ]
            branches = [_combine([(values[s.name], s) for s in slots]) for slots in chosen]
            filled[site] = _by_cases(list(cases), branches)
        return filled


@dataclass(frozen=True, slots=True)
class DrawSite:
    """Where a draw stands: the loops around it and the statements that follow it, block by block."""

    statement: Sample
    loops: tuple[While, ...]
    following: tuple[tuple[Statement, ...], ...]
    ready: frozenset[str]


def places(checked: CheckedProgram) -> tuple[DrawSite, ...]:
    """Return every draw of a program with its surroundings."""
    found: list[DrawSite] = []

    def visit(
        block: tuple[Statement, ...],
        loops: tuple[While, ...],
        after: tuple[tuple[Statement, ...], ...],
        ready: frozenset[str],
    ) -> None:
        for index, statement in enumerate(block):
            rest = (block[index + 1 :], *after)
            match statement:
                case Sample(target):
                    found.append(DrawSite(statement, loops, rest, ready))
                    ready |= {target}
                case Assign(target) | Append(target) | Put(target):
                    ready |= {target}
                case If(_, positive, negative):
                    visit(positive, loops, rest, ready)
                    visit(negative, loops, rest, ready)
                    ready |= assigned(positive) & assigned(negative)
                case While(_, body):
                    visit(body, (*loops, statement), (), ready)
                case _:
                    pass

    visit(checked.program.body, (), (), frozenset())
    return tuple(found)


def sided(expression: Expr, side: int, checked: CheckedProgram) -> Expr:
    """Return an expression as seen by one run."""
    match expression:
        case Variable(name):
            return expression if checked.is_shared(expression) else Variable(name, side)
        case Element(array, index):
            return Element(array, index, side)
        case Size():
            return expression
        case Ask(query, data):
            return Ask(query, data, side)
        case Apply(function, arguments):
            return Apply(function, tuple(sided(a, side, checked) for a in arguments))
        case Unary(operator, operand):
            return Unary(operator, sided(operand, side, checked))
        case Binary(operator, left, right):
            return Binary(operator, sided(left, side, checked), sided(right, side, checked))
        case Conditional(condition, positive, negative):
            first, second = sided(positive, side, checked), sided(negative, side, checked)
            return Conditional(sided(condition, side, checked), first, second)
        case Number() | TruthValue() | Items():
            return expression


def told(expression: Expr, checked: CheckedProgram) -> Expr:
    """Return an expression that reads lists at returned places, with the places that the output tells."""
    returned = checked.program.body[-1]
    places = returned.values if isinstance(returned, Return) else ()
    match expression:
        case Element(array, Variable() as index) if index in places and not checked.is_shared(index):
            return Element(array, Apply("result", (Number(Fraction(places.index(index) + 1)),)))
        case _:
            return mapped(expression, lambda part: told(part, checked))


def distance(expression: Expr, checked: CheckedProgram) -> Expr | None:
    """Return how much larger an expression is in the second run, or None if it reads at a private index."""
    known = told(expression, checked)
    for part in subexpressions(known):
        if isinstance(part, Element) and not checked.is_shared(part.index):
            return None
    if checked.is_shared(expression):
        return None
    first, second = sided(known, 1, checked), sided(known, 2, checked)
    kind = checked.kind(expression)
    if kind == "bits":
        return Binary("xor", second, first)
    if kind == "bool":
        return Conditional(Binary("=", first, second), ZERO, ONE)
    return Binary("-", second, first)


def emitted(place: DrawSite, checked: CheckedProgram) -> Expr | None:
    """Return the next output that depends on a draw, over the state before it, with the noise set to zero."""
    statement = place.statement
    drawn: Expr = ZERO
    if statement.law in ("Laplace", "Geometric") and len(statement.arguments) == 2:
        drawn = statement.arguments[1]
    environment: dict[str, Expr] = {statement.target: Variable(DRAWN)}
    for block in place.following:
        for item in block:
            match item:
                case Assign(target, value) if not isinstance(value, Items):
                    environment[target] = substitute(value, environment)
                case Append(target, value) | Put(target, _, value) if target in checked.returned_lists:
                    found = substitute(value, environment)
                    if DRAWN in names(found):
                        return tidy(substitute(found, {DRAWN: drawn}))
                case Return(values):
                    for value in values:
                        if isinstance(value, Variable) and value.name in checked.returned_lists:
                            continue
                        found = substitute(value, environment)
                        if DRAWN in names(found):
                            return tidy(substitute(found, {DRAWN: drawn}))
                case If() | While():
                    for name in assigned((item,)):
                        environment[name] = Variable(f"?{name}")
                case Sample(target):
                    environment[target] = Variable(f"?{target}")
                case _:
                    pass
    return None


def bases(place: DrawSite, checked: CheckedProgram, *, rich: bool) -> list[Expr]:
    """Return what a draw's noise may be moved by, the most promising first."""
    found: list[Expr] = []
    statement = place.statement
    output = None if statement.law in ("UniformBits", "Bernoulli", "Response") else emitted(place, checked)
    if output is not None and not any(n.startswith("?") for n in names(output)):
        change = distance(output, checked)
        if change is not None:
            found.append(change)
    if statement.law == "UniformBits":
        found += _private_distances(place, checked)
        return _unique(found)
    if len(statement.arguments) == 2 and statement.law in ("Laplace", "Geometric"):
        change = distance(statement.arguments[1], checked)
        if change is not None:
            found.append(change)
    found += _bounds(checked)
    found += _elements(place, checked)
    if rich:
        changes = _private_distances(place, checked)
        found += changes
        # Noise that moves in one direction only takes one part of a change; another draw takes the other.
        if statement.law in ("Exponential", "Gumbel"):
            found += [Apply("max", (d, ZERO)) for c in changes for d in (c, _negated(c))]
    return _unique(found)


def _bounds(checked: CheckedProgram) -> list[Expr]:
    bounds: list[Expr] = [r.bound for r in checked.program.neighbours if r.bound is not None]
    return bounds or [ONE]


def _elements(place: DrawSite, checked: CheckedProgram) -> list[Expr]:
    scope = place.loops[-1].body if place.loops else checked.program.body
    found: list[Expr] = []
    for statement in statements(scope):
        for part in (p for e in expressions(statement) for p in subexpressions(e)):
            if isinstance(part, Element):
                parameter = checked.program.parameter(part.array)
                visible = place.ready | {p.name for p in checked.program.parameters}
                if parameter is not None and parameter.private and names(part.index) <= visible:
                    change = distance(part, checked)
                    if change is not None:
                        found.append(change)
    return found


def _private_distances(place: DrawSite, checked: CheckedProgram) -> list[Expr]:
    bits = place.statement.law == "UniformBits"
    found: list[Expr] = []
    candidates: list[Expr] = [
        Variable(p.name) for p in checked.program.parameters if p.private and isinstance(p.type, Scalar)
    ]
    candidates += [Variable(n) for n in sorted(place.ready) if isinstance(checked.types[n], Scalar)]
    for parameter in checked.program.parameters:
        if isinstance(parameter.type, SensitiveQuery):
            lists = [p.name for p in checked.program.parameters if isinstance(p.type, Array)]
            candidates += [Ask(parameter.name, name) for name in lists]
    for candidate in candidates:
        if (checked.kind(candidate) == "bits") == bits:
            change = distance(candidate, checked)
            if change is not None:
                found.append(change)
    return found


def _unique(found: list[Expr]) -> list[Expr]:
    result: list[Expr] = []
    for item in found:
        if item not in result:
            result.append(item)
    return result


def conditions(place: DrawSite, checked: CheckedProgram, *, guards: bool) -> tuple[Expr, ...]:
    """Return the cases that a move may distinguish; the last case, otherwise, is left out."""
    outcome = list(_outcomes(place, checked))
    if not guards:
        return tuple(outcome)
    going_on = [c for loop in place.loops for c in conjuncts(loop.condition) if checked.is_shared(c)]
    if not going_on:
        return tuple(outcome)
    stopping = Unary("not", going_on[0])
    for condition in going_on[1:]:
        stopping = Binary("or", stopping, Unary("not", condition))  # type: ignore[assignment]
    return (stopping, *outcome)


def _outcomes(place: DrawSite, checked: CheckedProgram) -> Iterator[Expr]:
    # Only what is still to come in this turn of the loop: later turns are beyond the reach of an invariant.
    scope = _top(tuple(statement for block in place.following for statement in block))
    for name in sorted(checked.returned_lists & place.ready):
        tags = [s.tag for s in statements(scope) if isinstance(s, Append) and s.target == name]
        if len(tags) > 1:
            for tag in tags[:-1]:
                yield Binary("=", Apply("tag", (Variable(name),)), Number(Fraction(tag)))
            return
        kind = checked.types[name]
        if tags and isinstance(kind, Array) and kind.element.kind in ("bool", "int"):
            yield Binary("=", Apply("value", (Variable(name),)), ONE)
            return
    returned = checked.program.body[-1]
    if isinstance(returned, Return) and place.loops:
        inner = [n for n in sorted(place.ready & checked.shared) if n in assigned(place.loops[-1].body)]
        for name in [n for n in picked(checked, place.loops[-1]) if n in place.ready]:
            for counter in [n for n in inner if checked.types[n] == Scalar("int")][:1]:
                yield Binary("=", Apply("value", (Variable(name),)), Variable(counter))
                return
        told: list[Expr] = []
        for position, value in enumerate(returned.values, start=1):
            if isinstance(value, Variable) and value.name in checked.returned_lists:
                continue
            if checked.kind(value) != "int" or checked.is_shared(value):
                continue
            if not names(value) & _reach(place, checked):
                continue
            counters = [n for n in sorted(place.ready & checked.shared) if checked.types[n] == Scalar("int")]
            for counter in [n for n in counters if n in assigned(place.loops[-1].body)][:1]:
                told.append(Binary("=", Apply("result", (Number(Fraction(position)),)), Variable(counter)))
        # Of several places that are told, as of the best few, every one is picked alike.
        yield from told[:1] if len(told) < 2 else [reduce(partial(Binary, "or"), told)]


def _reach(place: DrawSite, checked: CheckedProgram) -> set[str]:
    """Return what a draw may decide: what its loop assigns, or everything if the loop fills a list."""
    body, kept = place.loops[-1].body, remembered(checked.program)
    fills = any(isinstance(s, Append | Put) and s.target in kept for s in statements(body))
    return assigned(checked.program.body if fills else body)


def picked(checked: CheckedProgram, loop: While) -> list[str]:
    """Return the lists to which a program appends a private integer that a loop has found, after it."""
    inside, found = statements(loop.body), set[str]()
    for statement in statements(checked.program.body):
        match statement:
            case Append(target, Variable(name)) if statement not in inside and name in assigned(loop.body):
                if checked.types[name] == Scalar("int") and name not in checked.shared:
                    found.add(target)
            case _:
                pass
    return sorted(found & checked.returned_lists - revised(checked.program.body))


def _top(block: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return tuple(s for s in block if not isinstance(s, While))


def tidy(expression: Expr) -> Expr:
    """Drop additions of zero."""
    match expression:
        case Binary("+", left, right):
            first, second = tidy(left), tidy(right)
            if first == ZERO:
                return second
            return first if second == ZERO else Binary("+", first, second)
        case Binary(operator, left, right):
            return Binary(operator, tidy(left), tidy(right))
    return expression


def build(checked: CheckedProgram, *, rich: bool, guards: bool) -> Template:
    """Return the template of a program; `rich` adds variables' distances, `guards` adds the loop's end."""
    moves: dict[int, Expr] = {}
    slots: list[Slot] = []
    cases: dict[int, tuple[Expr, ...]] = {}
    for place in places(checked):
        statement = place.statement
        law = statement.law
        if law == "Bernoulli" and logistic(statement.arguments[0]) is None:
            continue
        if law in ("Gaussian", "ExpMech", "Uniform", "UniformInt"):
            continue
        boolean = law == "UniformBits"
        basis = bases(place, checked, rich=rich)
        own = () if boolean else conditions(place, checked, guards=guards)
        branches: list[Expr] = []
        for case, vector in product(range(len(own) + 1), [basis]):
            terms: list[Expr] = []
            for number, item in enumerate(vector):
                slot = Slot(f"?{statement.site}.{case}.{number}", statement.site, case, item, boolean)
                slots.append(slot)
                terms.append(Binary("and" if boolean else "*", Variable(slot.name), item))
            branches.append(_sum(terms, boolean=boolean))
        moves[statement.site] = _by_cases(list(own), branches)
        cases[statement.site] = own
    return Template(moves, tuple(slots), cases)


def _sum(terms: list[Expr], *, boolean: bool) -> Expr:
    if not terms:
        return TruthValue(False) if boolean else ZERO
    total = terms[0]
    for term in terms[1:]:
        total = Binary("xor" if boolean else "+", total, term)
    return total


def _combine(chosen: list[tuple[int, Slot]]) -> Expr:
    if any(slot.boolean for _, slot in chosen):
        return _sum([slot.basis for value, slot in chosen if value], boolean=True)
    total: Expr | None = None
    for value, slot in sorted(chosen, key=lambda pair: pair[0] < 0):
        if not value:
            continue
        term = slot.basis if abs(value) == 1 else Binary("*", Number(Fraction(abs(value))), slot.basis)
        if total is None:
            total = term if value > 0 else _negated(term)
        else:
            total = Binary("+" if value > 0 else "-", total, term)
    return ZERO if total is None else total


def _negated(term: Expr) -> Expr:
    match term:
        case Binary("-", left, right):
            return Binary("-", right, left)
    return Unary("-", term)


def _by_cases(conditions: list[Expr], branches: list[Expr]) -> Expr:
    result = branches[-1]
    for condition, branch in zip(reversed(conditions), reversed(branches[:-1]), strict=True):
        if branch != result:
            result = Conditional(condition, branch, result)
    return result
