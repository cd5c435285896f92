"""Statistics of two columns, said with those of one: what is measured are sums of products.

With means over the rows in which neither is missing,  cov(y, x) = mean(x y) - mean(x) mean(y),
corr = cov / sqrt(var(x) var(y)),  slope = cov / var(x),  intercept = mean(y) - slope mean(x).
"""

from collections.abc import Callable

from sqlglot import exp

from discreet.query.language.refusal import fields
from discreet.query.plan import Aggregate, Call, Case, Literal, Scalar

Row = Callable[[str, object], Scalar]


def pair(node: exp.Expr, row: Row) -> Scalar:
    """Return a statistic of two columns; `row` translates an expression without aggregates."""
    name = KINDS[type(node)]
    parts = fields(node, "this", "expression")
    y, x = (row(name, parts[key]) for key in ("this", "expression"))
    missing = Call("or", (Call("is_null", (y,)), Call("is_null", (x,))))
    y, x = (Case(((missing, Literal(None)),), one) for one in (y, x))
    mean_x, mean_y, product = (Aggregate("avg", one) for one in (x, y, Call("multiply", (y, x))))
    covariance = Call("subtract", (product, Call("multiply", (mean_x, mean_y))))
    spread_x, spread_y = (Aggregate("var_pop", one) for one in (x, y))
    slope = Call("divide", (covariance, spread_x))
    together = Call("divide", (covariance, Call("sqrt", (Call("multiply", (spread_x, spread_y)),))))
    correlation = Call("clamp", (together, Literal(-1), Literal(1)))
    count = Aggregate("count", x)
    match name:
        case "COVAR_POP":
            return covariance
        case "COVAR_SAMP":
            return Call(
                "divide", (Call("multiply", (covariance, count)), Call("subtract", (count, Literal(1))))
            )
        case "CORR":
            return correlation
        case "REGR_SLOPE":
            return slope
        case "REGR_INTERCEPT":
            return Call("subtract", (mean_y, Call("multiply", (slope, mean_x))))
        case "REGR_R2":
            return Call("multiply", (correlation, correlation))
        case "REGR_SXX":
            return Call("multiply", (count, spread_x))
        case "REGR_SYY":
            return Call("multiply", (count, spread_y))
        case "REGR_SXY":
            return Call("multiply", (count, covariance))
        case "REGR_AVGX":
            return mean_x
        case "REGR_AVGY":
            return mean_y
        case _:
            return count


KINDS: dict[type[exp.Expr], str] = {
    exp.Corr: "CORR",
    exp.CovarPop: "COVAR_POP",
    exp.CovarSamp: "COVAR_SAMP",
    exp.RegrSlope: "REGR_SLOPE",
    exp.RegrIntercept: "REGR_INTERCEPT",
    exp.RegrR2: "REGR_R2",
    exp.RegrAvgx: "REGR_AVGX",
    exp.RegrAvgy: "REGR_AVGY",
    exp.RegrCount: "REGR_COUNT",
    exp.RegrSxx: "REGR_SXX",
    exp.RegrSyy: "REGR_SYY",
    exp.RegrSxy: "REGR_SXY",
}
"""The statistics of two columns, the dependent one first."""
