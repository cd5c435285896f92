"""What an aggregate makes of a value that nobody has: a LEFT JOIN keeps one row for it, of NULLs.

A list of constants before people's rows is read as a condition on these, so that row is not there.  Nothing
is lost where an aggregate passes it over, which NULL in its argument means; one that would count it, as
COUNT(*) and SUM(1) do, is refused.
"""

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.place import place_of

Named = Callable[[exp.Expr], bool]
"""Whether a column is that of the list."""

_MIXED = (exp.Coalesce, exp.Greatest, exp.Least, exp.Concat, exp.ConcatWs)
"""Functions that may be something where an argument is missing."""


def demand_unmatched(tree: exp.Expr, named: Named) -> None:
    """Refuse a SELECT with an aggregate that counts a row of NULLs."""
    for node in tree.find_all(exp.AggFunc):
        if node.find_ancestor(exp.Select) is not tree:
            continue
        kept = node.parent.expression.this if isinstance(node.parent, exp.Filter) else None
        if not (_passed_over(node, named) or (kept is not None and _untrue(kept, named))):
            raise QueryError(
                f"{node.sql_name()}(...)",
                "counts one row for a value that nobody has",
                "count a column of the people's rows, as in COUNT(v.person)",
                place_of(node),
            )


def _passed_over(node: exp.Expr, named: Named) -> bool:
    argument = node.this
    if isinstance(node, exp.CountIf):
        return _untrue(argument, named)
    return _absent(argument, named) or (isinstance(node, exp.Sum) and _absent(argument, named, nought=True))


def _absent(node: object, named: Named, *, nought: bool = False) -> bool:
    """Whether an expression is NULL where all columns of the rows are; with `nought`, or 0."""
    match node:
        case exp.Literal():
            return nought and node.this == "0"
        case exp.Null():
            return True
        case exp.Column():
            return not named(node)
        case exp.Case() | exp.If():
            otherwise = node.args.get("default") or node.args.get("false")
            other = otherwise is None or _absent(otherwise, named, nought=nought)
            return other and all(_untrue(test, named) for test in _tests(node))
        case exp.Distinct():
            return any(_absent(one, named) for one in node.expressions)
        case _ if isinstance(node, _MIXED):
            parts = [part for part in (node.this, *node.expressions) if isinstance(part, exp.Expr)]
            return all(_absent(part, named, nought=nought) for part in parts)
        case exp.Is() | exp.Connector() | exp.NullSafeEQ() | exp.NullSafeNEQ():
            return False
        case exp.Binary():
            return _absent(node.this, named) or _absent(node.expression, named)
        case exp.Expr():
            return _absent(node.this, named, nought=nought)
        case _:
            return False


def _tests(node: exp.Expr) -> list[exp.Expr]:
    """Return the conditions of CASE or IF; CASE x WHEN ... is about x alone."""
    if isinstance(node, exp.If):
        return [node.this]
    return [node.this] if node.args.get("this") else [branch.this for branch in node.args["ifs"]]


def _untrue(node: object, named: Named) -> bool:
    """Whether a condition does not hold where all columns of the rows are NULL."""
    match node:
        case exp.Paren():
            return _untrue(node.this, named)
        case exp.And():
            return _untrue(node.this, named) or _untrue(node.expression, named)
        case exp.Or():
            return _untrue(node.this, named) and _untrue(node.expression, named)
        case exp.Not(this=exp.Is(this=inner, expression=exp.Null())):
            return _absent(inner, named)
        case exp.Is(this=inner, expression=exp.Boolean()):
            return _absent(inner, named)
        case _:
            return _absent(node, named)
