"""Writing a found proof down in the words of the program, for the kernel and for people.

The search speaks of symbols that it has made; a certificate speaks of variables in one run or the other,
x{1} and x{2}, of the movement so far, of the fixed output and of where the inputs differ.
"""

from collections.abc import Mapping
from fractions import Fraction

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.contribution import PLACE
from discreet.verify.domain import senses
from discreet.verify.ending import tossed
from discreet.verify.kernel import Part
from discreet.verify.law import score_change
from discreet.verify.neighbours import Direction, Inputs
from discreet.verify.obligation import LoopRelation, System
from discreet.verify.shared import is_one_sided, is_quiet
from discreet.verify.substitute import mapped
from discreet.verify.syntax import (
    Apply,
    Array,
    Ask,
    Binary,
    Conditional,
    Element,
    Expr,
    Number,
    Sample,
    Scalar,
    Size,
    TruthValue,
    Unary,
    Variable,
    While,
    statements,
)
from discreet.verify.term import Term, UnsupportedError, constants
from discreet.verify.walk import walked

FALSE = TruthValue(False)
_JOINED = {
    z3.Z3_OP_ADD: "+",
    z3.Z3_OP_SUB: "-",
    z3.Z3_OP_MUL: "*",
    z3.Z3_OP_DIV: "/",
    z3.Z3_OP_MOD: "mod",
    z3.Z3_OP_AND: "and",
    z3.Z3_OP_OR: "or",
    z3.Z3_OP_XOR: "xor",
    z3.Z3_OP_EQ: "=",
    z3.Z3_OP_DISTINCT: "!=",
    z3.Z3_OP_LE: "<=",
    z3.Z3_OP_LT: "<",
    z3.Z3_OP_GE: ">=",
    z3.Z3_OP_GT: ">",
}


def put_down(
    checked: CheckedProgram,
    direction: Direction,
    moves: Mapping[int, Expr],
    variants: Mapping[int, Expr],
    invariants: Mapping[str, Term],
    system: System,
) -> Part:
    """Return one direction of a proof as the kernel reads it."""
    ways = senses(checked.program, direction)
    visits: dict[int, list[tuple[Expr, ...]]] = {}
    for relation in system.relations:
        found = conjuncts(invariants[relation.name])
        vocabulary = words(relation, system.inputs)
        known = [*_agreed(checked, relation), *(expression(fact, vocabulary) for fact in found)]
        visits.setdefault(relation.loop, []).append(tuple(known))
    loops = [s for s in statements(checked.program.body) if isinstance(s, While)]
    apart = {s.loop: s for s in loops if is_quiet(s.body) and not checked.is_shared(s.condition)}
    apart = {key: s for key, s in apart.items() if not is_one_sided(s, checked.program)}
    late = {s.loop for s in loops if is_one_sided(s, checked.program) and ways[walked(s)[0]] == "add"}
    draws = [s for s in statements(checked.program.body) if isinstance(s, Sample) and s.law == "ExpMech"]
    spreads = {s.site: score_change(s, checked.program) for s in draws}
    return Part(
        ways,
        {site: move for site, move in {**moves, **spreads}.items() if move not in (FALSE, None)},
        _coins(loops)
        | {loop: _sided(v, 2) if loop in late else v for loop, v in variants.items()}
        | {loop: Binary("+", _rest(variants[loop], 1), _rest(variants[loop], 2)) for loop in apart},
        {loop: tuple(each) for loop, each in visits.items()},
        {s.loop: _waits(s, ways) for s in loops if is_one_sided(s, checked.program)}
        | {loop: _own_ends(s) for loop, s in apart.items()},
    )


def _own_ends(loop: While) -> tuple[Expr, Expr]:
    """Return when each run waits in a loop in which each makes turns of its own."""
    first, second = (Unary("not", _sided(loop.condition, side)) for side in (1, 2))
    return first, second


def _rest(variant: Expr, side: int) -> Expr:
    return Apply("max", (_sided(variant, side), Number(Fraction(0))))


def _coins(loops: list[While]) -> dict[int, Expr]:
    """Return the face of a coin without which a loop does not go on."""
    return {loop.loop: face for loop in loops for face in tossed(loop)}


def has_words(system: System, invariants: Mapping[str, Term]) -> bool:
    """Return whether invariants can be written down."""
    try:
        for relation in system.relations:
            expression(invariants[relation.name], words(relation, system.inputs))
    except UnsupportedError:
        return False
    return True


def _waits(loop: While, ways: Mapping[str, str]) -> tuple[Expr, Expr]:
    array, counter = walked(loop)
    position = Apply("position", (Variable(array),))
    if ways[array] == "remove":
        return FALSE, Binary("=", Variable(counter, 1), position)
    return Binary("=", Variable(counter, 2), position), FALSE


def _sided(expression: Expr, side: int) -> Expr:
    """Return an expression as one run sees it."""
    match expression:
        case Variable(name):
            return Variable(name, side)
        case Size(array):
            return Size(array, side)
        case Element(array, index):
            return Element(array, _sided(index, side), side)
        case _:
            return mapped(expression, lambda part: _sided(part, side))


def _agreed(checked: CheckedProgram, relation: LoopRelation) -> list[Expr]:
    own = {term.get_id() for term in relation.changing}
    return [
        Binary("=", Variable(name, 1), Variable(name, 2))
        for name, term in relation.state.left.items()
        if term.get_id() in own and name in checked.shared and checked.types[name] != Scalar("bits")
    ]


def conjuncts(formula: Term) -> list[Term]:
    """Return the members of a conjunction."""
    if z3.is_and(formula):
        return [part for child in formula.children() for part in conjuncts(child)]
    return [] if z3.is_true(formula) else [formula]


def words(relation: LoopRelation, inputs: Inputs) -> dict[int, Expr]:
    """Return what the symbols at the head of a loop are called, by their identity."""
    found: dict[int, Expr] = {}
    state, program = relation.state, inputs.checked.program

    def name(term: Term, word: Expr) -> None:
        if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.setdefault(term.get_id(), word)

    for parameter in program.parameters:
        if isinstance(parameter.type, Scalar) and not parameter.private:
            name(inputs.public(parameter.name), Variable(parameter.name))
        if isinstance(parameter.type, Array):
            for side in (1, 2):
                name(inputs.size(parameter.name, side), Size(parameter.name, side))
    for key, sides in inputs.scalars.items():
        query, _, data = key.rstrip(")").partition("(")
        for side, term in enumerate(sides, start=1):
            name(term, Ask(query, data, side) if data else Variable(key, side))
    for array, position in inputs.positions.items():
        name(position, Apply("position", (Variable(array),)))
        if array in inputs.deltas:
            name(inputs.deltas[array], _changed(array, inputs))
    for variable, term in state.left.items():
        name(term, Variable(variable, 1))
    for variable, term in state.right.items():
        name(term, Variable(variable, 2))
    for site, term in state.cost.items():
        name(term, Apply("moved", (Number(Fraction(site)),)))
    for array, term in state.length.items():
        name(term, Size(array))
    for array, term in relation.told:
        name(term, Apply("value", (Variable(array),)))
    for term in relation.rigid:
        if str(term).startswith("result("):
            name(term, Apply("result", (Number(Fraction(str(term)[7:-1])),)))
    _elements(inputs, found)
    return found


def _changed(array: str, inputs: Inputs) -> Expr:
    """Return by how much an element changes, or the element that only one run has."""
    place = Apply("position", (Variable(array),))
    before, after = Element(array, place, 1), Element(array, place, 2)
    way = senses(inputs.checked.program, inputs.direction).get(array)
    if way in ("remove", "add"):
        return before if way == "remove" else after
    return Binary("-", after, before)


def _elements(inputs: Inputs, found: dict[int, Expr]) -> None:
    """Name the elements that were read at a fixed place, and their distances."""
    for key, (first, second) in inputs.elements.items():
        array, place = key[0], inputs.indices[key]
        if array in inputs.positions and place.eq(inputs.positions[array]):
            index: Expr = Apply("position", (Variable(array),))
        elif z3.is_int_value(place):
            index = Number(Fraction(place.as_long()))
        else:
            continue
        sides = Element(array, index, 1), Element(array, index, 2)
        found.setdefault(first.get_id(), sides[0])
        for made, term in constants(second).items():
            if str(term).startswith(f"distance({array})["):
                found.setdefault(made, Binary("-", sides[1], sides[0]))
            elif str(term).startswith(f"{array}{{2}}["):
                found.setdefault(made, sides[1])


def expression(term: Term, words: Mapping[int, Expr]) -> Expr:
    """Return a formula of the search as an expression; raises UnsupportedError where it has no words."""
    if term.get_id() in words:
        return words[term.get_id()]
    if z3.is_true(term) or z3.is_false(term):
        return TruthValue(z3.is_true(term))
    if z3.is_int_value(term):
        return Number(Fraction(term.as_long()))
    if z3.is_rational_value(term):
        return Number(Fraction(str(term.as_fraction())), whole=False)
    if z3.is_quantifier(term) and term.is_forall() and term.num_vars() == 1:
        anywhere = {**words, PLACE.get_id(): Apply("place", (Number(Fraction(0)),))}
        return expression(z3.substitute_vars(term.body(), PLACE), anywhere)
    if z3.is_quantifier(term) or z3.is_var(term):
        raise UnsupportedError("an invariant that was found speaks of more than one place at a time")
    parts = [expression(child, words) for child in term.children()]
    match term.decl().kind(), parts:
        case ((z3.Z3_OP_TO_REAL | z3.Z3_OP_ADD), [only]):
            return only
        case z3.Z3_OP_NOT, [only]:
            return Unary("not", only)
        case z3.Z3_OP_UMINUS, [only]:
            return Unary("-", only)
        case z3.Z3_OP_IMPLIES, [condition, consequence]:
            return Binary("or", Unary("not", condition), consequence)
        case z3.Z3_OP_SELECT, [Variable(name, side), index]:
            return Element(name, index, side)
        case z3.Z3_OP_ITE, [condition, positive, negative]:
            return Conditional(condition, positive, negative)
        case kind, [first, *rest] if kind in _JOINED and rest:
            for other in rest:
                first = Binary(_JOINED[kind], first, other)
            return first
    raise UnsupportedError(f"an invariant that was found speaks of {term.decl().name()}, which has no words")
