"""Reading expressions, from weak to strong binding."""

from collections.abc import Callable
from fractions import Fraction

from discreet.verify.cursor import FUNCTIONS, LAWS, Cursor
from discreet.verify.syntax import (
    Apply,
    Ask,
    Binary,
    Conditional,
    Element,
    Expr,
    Items,
    Number,
    Size,
    TextPosition,
    TruthValue,
    Unary,
    Variable,
    children,
)

GHOSTS = ("tag", "value", "result")
"""What a proof's formula may ask about the fixed output."""
TALLEST = 120
"""How many operations may stand on top of each other in one expression."""
COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")


def height(expression: Expr) -> int:
    """Return how many operations stand on top of each other, found without recursion."""
    level, tallest = [expression], 0
    while level:
        tallest += 1
        level = [child for part in level for child in children(part)]
    return tallest


def whole(at: Cursor) -> Expr:
    """Read an expression that stands by itself: a condition, a value, an argument."""
    place = at.word.at
    found = expression(at)
    if height(found) > TALLEST:
        at.fail(
            f"this expression has more than {TALLEST} operations in a row; name a part of it first", place
        )
    return found


def expression(at: Cursor) -> Expr:
    """Read an expression."""
    with at.deeper("expressions"):
        place = at.word.at
        if not at.accept("if"):
            return disjunction(at)
        condition = expression(at)
        at.expect("then")
        positive = expression(at)
        at.expect("else")
        return Conditional(condition, positive, expression(at), place)


def chain(at: Cursor, operators: tuple[str, ...], operand: Callable[[Cursor], Expr]) -> Expr:
    """Read operands joined by operators of equal strength, from left to right."""
    left = operand(at)
    while at.sees(*operators):
        token = at.take()
        left = Binary(token.text, left, operand(at), token.at)
    return left


def disjunction(at: Cursor) -> Expr:
    """Read alternatives."""
    return chain(at, ("or",), conjunction)


def conjunction(at: Cursor) -> Expr:
    """Read conditions that must all hold."""
    return chain(at, ("and",), negation)


def negation(at: Cursor) -> Expr:
    """Read a condition or its opposite."""
    if not at.sees("not"):
        return comparison(at)
    with at.deeper("negations"):
        place = at.take().at
        return Unary("not", negation(at), place)


def comparison(at: Cursor) -> Expr:
    """Read a comparison of two sums, or a sum."""
    left = addition(at)
    if not at.sees(*COMPARISONS):
        return left
    token = at.take()
    left = Binary(token.text, left, addition(at), token.at)
    if at.sees(*COMPARISONS):
        at.fail("comparisons do not chain: write a < b and b < c")
    return left


def addition(at: Cursor) -> Expr:
    """Read a sum."""
    return chain(at, ("+", "-", "++", "xor"), multiplication)


def multiplication(at: Cursor) -> Expr:
    """Read a product."""
    return chain(at, ("*", "/", "mod"), signed)


def signed(at: Cursor) -> Expr:
    """Read a factor with its sign."""
    if not at.sees("-"):
        return atom(at)
    with at.deeper("signs"):
        place = at.take().at
        operand = signed(at)
    if isinstance(operand, Number):
        return Number(-operand.value, operand.whole, place)
    return Unary("-", operand, place)


def atom(at: Cursor) -> Expr:
    """Read a number, a name, an element, an application, or something in parentheses."""
    place = at.word.at
    if at.word.kind == "number":
        text = at.take().text
        if at.word.kind == "name" and at.word.at == TextPosition(place.line, place.column + len(text)):
            at.fail(f"a product needs its sign: write {text} * {at.word.text}")
        return Number(Fraction(text), "." not in text, place)
    if at.sees("true", "false"):
        return TruthValue(at.take().text == "true", place)
    if at.accept("("):
        inner = expression(at)
        if at.sees(","):
            at.fail("a pair can only be returned: return (a, b)")
        at.expect(")")
        return inner
    if at.accept("["):
        return Items(listed(at, "]"), place)
    return named(at)


def named(at: Cursor) -> Expr:
    """Read a name and what it is applied to."""
    name = at.identifier("an expression")
    place, text = name.at, name.text
    if text in LAWS:
        at.fail(f"a draw is written x := $ {text}(...), on a line of its own", place)
    if text == "size":
        return size(at, place)
    side = run(at) if at.relational else 0
    if at.accept("("):
        return applied(at, text, side, place)
    if text in FUNCTIONS:
        at.fail(f"{text} is a function: write {text}({', '.join('ab'[: FUNCTIONS[text]])})", place)
    if at.accept("["):
        index = expression(at)
        at.expect("]")
        if at.accept("["):
            if side:
                at.fail("a formula of neighbours reads no rows", place)
            entry = expression(at)
            at.expect("]")
            return Apply("[]", (Variable(text, at=place), index, entry), place)
        return Element(text, index, side, place)
    return Variable(text, side, place)


def size(at: Cursor, place: TextPosition) -> Expr:
    """Read `size d` or `size(d)`, after its first word."""
    side = run(at) if at.relational else 0
    if at.accept("("):
        array = at.identifier("the list whose length is wanted")
        at.expect(")")
    else:
        array = at.identifier("the list whose length is wanted")
    return Size(array.text, side, place)


def applied(at: Cursor, name: str, side: int, place: TextPosition) -> Expr:
    """Read the arguments of a function; in a formula a query is marked by its run."""
    if side:
        data = at.identifier("the list that the query is applied to")
        at.expect(")")
        return Ask(name, data.text, side, place)
    return Apply(name, listed(at, ")"), place)


def listed(at: Cursor, closing: str) -> tuple[Expr, ...]:
    """Read expressions separated by commas, up to a closing mark."""
    found: list[Expr] = []
    while not at.accept(closing):
        found.append(expression(at))
        if not at.sees(closing):
            at.expect(",")
    return tuple(found)


def run(at: Cursor) -> int:
    """Read {1} or {2}, if it is there."""
    if not at.accept("{"):
        return 0
    side = integer(at)
    if side not in (1, 2):
        at.fail("a run is marked {1} or {2}")
    at.expect("}")
    return side


def integer(at: Cursor) -> int:
    """Read a whole number with its sign."""
    sign = -1 if at.accept("-") else 1
    if at.word.kind != "number" or "." in at.word.text:
        at.unexpected("an integer")
    return sign * int(at.take().text)
