"""A chart of a released table: bars with error bars, or a line with a band along dates and numbers."""

from datetime import date
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.query.formula import measured
from discreet.query.quoted import price
from discreet.release.answer import plain

if TYPE_CHECKING:
    from discreet.release.answer import Release

LONG_LABEL = 7
"""Labels longer than this do not fit side by side under bars."""


def picture(release: "Release") -> Any:
    """Return an altair chart of the first measured column over the key."""
    from discreet.show.chart import bars, lines

    outputs = release.quote.checked.columns
    place = next((i for i, output in enumerate(outputs) if measured(output.formula)), None)
    if place is None:
        raise ParameterError("the answer has no measured column to draw")
    name = outputs[place].name
    keys = ", ".join(column.name for column in release.quote.checked.keys.columns)
    ordered = all(len(row.key) == 1 and _along_a_line(row.key[0]) for row in release.rows)
    data = [
        {
            "key": _number(row.key[0]) if ordered else " · ".join(str(plain(k)) for k in row.key) or name,
            name: plain(row.cells[place]),
            "low": plain(row.spans[place][0]),
            "high": plain(row.spans[place][1]),
        }
        for row in release.rows
    ]
    sure = f"{float(release.quote.confidence):.0%}"
    words: dict[str, Any] = {
        "title": f"{name.replace('_', ' ')}, {release.dataset}",
        "subtitle": f"{price(release.quote.cost)}; intervals at {sure} confidence",
        "x_title": keys or None,
    }
    if ordered and len(data) > 1:
        return lines(data, x="key", y=name, low="low", high="high", **words)
    long_labels = any(len(str(row["key"])) > LONG_LABEL for row in data) and len(data) > 1
    return bars(data, x="key", y=name, low="low", high="high", horizontal=long_labels, **words)


def _along_a_line(key: object) -> bool:
    return isinstance(key, int | date) and not isinstance(key, bool)


def _number(key: Any) -> Any:
    return key.isoformat() if isinstance(key, date) else key
