"""A quote in words: what a question costs and how far off each column may be."""

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.markup import aligned, table
from discreet.mechanisms.key_weight import KeyWeight
from discreet.query.check.formula import measured
from discreet.query.check.key_weights import WEIGHED
from discreet.query.check.measurement import Measurement, ModeChoice, QuantileChoice, Sort, weighs_keys
from discreet.query.price.sparse import Sparse
from discreet.show.number import format_number

if TYPE_CHECKING:
    from discreet.privacy.filter import Cost
    from discreet.query.check.measurement import Checked
    from discreet.query.price.expected import Quote


UNITS = (Sort.PEOPLE, Sort.KEY_WEIGHTS)
"""Sorts of measurements in which a limit of rows takes nothing away."""


def price(cost: "Cost") -> str:
    """Return a cost as people say it: the epsilon where there is one, else the rho, and the delta if any."""
    first = (
        f"rho {format_number(cost.rho)}" if cost.epsilon is None else f"epsilon {format_number(cost.epsilon)}"
    )
    return f"{first}, delta {float(cost.delta):.2g}" if cost.delta else first


def paid(priced: "Quote") -> str:
    """Return what a question costs and, where that is told in zCDP, what it would promise if asked alone."""
    return price(priced.cost) + lone(priced.alone)


def lone(promise: "tuple[Fraction, Fraction] | None") -> str:
    """Return in words what something would promise if asked alone, where its price does not say that."""
    if promise is None:
        return ""
    epsilon, delta = promise
    return f" (alone: epsilon {format_number(epsilon)}, delta {float(delta):.2g})"


def heads(priced: "Quote") -> tuple[str, str, str]:
    """Return the heads of the table of a quote."""
    return "column", f"± at {float(priced.confidence):.0%}", "mechanism"


def lines(priced: "Quote") -> list[tuple[str, str, str]]:
    """Return, for each column, its name, how far off it may be, and the mechanisms that measure it."""
    found = []
    for output, expected in zip(priced.checked.columns, priced.expected, strict=True):
        used = [priced.shares[position] for position in sorted(measured(output.formula))]
        names = ", ".join(dict.fromkeys(share.name for share in used)) or "a group key"
        if expected.radius is not None:
            error = format_number(expected.radius) if used else ""
            if expected.count is not None:
                error += f" where at least {format_number(expected.count)} rows count"
        elif expected.rank is not None:
            error = f"within {format_number(expected.rank)} rows of the right one"
        else:
            error = "known with the answer"
        found.append((output.name, error, names))
    return found


def caps(checked: "Checked") -> list[str]:
    """Return in words what error bars do not say: limits that make people count for less, and choices."""
    if checked.assembly is not None:
        return list(dict.fromkeys(said for part in checked.assembly.parts for said in caps(part)))
    rows = checked.rows
    counted = any(not isinstance(m, Measurement) or m.sort not in UNITS for m in checked.measurements)
    said = []
    if rows.rows is not None and counted:
        loss = (
            ""
            if checked.capping is None
            else f", for which intervals allow up to {checked.capping.most} rows"
        )
        said.append(f"people with more than {_many(rows.rows, 'row')} count as {rows.rows}{loss}")
    if rows.per_group is not None and counted:
        said.append(f"at most {_many(rows.per_group, 'row')} of a person count in a group")
    if rows.people is not None:
        said.append(f"people in more than {_many(rows.people, 'group')} count as {rows.people}")
    if weighs_keys(checked):
        said.append(WEIGHED)
    return [*said, *_chosen(checked)]


def _chosen(checked: "Checked") -> list[str]:
    """Return in words why values that were chosen have no interval, and what has one.

    The choice is known to be within so many rows of the right one, whatever the data; how far apart the
    values of those rows are depends on the data, and nothing about that is released.
    """
    kinds = [type(measured) for measured in checked.measurements]
    said = []
    if QuantileChoice in kinds:
        said.append(
            "a quantile, minimum or maximum has no interval of values, because which values lie within those "
            "rows is not released: QUANTILES(x, [0.5]) has one"
        )
    if ModeChoice in kinds:
        said.append(
            "a mode has no interval, because how often values occur is not released: counts by its values, "
            "with GROUP BY, have one"
        )
    return said


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def afford(priced: "Quote") -> str | None:
    """Return in words how many such questions the budget still admits, where that is known."""
    match priced.copies:
        case None:
            return None
        case 0:
            return "the budget does not suffice for it"
        case 1:
            return "the budget suffices for one such question"
        case copies:
            return f"the budget suffices for about {copies:,} such questions"


def paced(priced: "Quote") -> str | None:
    """Return in words how many such questions may be asked today, where questions or days have a limit."""
    match priced.today:
        case None:
            return None
        case 0:
            return "a limit per question or per day does not admit it today"
        case 1:
            return "one such question is admitted today"
        case copies:
            return f"about {copies:,} such questions are admitted today"


def takes(priced: "Quote") -> list[str]:
    """Return in words which part of the whole budget a question takes, and what it changes for later ones."""
    said = [] if priced.share is None else [f"{_percent(priced.share)} of the whole budget"]
    if priced.closes:
        said.append(
            "this is the first that is not pure: from here on questions at pure epsilon count for more"
        )
    return said


def blocks(priced: "Quote") -> list[str]:
    """Return in words why the errors of a histogram of very many cells are not known beforehand."""
    if not any(isinstance(share.mechanism, Sparse) for share in priced.shares):
        return []
    return [
        "where rows are few, cells that are alike are measured in blocks, and the interval of such a cell is "
        "from nothing to what its block may hold"
    ]


def needed(priced: "Quote") -> list[str]:
    """Return in words which weight a key needs that is found by weights, which is known beforehand."""
    found = [share.mechanism for share in priced.shares if isinstance(share.mechanism, KeyWeight)]
    least = [format_number(Fraction(one.threshold, one.one)) for one in found]
    return [f"a key is shown where its noisy weight reaches {reached}" for reached in least]


def _percent(share: "Fraction") -> str:
    return f"{float(share):.2%}".replace(".00%", "%")


def text(priced: "Quote") -> str:
    """Return a quote as a few lines: the error of each column, the price, and what is left for it."""
    cost = [f"cost {paid(priced)}", *takes(priced)]
    said = [*blocks(priced), *caps(priced.checked), *needed(priced)]
    parts = [*cost, "nothing is spent yet", afford(priced), paced(priced), *said]
    last = "; ".join(part for part in parts if part is not None)
    return f"{aligned([heads(priced), *lines(priced)])}\n{last}"


def html(priced: "Quote") -> str:
    """Return a quote as a table under its price; nothing in it comes from the data."""
    said = [f"Quote: {paid(priced)}", *takes(priced), "nothing is spent yet", *blocks(priced)]
    return table(
        heads(priced), lines(priced), caption="; ".join([*said, *caps(priced.checked), *needed(priced)])
    )
