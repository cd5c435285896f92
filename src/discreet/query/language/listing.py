"""Lists of released values: STRING_AGG(ward, ', ' ORDER BY n DESC), LISTAGG(ward) WITHIN GROUP (...)."""

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields
from discreet.query.plan import LISTED, Aggregate, Literal, Scalar, Window, windowed


def is_list(node: exp.Expr) -> bool:
    """Whether a function lists values, under whatever name."""
    return isinstance(node, exp.GroupConcat) or (
        isinstance(node, exp.Anonymous)
        and str(node.this).lower() in ("listagg", "string_agg", "group_concat")
    )


def listed(node: exp.Expr, read: Callable[[exp.Expr], Scalar], within: exp.Expr | None = None) -> Scalar:
    """Return the aggregate that writes values into one text, in an order."""
    from discreet.query.language.clauses import ordered as order

    if isinstance(node, exp.Anonymous):
        values = list(fields(node, "this", "expressions").get("expressions", ()))
        inner, separator = [*values, None, None][:2]
        if not 1 <= len(values) <= 2:
            raise QueryError("LISTAGG", "takes a value and a separator", "write LISTAGG(ward, ', ')")
    else:
        parts = fields(node, "this", "separator")
        inner, separator = parts["this"], parts.get("separator")
    terms: list[exp.Expr] = []
    if isinstance(inner, exp.Order):
        sorted_by = fields(inner, "this", "expressions")
        inner, terms = sorted_by["this"], list(sorted_by["expressions"])
    if within is not None:
        terms = list(fields(within, "expressions")["expressions"])
    if isinstance(inner, exp.Distinct):
        raise QueryError("DISTINCT in a list", "is not supported", "group by the value first")
    between = Literal(",") if separator is None else read(separator)
    if not isinstance(between, Literal) or not isinstance(between.value, str) or len(between.value) > 100:
        raise QueryError(
            "a list of values", "needs a short text between them", "write STRING_AGG(ward, ', ')"
        )
    whole = Window(LISTED, (read(inner), between), (), tuple(map(order, terms)), ("rows", None, None))
    return Aggregate(LISTED, windowed(whole))
