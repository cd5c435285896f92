"""Looking for text inside text, and for one quantile among several."""

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields, refusal
from discreet.query.language.regular import ALTERNATIVES, matched, similar, without_matches
from discreet.query.language.spelling import spelled
from discreet.query.plan import Aggregate, Call, Literal, Scalar, constant, given

Reader: TypeAlias = Callable[[object], Scalar]
"""What reads the parts of an expression."""


def _regular(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression", "flag", "full_match")
    text, pattern = read(parts["this"]), read(parts["expression"])
    flag = Literal("") if parts.get("flag") is None else read(parts["flag"])
    if flag not in (Literal(""), Literal("i"), Literal("c")):
        raise QueryError("a regular expression", "has a flag that is not supported", "use LIKE or ILIKE")
    insensitive = flag == Literal("i") or isinstance(node, exp.RegexpILike)
    return matched(text, pattern, whole=bool(parts.get("full_match")), insensitive=insensitive)


def _replaced(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression", "replacement", "modifiers", "single_replace")
    flags = Literal("") if parts.get("modifiers") is None else read(parts["modifiers"])
    if flags != Literal("g") and parts.get("single_replace") is not False:
        raise QueryError(
            "REGEXP_REPLACE",
            "replaces the first match alone in some dialects and every one in others",
            "say that every one is meant: REGEXP_REPLACE(x, '[0-9]', '', 'g')",
        )
    new = Literal("") if parts.get("replacement") is None else read(parts["replacement"])
    return without_matches(read(parts["this"]), read(parts["expression"]), new)


def found_inside(node: exp.Expr, read: Reader) -> Scalar:
    """POSITION('x' IN s) > 0: whether a text contains another."""
    parts = fields(node, "this", "expression")
    place = fields(parts["this"], "this", "substr")
    least = constant(read(parts["expression"]))
    if least != (1 if isinstance(node, exp.GTE) else 0):
        raise QueryError(
            "POSITION", "is only compared with 0", "write POSITION('x' IN s) > 0, or CONTAINS(s, 'x')"
        )
    found = given(spelled("contains", (read(place["this"]), read(place["substr"]))))
    return Call("not", (found,)) if isinstance(node, exp.EQ) else found


def any_of(node: exp.Expr, read: Reader) -> Scalar:
    """X = ANY (a, b) and x LIKE ANY (a, b): one of several holds."""
    parts = fields(node, "this", "expression", "negate")
    listed = fields(parts["expression"], "this")["this"]
    while isinstance(listed, exp.Paren):
        listed = fields(listed, "this")["this"]
    if not isinstance(listed, exp.Tuple | exp.Array):
        raise QueryError("ANY", "takes a list of constants", "write x IN ('a', 'b')")
    values = tuple(read(value) for value in fields(listed, "expressions").get("expressions", ()))
    if not values or len(values) > ALTERNATIVES or parts.get("negate"):
        raise QueryError("ANY", f"takes from 1 to {ALTERNATIVES} constants", "write x IN ('a', 'b')")
    name = {exp.EQ: "eq", exp.Like: "like", exp.ILike: "ilike"}[type(node)]  # type: ignore[index]
    found = tuple(Call(name, (read(parts["this"]), value)) for value in values)
    return found[0] if len(found) == 1 else Call("or", found)


def _similar(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression")
    return similar(read(parts["this"]), read(parts["expression"]))


def _element(node: exp.Expr, read: Reader) -> Scalar:
    """APPROX_QUANTILES(x, 100)[OFFSET(50)]: one of the quantiles."""
    parts = fields(node, "this", "expressions", "offset", "safe")
    found, places = read(parts["this"]), parts.get("expressions", ())
    place = constant(_place(places[0], read)) if len(places) == 1 else None
    if not (isinstance(found, Aggregate) and found.function == "quantiles" and place is not None):
        raise refusal(node)
    if not 0 <= place < len(found.levels):
        raise QueryError("OFFSET", "is beyond the last quantile", "count from 0 to the number of parts")
    return Aggregate("quantile", found.argument, parameter=found.levels[place])


def _place(node: exp.Expr, read: Reader) -> Scalar:
    match node:
        case exp.Anonymous() if len(node.expressions) == 1 and str(node.this).upper() in (
            "OFFSET",
            "SAFE_OFFSET",
        ):
            return read(node.expressions[0])
        case _:
            raise QueryError(
                "[...]", "counts from 0 in some dialects and from 1 in others", "write [OFFSET(0)]"
            )


INSIDE: dict[type[exp.Expr], Callable[[exp.Expr, Reader], Scalar]] = {
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike, exp.RegexpFullMatch), _regular),
    exp.SimilarTo: _similar,
    exp.RegexpReplace: _replaced,
    exp.Bracket: _element,
}
