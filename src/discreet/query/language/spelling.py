"""Functions that go by several names: each is said with the functions that the plan has.

Where dialects mean different things by one name (LOG, TIMESTAMPDIFF, WEEKDAY) the name is refused with the
unambiguous spelling: a guess would be a wrong answer with an error bar.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.language.constant import day_of
from discreet.query.language.date import BUILDERS as DATES
from discreet.query.language.date import Argument, scalars, truncated_to_format
from discreet.query.language.format import formatted
from discreet.query.language.picked import picked
from discreet.query.language.regular import matched
from discreet.query.language.said import EXAMPLES as SAID_EXAMPLES
from discreet.query.language.said import SAID
from discreet.query.plan import Aggregate, Call, Case, Literal, Scalar, aggregates, constant

Builder = Callable[[str, Sequence[Argument]], Scalar]

BUCKET_LIMIT = 1_000


def understood(name: str) -> bool:
    """Whether something is called so."""
    return name in DATES or name in _BUILDERS


def spelled(name: str, arguments: Sequence[Argument]) -> Scalar | None:
    """Return what a function of this name means, or None where nobody calls anything so."""
    if name in DATES:
        return DATES[name](name, arguments)
    builder = _BUILDERS.get(name)
    return None if builder is None else builder(name, arguments)


def _plain(name: str, arguments: Sequence[Argument], *counts: int) -> tuple[Scalar, ...]:
    found = scalars(name, arguments)
    if counts and len(found) not in counts:
        wanted = " or ".join(map(str, counts))
        raise QueryError(name.upper(), f"takes {wanted} arguments, not {len(found)}", _EXAMPLES[name])
    return found


def _statistic(function: str, level: Fraction | None = None) -> Builder:
    def build(name: str, arguments: Sequence[Argument]) -> Scalar:
        (argument,) = _plain(name, arguments, 1)
        return Aggregate(function, _row(name, argument), parameter=level)

    return build


def _row(name: str, argument: Scalar) -> Scalar:
    if aggregates(argument):
        raise QueryError(
            name.upper(), "cannot contain another aggregate", "aggregate per person in a subquery first"
        )
    return argument


def _percentile(name: str, arguments: Sequence[Argument]) -> Scalar:
    argument, level = _plain(name, arguments, 2)
    return Aggregate("quantile", _row(name, argument), parameter=quantile_level(level))


def quantile_level(scalar: Scalar) -> Fraction:
    """Return the level of a quantile."""
    match scalar:
        case Literal(int() | Fraction() as level) if not isinstance(level, bool) and 0 <= level <= 1:
            if Fraction(level).denominator <= 1000:
                return Fraction(level)
    raise QueryError(
        "QUANTILE",
        "the level must be a constant from 0 to 1 with at most three decimals",
        "write QUANTILE(x, 0.9)",
    )


def _quantiles(name: str, arguments: Sequence[Argument]) -> Scalar:
    argument, parts = _plain(name, arguments, 2)
    count = constant(parts)
    if count is None or not 1 <= count <= 100:
        raise QueryError(
            name.upper(), "the number of parts must be a constant from 1 to 100", "write QUANTILES(x, [0.5])"
        )
    levels = tuple(Fraction(place, count) for place in range(count + 1))
    if any(level.denominator > 1000 for level in levels):
        raise AssertionError("a hundred parts have small denominators")
    return Aggregate("quantiles", _row(name, argument), levels=levels)


def _coalesce(name: str, arguments: Sequence[Argument]) -> Scalar:
    found = _plain(name, arguments, *((1,) if name == "zeroifnull" else (1, 2)))
    if name == "zeroifnull":
        return Call("coalesce", (found[0], Literal(0)))
    return Call("is_null", found) if len(found) == 1 else Call("coalesce", found)


def _null_if_zero(name: str, arguments: Sequence[Argument]) -> Scalar:
    return Call("nullif", (*_plain(name, arguments, 1), Literal(0)))


def _square(name: str, arguments: Sequence[Argument]) -> Scalar:
    return Call("power", (*_plain(name, arguments, 1), Literal(2)))


def _choice(name: str, arguments: Sequence[Argument]) -> Scalar:
    """NVL2(x, present, missing) and DECODE(x, key, value, ..., otherwise)."""
    if name == "iff":
        condition, yes, no = _plain(name, arguments, 3)
        return Case(((condition, yes),), no)
    if name == "nvl2":
        subject, present, missing = _plain(name, arguments, 3)
        return Case(((Call("is_null", (subject,)), missing),), present)
    found = _plain(name, arguments)
    if len(found) < 3:
        raise QueryError("DECODE", "takes a value, then keys with their values", _EXAMPLES[name])
    subject, *rest = found
    otherwise = rest.pop() if len(rest) % 2 else Literal(None)
    branches = tuple(
        (_matches(subject, key), value) for key, value in zip(rest[::2], rest[1::2], strict=True)
    )
    return Case(branches, otherwise)


def _matches(subject: Scalar, key: Scalar) -> Scalar:
    return Call("is_null", (subject,)) if key == Literal(None) else Call("eq", (subject, key))


def _day(name: str, arguments: Sequence[Argument]) -> Scalar:
    return day_of(_plain(name, arguments))


def _quotient(name: str, arguments: Sequence[Argument]) -> Scalar:
    return Call("quotient", _plain(name, arguments, 2))


def _divided(name: str, arguments: Sequence[Argument]) -> Scalar:
    one, other = _plain(name, arguments, 2)
    quotient = Call("divide", (one, other))
    if name != "div0":
        return quotient
    return Case(((Call("eq", (other, Literal(0))), Literal(0)),), quotient)


def _whole_part(name: str, arguments: Sequence[Argument]) -> Scalar:
    """TRUNC(x): towards zero."""
    found = _plain(name, arguments, 1, 2)
    if len(found) == 2 and isinstance(found[1], Literal) and isinstance(found[1].value, str):
        return truncated_to_format(name, arguments)
    (number, *rest) = found
    digits = constant(folded_number(rest[0])) if rest else 0
    if digits is None or not -9 <= digits <= 9 or (digits > 0 and not aggregates(number)):
        # In doubles 0.29 times 100 is less than 29, so what is left of it would be 0.28.
        raise QueryError(
            name.upper(), "to some digits is that of released values", "write ROUND(x, 2), or TRUNC(x)"
        )
    if digits == 0:
        return _towards_zero(number)
    unit = Literal(10 ** abs(digits))
    back, forth = ("divide", "multiply") if digits > 0 else ("multiply", "divide")
    return Call(back, (_towards_zero(Call(forth, (number, unit))), unit))


def _towards_zero(number: Scalar) -> Scalar:
    return Case(((Call("lt", (number, Literal(0))), Call("ceil", (number,))),), Call("floor", (number,)))


def _logarithm(name: str, arguments: Sequence[Argument]) -> Scalar:
    if name == "log":
        raise QueryError(
            "LOG",
            "is the natural logarithm in some dialects and that of base 10 in others",
            "write LN(x), LOG10(x) or LOG2(x)",
        )
    (number,) = _plain(name, arguments, 1)
    return Call("divide", (Call("ln", (number,)), Call("ln", (Literal(int(name.removeprefix("log"))),))))


def _pattern(name: str, arguments: Sequence[Argument]) -> Scalar:
    subject, part = _plain(name, arguments, 2)
    match part:
        case Literal(str(text)):
            exact = "".join(f"!{sign}" if sign in "%_!" else sign for sign in text)
            rest = "%" if name == "contains" else ""
            return Call("like", (subject, Literal(f"%{exact}{rest}"), Literal("!")))
    raise QueryError(name.upper(), "looks for constant text", _EXAMPLES[name])


def _bucket(name: str, arguments: Sequence[Argument]) -> Scalar:
    """WIDTH_BUCKET(x, low, high, n): 0 below, n + 1 from `high` on, and n equal parts between."""
    subject, *ends = _plain(name, arguments, 4)
    values = [end.value if isinstance(end, Literal) else None for end in map(folded_number, ends)]
    low, high, count = (value if type(value) in (int, Fraction) else None for value in values)
    if not (isinstance(low, int | Fraction) and isinstance(high, int | Fraction) and isinstance(count, int)):
        raise QueryError("WIDTH_BUCKET", "needs constants after the value", _EXAMPLES[name])
    if low >= high or not 1 <= count <= BUCKET_LIMIT:
        raise QueryError(
            "WIDTH_BUCKET", f"needs low < high and from 1 to {BUCKET_LIMIT} buckets", _EXAMPLES[name]
        )
    width = (Fraction(high) - Fraction(low)) / count
    if width.denominator > 10**9 or Fraction(low).denominator > 10**9:
        raise QueryError("WIDTH_BUCKET", "has edges that are no decimals", "choose bounds that divide evenly")
    steps = Call("divide", (Call("subtract", (subject, Literal(low))), Literal(width)))
    place = Call("add", (Call("floor", (steps,)), Literal(1)))
    return Case(
        (
            (Call("lt", (subject, Literal(low))), Literal(0)),
            (Call("ge", (subject, Literal(high))), Literal(count + 1)),
        ),
        Call("clamp", (place, Literal(1), Literal(count))),
    )


def folded_number(scalar: Scalar) -> Scalar:
    """Return a negated constant as a constant."""
    match scalar:
        case Call("negate", (Literal(int() | Fraction() as number),)) if not isinstance(number, bool):
            return Literal(-number)
        case _:
            return scalar


def _interval(name: str, arguments: Sequence[Argument]) -> Scalar:
    """DP_INTERVAL_LOW(COUNT(*)): an end of the interval of a released value."""
    (argument,) = _plain(name, arguments, 1)
    return Call("interval_low" if name.endswith("low") else "interval_high", (argument,))


def _any(name: str, arguments: Sequence[Argument]) -> Scalar:
    (value,) = _plain(name, arguments, 1)
    return picked(value)


def _with_separator(name: str, arguments: Sequence[Argument]) -> Scalar:
    """CONCAT_WS('-', a, b)."""
    found = _plain(name, arguments)
    if len(found) < 2:
        raise QueryError("CONCAT_WS", "takes a separator and texts", _EXAMPLES[name])
    separator, first, *rest = found
    return Call("concat", (first, *(part for one in rest for part in (separator, one))))


def _matching(name: str, arguments: Sequence[Argument]) -> Scalar:
    text, pattern = _plain(name, arguments, 2)
    return matched(text, pattern, whole=name == "regexp_full_match")


def _changed(name: str, arguments: Sequence[Argument]) -> Scalar:
    return Call(name, _plain(name, arguments, 1))


_BUILDERS: dict[str, Builder] = {
    **SAID,
    **dict.fromkeys(("skew", "skewness_samp"), _statistic("skewness")),
    "kurtosis_samp": _statistic("kurtosis"),
    "kurtosis_pop": _statistic("kurtosis_pop"),
    "entropy": _statistic("entropy"),
    **dict.fromkeys(("reverse", "initcap"), _changed),
    "mean": _statistic("avg"),
    **dict.fromkeys(("make_date", "date_from_parts", "datefromparts"), _day),
    "quotient": _quotient,
    "var": _statistic("var_samp"),
    "varp": _statistic("var_pop"),
    "stdevp": _statistic("stddev_pop"),
    "std": _statistic("stddev_samp"),
    "approx_median": _statistic("quantile", Fraction(1, 2)),
    **dict.fromkeys(("approx_percentile", "percentile", "percentile_approx"), _percentile),
    "approx_quantiles": _quantiles,
    **dict.fromkeys(("isnull", "zeroifnull"), _coalesce),
    "nullifzero": _null_if_zero,
    "square": _square,
    **dict.fromkeys(("nvl2", "decode", "iff"), _choice),
    **dict.fromkeys(("safe_divide", "try_divide", "div0"), _divided),
    "total": _statistic("sum"),
    **dict.fromkeys(("trunc", "truncate"), _whole_part),
    **dict.fromkeys(("log", "log10", "log2"), _logarithm),
    **dict.fromkeys(("contains", "ends_with", "endswith", "suffix"), _pattern),
    "width_bucket": _bucket,
    **dict.fromkeys(("dp_interval_low", "dp_interval_high"), _interval),
    **dict.fromkeys(("strftime", "to_char", "format_date", "date_format", "format_timestamp"), formatted),
    "format_datetime": formatted,
    "concat_ws": _with_separator,
    **dict.fromkeys(("regexp_contains", "regexp_full_match"), _matching),
    "any_value": _any,
}

_EXAMPLES = {
    **SAID_EXAMPLES,
    **dict.fromkeys(("skew", "skewness_samp", "kurtosis_samp", "kurtosis_pop"), "write SKEWNESS(x)"),
    "entropy": "write ENTROPY(x)",
    "reverse": "write REVERSE(x)",
    "initcap": "write INITCAP(x)",
    "approx_percentile": "write APPROX_PERCENTILE(x, 0.9)",
    "percentile": "write PERCENTILE(x, 0.9)",
    "percentile_approx": "write PERCENTILE_APPROX(x, 0.9)",
    "approx_quantiles": "write APPROX_QUANTILES(x, 4)",
    "isnull": "write ISNULL(x, 0)",
    "any_value": "write ANY_VALUE(x)",
    "zeroifnull": "write ZEROIFNULL(x)",
    "nullifzero": "write NULLIFZERO(x)",
    "square": "write SQUARE(x)",
    "nvl2": "write NVL2(x, 1, 0)",
    "decode": "write DECODE(x, 'a', 1, 0)",
    "iff": "write IFF(x > 0, 1, 0)",
    "safe_divide": "write SAFE_DIVIDE(a, b)",
    "try_divide": "write TRY_DIVIDE(a, b)",
    "total": "give one column",
    "div0": "write DIV0(a, b)",
    "trunc": "write TRUNC(x)",
    "truncate": "write TRUNCATE(x)",
    "log10": "write LOG10(x)",
    "log2": "write LOG2(x)",
    "contains": "write CONTAINS(x, 'abc')",
    "suffix": "write ENDS_WITH(x, 'abc')",
    "ends_with": "write ENDS_WITH(x, 'abc')",
    "endswith": "write ENDSWITH(x, 'abc')",
    **dict.fromkeys(("dp_interval_low", "dp_interval_high"), "write DP_INTERVAL_LOW(COUNT(*))"),
    "width_bucket": "write WIDTH_BUCKET(x, 0, 100, 10)",
    "concat_ws": "write CONCAT_WS('-', a, b)",
    "regexp_contains": "write REGEXP_CONTAINS(x, 'abc')",
    "regexp_full_match": "write REGEXP_FULL_MATCH(x, 'abc.*')",
    "quotient": "write DIV(a, b)",
    **dict.fromkeys(("mean", "var", "varp", "stdevp", "std", "approx_median"), "give one column"),
}
