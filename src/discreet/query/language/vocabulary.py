"""The words of SQL that questions may use, and what the plan calls them."""

from sqlglot import exp

BINARY: dict[type[exp.Expr], str] = {
    exp.Mul: "multiply",
    exp.Mod: "modulo",
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.And: "and",
    exp.Or: "or",
    exp.NullSafeNEQ: "distinct",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.StartsWith: "starts_with",
    exp.Pow: "power",
    exp.Nullif: "nullif",
    exp.IntDiv: "quotient",
}

UNARY: dict[type[exp.Expr], str] = {
    exp.Neg: "negate",
    exp.Not: "not",
    exp.Abs: "absolute",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
    exp.Sign: "sign",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Length: "length",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
}

PARTS: dict[type[exp.Expr], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfWeek: "dayofweek",
    exp.DayOfYear: "dayofyear",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}

AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Median: "quantile",
    exp.Mode: "mode",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Skewness: "skewness",
    exp.Kurtosis: "kurtosis",
}

TYPES = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT", "UBIGINT"), "to_whole"
    ),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "to_real"),
    **dict.fromkeys(("VARCHAR", "TEXT", "CHAR"), "to_text"),
    "DATE": "to_day",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME", "TIMESTAMP_S", "TIMESTAMP_MS"), "to_moment"),
    # A column says its own zone; a constant is an instant.
    "TIMESTAMPTZ": "to_moment",
    "BOOLEAN": "to_truth",
}

UNITS = {
    "DAYOFWEEK": "dayofweek",
    "DOW": "dayofweek",
    "DAYOFYEAR": "dayofyear",
    "DOY": "dayofyear",
    "ISOWEEK": "week",
    "EPOCH": "epoch",
    **{
        unit.upper(): unit for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
    },
}

SUPPORTED = (
    *("COUNT", "SUM", "AVG", "VARIANCE", "STDDEV", "MEDIAN", "QUANTILE", "MIN", "MAX", "MODE"),
    *("SKEWNESS", "KURTOSIS", "ENTROPY", "BOOL_OR", "BOOL_AND"),
    *("CDF", "HISTOGRAM", "QUANTILES"),
    *(
        "ABS",
        "CEIL",
        "CLAMP",
        "COALESCE",
        "EXP",
        "FLOOR",
        "GREATEST",
        "LEAST",
        "LN",
        "NULLIF",
        "POWER",
        "ROUND",
    ),
    *("SIGN", "SQRT", "LEFT", "LENGTH", "LOWER", "RIGHT", "STARTS_WITH", "SUBSTRING", "TRIM", "UPPER"),
    *("INITCAP", "LPAD", "LTRIM", "REPEAT", "REPLACE", "REVERSE", "RPAD", "RTRIM", "SPLIT_PART", "TRANSLATE"),
    *(
        "DATE_DIFF",
        "DATE_TRUNC",
        "EPOCH",
        "EXTRACT",
        "TIME_BUCKET",
        "CAST",
        "CASE",
        "BETWEEN",
        "IN",
        "LIKE",
        "ILIKE",
    ),
)
"""The functions a question can use, as they are written in SQL."""
