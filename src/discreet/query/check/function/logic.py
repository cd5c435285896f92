"""Comparisons, conditions, and what stands for a missing value."""

from collections.abc import Sequence

from discreet.errors import QueryError
from discreet.query.catalog.kind import Moment, Nothing, Opaque, Text, Truth, Typed, Whole, truth, word
from discreet.query.check.function.agreement import Rule, agree, settle
from discreet.query.check.function.zone import as_instants
from discreet.query.plan import Call, Column


def _comparison(name: str, arguments: Sequence[Typed]) -> Typed:
    if name == "eq" and _identifiers(arguments):
        return truth(Call("eq", tuple(Call("to_text", (part.scalar,)) for part in arguments)))
    if len({part.kind.zone for part in arguments if isinstance(part.kind, Moment)}) > 1:
        # Clocks of different zones are not compared, but when they showed what they did.
        arguments = as_instants(arguments)
    parts, kind = agree(_SIGNS[name], arguments)
    if isinstance(kind, Opaque):
        if name not in ("eq", "ne"):
            raise QueryError(
                _SIGNS[name], "an identifier of undeclared type has no order", "declare the column's type"
            )
        # Two such columns may be stored differently, so they are compared as text.
        return truth(Call(name, tuple(Call("to_text", (part.scalar,)) for part in parts)))
    if name in ("lt", "le", "gt", "ge") and isinstance(kind, Truth):
        raise QueryError(_SIGNS[name], "booleans have no order", "compare them with = or use them directly")
    return truth(Call(name, tuple(part.scalar for part in parts)))


def _identifiers(arguments: Sequence[Typed]) -> bool:
    """Whether two columns are compared of which one is an identifier of undeclared type."""
    columns = all(isinstance(part.scalar, Column) for part in arguments)
    kinds = {type(part.kind) for part in arguments}
    return columns and Opaque in kinds and kinds <= {Opaque, Whole, Text}


def _logic(name: str, arguments: Sequence[Typed]) -> Typed:
    for argument in arguments:
        if not isinstance(argument.kind, Truth | Nothing):
            raise QueryError(
                name.upper(), f"needs conditions but got {word(argument.kind)}", "compare it with something"
            )
    return truth(Call(name, tuple(argument.scalar for argument in arguments)))


def _is_null(name: str, arguments: Sequence[Typed]) -> Typed:
    return truth(Call("is_null", (settle(arguments[0]).scalar,)))


def _coalesce(name: str, arguments: Sequence[Typed]) -> Typed:
    parts, kind = agree("COALESCE", arguments)
    # The result is one of the arguments.
    return Typed(Call("coalesce", tuple(part.scalar for part in parts)), kind, parts[0].held)


def _nullif(name: str, arguments: Sequence[Typed]) -> Typed:
    parts, _ = agree("NULLIF", arguments)
    # The result is the first argument, as it was converted, or NULL.
    return Typed(Call("nullif", tuple(part.scalar for part in parts)), parts[0].kind, parts[0].held)


_SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "distinct": "IS DISTINCT FROM"}

RULES: dict[str, Rule] = {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "distinct"), _comparison),
    **dict.fromkeys(("and", "or", "not"), _logic),
    "is_null": _is_null,
    "coalesce": _coalesce,
    "nullif": _nullif,
}
