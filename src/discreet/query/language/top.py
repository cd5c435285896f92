"""APPROX_TOP_COUNT(x, k) and its kin: the groups with the highest counts, a row for each."""

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.place import place_of

NAMES = ("APPROX_TOP_COUNT", "APPROX_TOP_K", "APPROX_TOP_SUM")


def without_top(tree: exp.Select) -> exp.Select:
    """Return a SELECT of the most frequent values as one with GROUP BY, ORDER BY and LIMIT."""
    found = [node for node in tree.find_all(exp.Anonymous) if str(node.this).upper() in NAMES]
    if not found:
        return tree
    (top, *others), items = found, [node.unalias() for node in tree.expressions]
    name, arguments = str(top.this).upper(), top.expressions
    summed = name == "APPROX_TOP_SUM"
    clauses = ("group", "having", "order", "limit", "offset", "distinct", "qualify")
    alone = items == [top] and not others and not any(tree.args.get(key) for key in clauses)
    if not alone or not 1 + summed <= len(arguments) <= 2 + summed:
        said = "SUM(y)" if summed else "COUNT(*)"
        raise QueryError(
            name,
            "is a table of its own: values and how often they occur",
            f"write SELECT x, {said} AS n FROM t GROUP BY x ORDER BY n DESC LIMIT 10",
            place_of(top),
        )
    value, count = (
        arguments[0],
        arguments[1 + summed] if len(arguments) > 1 + summed else exp.Literal.number(1),
    )
    weight: exp.Expr = exp.Sum(this=arguments[1].copy()) if summed else exp.Count(this=exp.Star())
    tree.set(
        "expressions", [exp.alias_(value.copy(), "value"), exp.alias_(weight, "sum" if summed else "count")]
    )
    tree.set("group", exp.Group(expressions=[value.copy()]))
    tree.set("order", exp.Order(expressions=[exp.Ordered(this=weight.copy(), desc=True, nulls_first=False)]))
    tree.set("limit", exp.Limit(expression=count.copy()))
    return tree
