"""Functions that are said with others: truth of many rows, bits, repeated and translated text, ages.

Each is a sentence of functions that the plan has, so it needs no form in an engine and no rule of its own.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import pi

from discreet.errors import QueryError
from discreet.query.language.constant import settled
from discreet.query.language.date import Argument, scalars
from discreet.query.plan import Aggregate, Call, Case, Literal, Scalar, aggregates, constant

Builder = Callable[[str, Sequence[Argument]], Scalar]

REPEATS = 32
"""So often a text can be repeated: a copy is a part of the question each time."""

LONGEST = 4_096
"""What is repeated takes so many of its first characters, as everywhere: constants could outgrow a memory."""

BITS = 16
"""Masks have at most so many bits set, and are below 2**31."""


def taken(name: str, arguments: Sequence[Argument], *counts: int) -> tuple[Scalar, ...]:
    """Return the arguments of a function that takes so many."""
    found = scalars(name, arguments)
    if len(found) not in counts:
        wanted = " or ".join(map(str, counts))
        raise QueryError(name.upper(), f"takes {wanted} arguments, not {len(found)}", EXAMPLES[name])
    return found


def _truth(function: str) -> Builder:
    """Return whether a condition holds for any row, the largest of 0 and 1, or for all, the smallest.

    Per person that is exact.  Released, it is an extreme like others: a few people decide, never one.
    """

    def build(name: str, arguments: Sequence[Argument]) -> Scalar:
        (condition,) = taken(name, arguments, 1)
        if aggregates(condition):
            raise QueryError(
                name.upper(), "cannot contain another aggregate", "aggregate per person in a subquery first"
            )
        number = Case(((condition, Literal(1)), (Call("not", (condition,)), Literal(0))), Literal(None))
        return Call("eq", (Aggregate(function, number), Literal(1)))

    return build


def exclusive(one: Scalar, other: Scalar) -> Scalar:
    """Return whether exactly one of two conditions holds."""
    either, both = Call("or", (one, other)), Call("and", (one, other))
    return Call("and", (either, Call("not", (both,))))


def bitwise(sign: str, one: Scalar, other: Scalar) -> Scalar:
    """Return x & m or x | m for a constant mask: bit k of x is floor(x / 2**k) - 2 floor(x / 2**(k + 1)).

    That holds for negative numbers too, whose bits are those of their complement by two.
    """
    mask = constant(settled(other))
    if mask is None:
        one, mask = other, constant(settled(one))
    if mask is None or not 0 <= mask < 2**31 or mask.bit_count() > BITS:
        raise QueryError(
            sign, f"needs a constant below 2**31 with at most {BITS} bits set", f"write x {sign} 4"
        )
    total: Scalar = Literal(0)
    for place in range(mask.bit_length()):
        if mask >> place & 1:
            halves = Call("multiply", (Literal(2), _shifted(one, place + 1)))
            bit: Scalar = Call("subtract", (_shifted(one, place), halves))
            if place:
                bit = Call("multiply", (bit, Literal(2**place)))
            total = bit if total == Literal(0) else Call("add", (total, bit))
    if sign == "&":
        return total if mask else Call("multiply", (one, Literal(0)))
    return Call("add", (one, Call("subtract", (Literal(mask), total)))) if mask else one


def _shifted(number: Scalar, places: int) -> Scalar:
    return Call("floor", (Call("divide", (number, Literal(2**places))),)) if places else number


def _bits(sign: str) -> Builder:
    return lambda name, arguments: bitwise(sign, *taken(name, arguments, 2))


def _repeat(name: str, arguments: Sequence[Argument]) -> Scalar:
    """REPEAT(x, 3): copies that are joined, each of which takes its first characters only."""
    text, times = taken(name, arguments, 2)
    count = constant(settled(times))
    if aggregates(times):
        return Call("repeat", (text, times))
    if count is None or not 0 <= count <= REPEATS:
        raise QueryError(
            name.upper(), f"takes a constant number of times, up to {REPEATS}", "write REPEAT(x, 3)"
        )
    if isinstance(text, Literal) and isinstance(text.value, str):
        return Literal(text.value[:LONGEST] * count)
    return (
        Call("concat", (text,) * count) if count > 1 else text if count else Call("left", (text, Literal(0)))
    )


def _translate(name: str, arguments: Sequence[Argument]) -> Scalar:
    """TRANSLATE(x, 'ab', 'x'): characters replaced one by one; those without a counterpart are left out."""
    text, old, new = taken(name, arguments, 3)
    match old, new:
        case Literal(str(before)), Literal(str(after)) if before and len(before) <= REPEATS:
            # Of a character that is named twice the first counterpart counts.
            pairs = {sign: after[before.index(sign) :][:1] for sign in before}
        case _:
            raise QueryError(name.upper(), "needs constant characters", EXAMPLES[name])
    pairs = {sign: other for sign, other in pairs.items() if sign != other}
    while pairs:
        # What is replaced must not be replaced again: first those whose counterpart stays.
        free = next((sign for sign, other in pairs.items() if other not in pairs), None)
        if free is None:
            raise QueryError(
                name.upper(), "exchanges characters for one another", "use REPLACE, one after the other"
            )
        text = Call("replace", (text, Literal(free), Literal(pairs.pop(free))))
    return text


def _age(name: str, arguments: Sequence[Argument]) -> Scalar:
    raise QueryError(
        name.upper(), "is years, months and days at once", "write EXTRACT(YEAR FROM AGE(later, earlier))"
    )


def years(later: Scalar, earlier: Scalar) -> Scalar:
    """Return the whole years from one date to another: a year is whole from its day on.

    Before the day of the year has come again one is missing; where the dates are the other way around, the
    years count downwards.
    """
    apart = Call("subtract", (_part("year", later), _part("year", earlier)))
    early, late = _in_year(earlier), _in_year(later)
    short = Case(((Call("lt", (late, early)), Call("subtract", (apart, Literal(1)))),), apart)
    over = Case(((Call("gt", (late, early)), Call("add", (apart, Literal(1)))),), apart)
    return Case(((Call("ge", (later, earlier)), short), (Call("lt", (later, earlier)), over)), Literal(None))


def _part(unit: str, day: Scalar) -> Scalar:
    return Call("part", (Literal(unit), day))


def _in_year(day: Scalar) -> Scalar:
    return Call("add", (Call("multiply", (_part("month", day), Literal(100))), _part("day", day)))


def _pi(name: str, arguments: Sequence[Argument]) -> Scalar:
    taken(name, arguments, 0)
    return Literal(Fraction(round(pi * 10**12), 10**12))


def _geometric(name: str, arguments: Sequence[Argument]) -> Scalar:
    """GEOMEAN(x): the exponential of the mean logarithm, of numbers above zero."""
    (number,) = taken(name, arguments, 1)
    return Call("exp", (Aggregate("avg", Call("ln", (number,))),))


def _refused(reason: str, instead: str) -> Builder:
    def build(name: str, arguments: Sequence[Argument]) -> Scalar:
        raise QueryError(name.upper(), reason, instead)

    return build


SAID: dict[str, Builder] = {
    **dict.fromkeys(("bool_or", "logical_or", "boolor_agg"), _truth("max")),
    **dict.fromkeys(("bool_and", "logical_and", "booland_agg", "every"), _truth("min")),
    "bitand": _bits("&"),
    "bitor": _bits("|"),
    **dict.fromkeys(("repeat", "replicate"), _repeat),
    "translate": _translate,
    "age": _age,
    "pi": _pi,
    **dict.fromkeys(("geomean", "geometric_mean"), _geometric),
    "mad": _refused(
        "is the median of distances from a median, which one question cannot take twice",
        "half the distance between quartiles says the same of symmetric data: "
        "(QUANTILE(x, 0.75) - QUANTILE(x, 0.25)) / 2",
    ),
    "product": _refused(
        "grows with every row, and one person could change it by any factor", "use GEOMEAN(x)"
    ),
}
"""What each of these names means."""

EXAMPLES = {
    **dict.fromkeys(("bool_or", "logical_or", "boolor_agg"), "write BOOL_OR(x > 3)"),
    **dict.fromkeys(("bool_and", "logical_and", "booland_agg", "every"), "write BOOL_AND(x > 3)"),
    "bitand": "write x & 4",
    "bitor": "write x | 4",
    **dict.fromkeys(("repeat", "replicate"), "write REPEAT(x, 3)"),
    "translate": "write TRANSLATE(x, 'abc', 'xyz')",
    "age": "write EXTRACT(YEAR FROM AGE(later, earlier))",
    "pi": "write PI()",
    **dict.fromkeys(("geomean", "geometric_mean"), "write GEOMEAN(x)"),
}
