"""Aggregates and ranks of the dataframe face as functions: mean("cost") is col("cost").mean()."""

from discreet.exact.number import Real
from discreet.query.language.frame.expression import Expression, Term, scalar_in
from discreet.query.language.spelling import spelled
from discreet.query.plan import Aggregate, Call, Literal, given


def count(of: Term | None = None) -> Expression:
    """Return the number of rows, or of rows where an expression is not missing."""
    return Expression(Aggregate("count", None if of is None else scalar_in(of)))


def distinct(of: Term) -> Expression:
    """Return the number of different values; of the person's column, the number of people."""
    return _of(of).distinct()


def total(of: Term) -> Expression:
    """Return the sum."""
    return _of(of).sum()


def mean(of: Term) -> Expression:
    """Return the average."""
    return _of(of).mean()


def variance(of: Term) -> Expression:
    """Return the sample variance."""
    return _of(of).variance()


def deviation(of: Term) -> Expression:
    """Return the sample standard deviation."""
    return _of(of).deviation()


def skewness(of: Term) -> Expression:
    """Return how far the values lean to one side."""
    return Expression(Aggregate("skewness", scalar_in(of)))


def kurtosis(of: Term) -> Expression:
    """Return how much heavier the tails are than those of the normal law."""
    return Expression(Aggregate("kurtosis", scalar_in(of)))


def entropy(of: Term) -> Expression:
    """Return the entropy of a column's values in bits."""
    return Expression(Aggregate("entropy", scalar_in(of)))


def some(of: Term) -> Expression:
    """Return whether a condition holds for any row: per person as it is, released as an extreme."""
    return Expression(given(spelled("bool_or", (scalar_in(of),))))


def every(of: Term) -> Expression:
    """Return whether a condition holds for all rows: per person as it is, released as an extreme."""
    return Expression(given(spelled("bool_and", (scalar_in(of),))))


def quantile(of: Term, level: Real = "1/2") -> Expression:
    """Return a quantile; the median unless told otherwise."""
    return _of(of).quantile(level)


def mode(of: Term) -> Expression:
    """Return the most common value."""
    return _of(of).mode()


def highest(of: Term) -> Expression:
    """Return the largest value: per person as it is, released as an extreme quantile."""
    return _of(of).highest()


def lowest(of: Term) -> Expression:
    """Return the smallest value: per person as it is, released as an extreme quantile."""
    return _of(of).lowest()


def rank() -> Expression:
    """Return the place of a released row, where ties share one."""
    return Expression(Call("rank", ()))


def dense_rank() -> Expression:
    """Return the place of a released row, without gaps after ties."""
    return Expression(Call("dense_rank", ()))


def row_number() -> Expression:
    """Return the number of a released row in an order."""
    return Expression(Call("row_number", ()))


def ntile(parts: int) -> Expression:
    """Return in which of so many equal parts of an order a row lies."""
    return Expression(Call("ntile", (Literal(parts),)))


def _of(term: Term) -> Expression:
    return term if isinstance(term, Expression) else Expression(scalar_in(term))
