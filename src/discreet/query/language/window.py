"""Window functions of released values: a plan holds one as a call with its clauses spelled out."""

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields, refusal, words_of
from discreet.query.plan import Call, Literal, Order, Scalar, Window, constant, windowed

RANKS: dict[type[exp.Expr], str] = {
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.RowNumber: "row_number",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}

OVER_ROWS: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Count: "count",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
}

OVER_ALL: dict[type[exp.Expr], str] = {
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Median: "median",
}

STEPS: dict[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}


def window(node: exp.Expr, read: Callable[[object], Scalar], order: Callable[[exp.Expr], Order]) -> Scalar:
    """Return a window function; `read` and `order` translate what is inside."""
    parts = fields(node, "this", "partition_by", "order", "spec", "over")
    if _share(parts["this"]):
        (whole,) = parts["this"].expressions
        total = exp.Window(**{**node.args, "this": exp.Sum(this=whole.copy())})
        return Call("divide", (read(whole), window(total, read, order)))
    function, arguments = _function(parts["this"], read)
    terms = fields(parts["order"], "expressions")["expressions"] if parts.get("order") else ()
    if not terms and function in ("row_number", "rank", "dense_rank", "ntile", "lag", "lead"):
        raise QueryError(f"{function.upper()} OVER", "needs an order", "write OVER (ORDER BY COUNT(*) DESC)")
    if function in OVER_ALL.values() and (terms or parts.get("spec")):
        raise QueryError(
            f"{function.upper()} OVER", "is of all rows of its part", "leave ORDER BY and the frame out"
        )
    return windowed(
        Window(
            function,
            arguments,
            tuple(read(one) for one in parts.get("partition_by", ())),
            tuple(order(term) for term in terms),
            _frame(parts.get("spec"), ordered=bool(terms)),
        )
    )


def _function(node: exp.Expr, read: Callable[[object], Scalar]) -> tuple[str, tuple[Scalar, ...]]:
    kind = type(node)
    if kind in RANKS:
        fields(node)
        return RANKS[kind], ()
    if kind in STEPS:
        parts = fields(node, "this", "offset", "default")
        distance = Literal(1) if parts.get("offset") is None else read(parts["offset"])
        if constant(distance) is None or not 0 <= (constant(distance) or 0) <= 10**6:
            raise QueryError(STEPS[kind].upper(), "needs a constant distance", "write LAG(COUNT(*), 1)")
        missing = Literal(None) if parts.get("default") is None else read(parts["default"])
        return STEPS[kind], (read(parts["this"]), distance, missing)
    if kind is exp.Ntile:
        parts_of = constant(read(fields(node, "this")["this"]))
        if parts_of is None or not 1 <= parts_of <= 10**6:
            raise QueryError("NTILE", "needs a constant number of parts", "write NTILE(4)")
        return "ntile", (Literal(parts_of),)
    if kind is exp.NthValue:
        parts = fields(node, "this", "offset")
        number = constant(read(parts.get("offset")))
        if number is None or not 1 <= number <= 10**6:
            raise QueryError("NTH_VALUE", "needs a constant place", "write NTH_VALUE(x, 2)")
        return "nth_value", (read(parts["this"]), Literal(number))
    if kind in OVER_ROWS or kind in OVER_ALL:
        inner = fields(node, "this", "big_int").get("this")
        if isinstance(inner, exp.Distinct):
            raise QueryError("DISTINCT in a window", "is not supported", "leave it out")
        starred = inner is None or isinstance(inner, exp.Star)
        if starred and kind is not exp.Count:
            raise refusal(node)
        return {**OVER_ROWS, **OVER_ALL}[kind], (Literal(1),) if starred else (read(inner),)
    raise QueryError(
        words_of(node) if isinstance(node, exp.Func) else "OVER",
        "is not one of the window functions of released values",
        "use SUM, AVG, MIN, MAX, COUNT, STDDEV, VARIANCE, MEDIAN, RANK, DENSE_RANK, ROW_NUMBER, NTILE, "
        "PERCENT_RANK, CUME_DIST, LAG, LEAD, FIRST_VALUE, LAST_VALUE or NTH_VALUE",
    )


def _share(node: exp.Expr) -> bool:
    """Whether a function is RATIO_TO_REPORT(x), a value's part of the sum."""
    named = isinstance(node, exp.Anonymous) and str(node.this).upper() == "RATIO_TO_REPORT"
    return named and len(node.expressions) == 1


def _frame(spec: exp.Expr | None, *, ordered: bool) -> tuple[str, int | None, int | None]:
    """Return how far a window reaches before and behind a row; None is without end."""
    if spec is None:
        return ("range", None, 0) if ordered else ("rows", None, None)
    parts = fields(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(parts.get("kind", "")).lower()
    start = _end(parts.get("start"), parts.get("start_side"))
    end = 0 if parts.get("end") is None else _end(parts["end"], parts.get("end_side"))
    plain = (start, end) in ((None, 0), (None, None)) and parts.get("start_side") != "FOLLOWING"
    if kind not in ("rows", "range") or (kind == "range" and not plain):
        raise QueryError("a window's frame", "counts rows", "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
    return kind, start, end


def _end(end: object, side: object) -> int | None:
    if end == "CURRENT ROW":
        return 0
    if end == "UNBOUNDED":
        return None
    match end:
        case exp.Literal() if not end.is_string and str(end.this).isdecimal() and len(str(end.this)) <= 6:
            return -int(end.this) if side == "PRECEDING" else int(end.this)
    raise QueryError(
        "a window's frame", "needs whole numbers", "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
    )
