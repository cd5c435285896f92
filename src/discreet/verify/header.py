"""Reading the head of a procedure: its parameters and their types, its neighbours and its claim.

An input is private unless it is declared public, or is a plain number (int or real) of which nothing says how
it may differ; such numbers are taken as public, and the verdict says so.
"""

from dataclasses import replace

from discreet.verify.cursor import Cursor
from discreet.verify.expression import integer, whole
from discreet.verify.substitute import mapped
from discreet.verify.syntax import (
    Array,
    Binary,
    Claim,
    Element,
    EpsilonClaim,
    Expr,
    Kind,
    Length,
    Neighbours,
    Parameter,
    Rho,
    Scalar,
    Secret,
    SensitiveQuery,
    Size,
    TextPosition,
    Type,
    Variable,
    subexpressions,
)

RELATIONS = ("one", "all", "monotone", "increasing", "decreasing", "replace", "add-remove", "any")
"""How a private input may differ; `increasing` and `decreasing` are other words for `monotone`."""
KINDS: dict[str, Kind] = {"int": "int", "real": "real", "bool": "bool", "msg": "bits", "bits": "bits"}
WIDEST = 16
"""Entries of one row."""
LENGTH: Length = "n"
"""The length of `msg` and `bits`, and what {0,1}^n and {0,1}n say explicitly."""


def parameters(at: Cursor) -> tuple[Parameter, ...]:
    """Read the parameters of a procedure, in one or several pairs of parentheses."""
    found: list[Parameter] = []
    while at.accept("("):
        while not at.accept(")"):
            found.append(parameter(at))
            if not at.sees(")"):
                at.expect(",")
    seen: set[str] = set()
    for item in found:
        if item.name in seen:
            at.fail(f"parameter {item.name} is declared twice", item.at)
        seen.add(item.name)
    return tuple(found)


def parameter(at: Cursor) -> Parameter:
    """Read one parameter."""
    name = at.declared("the name of a parameter")
    at.expect(":")
    stated = at.sees("private", "priv", "public", "pub")
    private = at.take().text in ("private", "priv") if stated else True
    kind = type_(at)
    if isinstance(kind, SensitiveQuery):
        return Parameter(name.text, kind, False, name.at)
    return Parameter(name.text, kind, private, name.at, stated)


def presumed(found: tuple[Parameter, ...], neighbours: tuple[Neighbours, ...]) -> tuple[Parameter, ...]:
    """Return the parameters, the plain numbers among them public if nothing is said about them."""
    differing = {relation.name for relation in neighbours}
    return tuple(
        replace(p, private=False)
        if not p.stated and p.type in (Scalar("int"), Scalar("real")) and p.name not in differing
        else p
        for p in found
    )


def type_(at: Cursor) -> Type:
    """Read a type."""
    place = at.word.at
    scalar = finite(at, place) if at.accept("{") else plain(at, place)
    width = 0
    if isinstance(scalar, Scalar) and at.accept("["):
        width = integer(at)
        at.expect("]")
        if not 1 <= width <= WIDEST or not at.sees("list"):
            at.fail(f"a list of rows has 1 to {WIDEST} entries in each: real[2] list", place)
    if isinstance(scalar, Scalar) and at.accept("list"):
        return Array(scalar, width)
    return scalar


def finite(at: Cursor, place: TextPosition) -> Scalar:
    """Read {a..b}, {a, b, c}, {0,1}^n or {0,1}n, after the opening brace."""
    low = high = integer(at)
    if at.accept(".."):
        high = integer(at)
    while at.accept(","):
        value = integer(at)
        if value != high + 1:
            at.fail("a finite type lists consecutive integers, such as {0,1,2}", place)
        high = value
    at.expect("}")
    if high < low:
        at.fail(f"there is no integer from {low} to {high}", place)
    if not at.accept("^") and not (at.word.kind == "name" and at.word.text == LENGTH):
        return Scalar("int", low, high)
    if (low, high) != (0, 1):
        at.fail("strings are made of bits: {0,1}^n", place)
    return Scalar("bits", length=length(at))


def length(at: Cursor) -> Length:
    """Read how many bits a string has."""
    if at.word.kind == "name":
        return at.identifier("the number of bits").text
    bits = integer(at)
    if not 1 <= bits <= 4096:
        at.fail("a string has between 1 and 4096 bits, or as many as a name says: {0,1}^n")
    return bits


def plain(at: Cursor, place: TextPosition) -> Scalar | Array | SensitiveQuery:
    """Read the name of a type."""
    word = at.identifier("a type").text
    if word == "data":
        if at.accept("->"):
            at.expect("real")
            return SensitiveQuery()
        return Array(Scalar("real"))
    if word not in KINDS:
        at.fail(f"unknown type {word!r}; use int, real, bool, bits, data, {{a..b}} or a list of these", place)
    kind = KINDS[word]
    return Scalar(kind, length=LENGTH if kind == "bits" else None)


def formula(at: Cursor) -> Expr:
    """Read how all private inputs together may differ; neighbours are so in either order.

    The two orders are joined both ways round, so that neither has a value where the other has none.
    """
    at.relational = True
    found = whole(at)
    at.relational = False
    other = swapped(found)
    if other == found:
        return found
    ways = Binary("or", found, other, found.at), Binary("or", other, found, found.at)
    return Binary("and", *ways, found.at)


def swapped(expression: Expr) -> Expr:
    """Return a formula in which the two runs have changed places."""
    match expression:
        case Variable(name, side, at) if side:
            return Variable(name, 3 - side, at)
        case Size(array, side, at) if side:
            return Size(array, 3 - side, at)
        case Element(array, index, side, at) if side:
            return Element(array, swapped(index), 3 - side, at)
        case _:
            return mapped(expression, swapped)


def differing(
    found: tuple[Parameter, ...], neighbours: tuple[Neighbours, ...], formula: Expr
) -> tuple[Neighbours, ...]:
    """Return the neighbours clauses, with those that need not be written.

    A number of which only the formula speaks may be any; a finite type is replaced, a bit string any other.
    """
    said = {relation.name for relation in neighbours}
    spoken = {part.name for part in subexpressions(formula) if isinstance(part, Variable) and part.side}
    more: list[Neighbours] = []
    for parameter in found:
        kind = parameter.type.element if isinstance(parameter.type, Array) else parameter.type
        if parameter.name in said or not isinstance(kind, Scalar) or not parameter.private:
            continue
        if kind.low is not None or kind.kind == "bool":
            more.append(Neighbours(parameter.name, "replace", at=parameter.at))
        elif kind.kind == "bits" or (parameter.name in spoken and parameter.type == kind):
            more.append(Neighbours(parameter.name, "any", at=parameter.at))
    return (*neighbours, *more)


def adjacency(at: Cursor, place: TextPosition) -> Neighbours:
    """Read a neighbours clause about one input, after its first word."""
    name = at.identifier("the private input that differs").text
    word = at.identifier("how it differs (one, all, monotone, replace, add-remove, any)")
    kind = word.text
    if kind == "add" and at.accept("-"):
        kind = "add-" + at.take().text
    if kind not in RELATIONS:
        at.fail(f"unknown relation {kind!r}; use one of {', '.join(RELATIONS)}", word.at)
    bound = low = high = None
    if at.accept("by"):
        bound = whole(at)
    if at.accept("in"):
        at.expect("[")
        low = whole(at)
        at.expect(",")
        high = whole(at)
        at.expect("]")
    if kind in ("increasing", "decreasing"):
        kind = "monotone"
    if bound is not None and kind in ("add-remove", "any"):
        at.fail(f"{kind} knows no distance: leave out `by ...`", bound.at)
    return Neighbours(name, kind, bound, low, high, place)  # type: ignore[arg-type]


def claim(at: Cursor, place: TextPosition) -> Claim:
    """Read what a procedure ensures, after that word."""
    word = at.identifier("a claim: epsilon, rho or secret")
    match word.text:
        case "epsilon":
            epsilon = whole(at)
            return EpsilonClaim(epsilon, whole(at) if at.accept("delta") else None, place)
        case "rho":
            return Rho(whole(at), place)
        case "secret":
            return Secret(place)
    return at.fail(f"unknown claim {word.text!r}; use epsilon, rho or secret", word.at)
