"""Whole distributions: CDF, HISTOGRAM and QUANTILES, which have a row for each of many places."""

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields
from discreet.query.language.spelling import quantile_level
from discreet.query.plan import Aggregate, Call, Case, Literal, Scalar, constant

Read = Callable[[object], Scalar]
Row = Callable[[str, object], Scalar]

DISTRIBUTIONS = {
    "cdf": ("a column and, if you like, the number of cells", "write CDF(x) or CDF(x, 100)"),
    "histogram": (
        "a column and, if you like, the number of cells, or the edges between them",
        "write HISTOGRAM(x), HISTOGRAM(x, 10) or HISTOGRAM(x, [18, 65])",
    ),
    "quantiles": (
        "a column, a list of levels from 0 to 1 and, if you like, the number of cells",
        "write QUANTILES(x, [0.25, 0.5, 0.75])",
    ),
}


def distribution(name: str, nodes: list[exp.Expr], read: Read, row: Row) -> Aggregate:
    """Return CDF, HISTOGRAM or QUANTILES; `read` translates an expression, `row` one without aggregates."""
    match name, nodes:
        case (("cdf" | "histogram"), [argument]):
            return Aggregate(name, row(name, argument))
        case (("cdf" | "histogram"), [argument, cells]):
            edges = name == "histogram" and isinstance(cells, exp.Array)
            cut = tuple(_numbers(name, cells, read)) if edges else _cells(name, read(cells))
            return Aggregate(name, row(name, argument), cells=cut)
        case "quantiles", [argument, exp.Array() as listed, *rest] if len(rest) <= 1:
            levels = tuple(quantile_level(Literal(level)) for level in _numbers(name, listed, read))
            count = _cells(name, read(rest[0])) if rest else None
            return Aggregate(name, row(name, argument), cells=count, levels=levels)
    wants, instead = DISTRIBUTIONS[name]
    raise QueryError(name.upper(), f"takes {wants}", instead)


LEVELS = ("approx_percentile", "percentile", "percentile_approx")
"""Functions that take one level, or a list of them."""


def bucket_among(nodes: list[exp.Expr], read: Read) -> Scalar:
    """RANGE_BUCKET(x, [18, 65]): how many of the edges a number has reached."""
    if len(nodes) != 2 or not isinstance(nodes[1], exp.Array):
        raise QueryError(
            "RANGE_BUCKET", "takes a number and a list of edges", "write RANGE_BUCKET(x, [18, 65])"
        )
    subject = read(nodes[0])
    edges = [Literal(int(e) if e.denominator == 1 else e) for e in _numbers("histogram", nodes[1], read)]
    below = tuple((Call("lt", (subject, edge)), Literal(place)) for place, edge in enumerate(edges))
    return Case((*below, (Call("ge", (subject, edges[-1])), Literal(len(edges)))), Literal(None))


def _numbers(name: str, listed: exp.Expr, read: Read) -> list[Fraction]:
    found = []
    for part in fields(listed, "expressions", "value_constructor", "bracket_notation").get("expressions", ()):
        match read(part):
            case Literal(int() | Fraction() as value) if not isinstance(value, bool):
                found.append(Fraction(value))
            case Call("negate", (Literal(int() | Fraction() as value),)) if not isinstance(value, bool):
                found.append(-Fraction(value))
            case _:
                raise QueryError(name.upper(), "the list must hold constant numbers", DISTRIBUTIONS[name][1])
    if not found or found != sorted(set(found)):
        raise QueryError(name.upper(), "the list must be increasing and not empty", DISTRIBUTIONS[name][1])
    return found


def _cells(name: str, scalar: Scalar) -> int:
    count = constant(scalar)
    if count is None or count < 1:
        raise QueryError(
            name.upper(), "the number of cells must be a whole number, at least 1", DISTRIBUTIONS[name][1]
        )
    return count
