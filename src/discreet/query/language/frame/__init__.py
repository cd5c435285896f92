"""The dataframe face: the same plan, written in Python.

    table("visits").where(col("age") >= 18).group("ward").agg(n=count()).order_by(col("n").desc())

Every step returns a new value; what `agg` and its kin return is the question, which is quoted and asked like
SQL and can still be filtered, sorted and cut.  Where an expression is wanted, a column name, an `Expression`
or a piece of SQL text will do.
"""

from discreet.query.language.frame.aggregate import (
    count,
    dense_rank,
    deviation,
    distinct,
    entropy,
    every,
    highest,
    kurtosis,
    lowest,
    mean,
    mode,
    ntile,
    quantile,
    rank,
    row_number,
    skewness,
    some,
    total,
    variance,
)
from discreet.query.language.frame.column import cases, col, lit, when
from discreet.query.language.frame.expression import Expression, Operand, Term
from discreet.query.language.frame.posed import Posed, ordered
from discreet.query.language.frame.relation import Frame, table, viewed

__all__ = [
    "Expression",
    "Frame",
    "Operand",
    "Posed",
    "Term",
    "cases",
    "col",
    "count",
    "dense_rank",
    "deviation",
    "distinct",
    "entropy",
    "every",
    "highest",
    "kurtosis",
    "lit",
    "lowest",
    "mean",
    "mode",
    "ntile",
    "ordered",
    "quantile",
    "rank",
    "row_number",
    "skewness",
    "some",
    "table",
    "total",
    "variance",
    "viewed",
    "when",
]
