"""Words that are units of time and columns, told apart by the tables: DATE_TRUNC(day, MONTH) of a column day.

Some dialects name the unit first and some last.  Where both words could be it, the one that is a column is
the date; where both are columns, or neither is, nobody can tell.
"""

from collections.abc import Sequence

from discreet.errors import QueryError
from discreet.query.name import same
from discreet.query.plan import Call, Column, Scalar, rebuilt

EITHER = {"trunc_either": ("trunc", "DATE_TRUNC"), "difference_either": ("difference", "DATE_DIFF")}


def timed(scalar: Scalar, names: Sequence[str]) -> Scalar:
    """Return a scalar in which every unit of time is one; `names` are the columns that there are."""

    def meant(part: Scalar) -> Scalar | None:
        if isinstance(part, Call) and part.function in EITHER:
            return _settled(part, names)
        return None

    return rebuilt(scalar, meant)


def _settled(call: Call, names: Sequence[str]) -> Scalar:
    function, written = EITHER[call.function]
    units, (first, *between, last) = call.arguments[:2], call.arguments[2:]
    if not (isinstance(first, Column) and isinstance(last, Column)):
        raise AssertionError("only bare words can be either")
    columns = [any(same(name, word.name) for name in names) for word in (first, last)]
    if columns[0] == columns[1]:
        raise QueryError(
            written, "has two words that can be the unit of time", f"quote the unit: {written}('month', d)"
        )
    inner = tuple(timed(one, names) for one in between)
    if columns[1]:
        return Call(function, (units[0], *inner, last))
    if last.name.upper() == "WEEK":
        raise QueryError(
            written,
            "begins weeks on Sunday where the unit stands last, and on Monday where it stands first",
            f"write ISOWEEK or WEEK(MONDAY), or {written}('week', d)",
        )
    # Where the unit stands last, the later date stands first.
    return Call(function, (units[1], *inner, first))
