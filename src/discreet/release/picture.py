"""A chart of a released table: bars with error bars, a line with a band along numbers and dates, or a map."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.query.check.formula import evaluate, measured
from discreet.query.check.measurement import KeyColumn, RunningGroups, Sets
from discreet.query.price.words import paid
from discreet.release.answer import plain
from discreet.show.number import format_number
from discreet.show.theme import HEIGHT

if TYPE_CHECKING:
    from discreet.release.answer import Release
    from discreet.release.table import ReleasedRow

LONG_LABEL = 7
"""Labels longer than this do not fit side by side under bars."""

ROW = 26
"""So high is a row of a map at least."""


def picture(release: "Release") -> Any:
    """Return a chart of the first measured column over the key."""
    from discreet.show.chart import bars, lines

    checked = release.quote.checked
    place = next((i for i, output in enumerate(checked.columns) if measured(output.formula)), None)
    if place is None:
        raise ParameterError("the answer has no measured column to draw")
    name = checked.columns[place].name
    names = [column.name for column in checked.keys.columns]
    sure = f"{float(release.quote.confidence):.0%}"
    words: dict[str, Any] = {
        "title": f"{name.replace('_', ' ')}, {release.dataset}",
        "subtitle": f"{paid(release.quote)}; intervals at {sure} confidence",
    }
    if len(names) == 2 and (isinstance(checked.keys, Sets) or _crossed(release.rows)):
        return _map(release, place, words)
    if isinstance(checked.keys, RunningGroups):
        # The column before the measured one says which value, or which level, a row is about.
        data = [{**_cell(row, place, name), "key": _number(row.cells[place - 1])} for row in release.rows]
        for record, row in zip(data, release.rows, strict=True):
            record["group"] = " · ".join(map(_text, row.key[:-1]))
        series = "group" if len(names) > 1 else None
        x_title = checked.columns[place - 1].name
        return lines(data, x="key", y=name, low="low", high="high", series=series, x_title=x_title, **words)
    if len(release.rows) == 1:
        return _single(release, words)
    words["x_title"] = ", ".join(names) or None
    ordered = all(len(row.key) == 1 and _along_a_line(row.key[0]) for row in release.rows)
    if any(column.ends for column in checked.keys.columns):
        ordered = False
    data = [
        {
            **_cell(row, place, name),
            "key": _number(row.key[0])
            if ordered
            else " · ".join(_labels(checked.keys.columns, row.key)) or name,
        }
        for row in release.rows
    ]
    if ordered:
        return lines(data, x="key", y=name, low="low", high="high", **words)
    long_labels = any(len(str(row["key"])) > LONG_LABEL for row in data)
    return bars(data, x="key", y=name, low="low", high="high", horizontal=long_labels, **words)


def _crossed(rows: Sequence["ReleasedRow"]) -> bool:
    """Return whether two keys span a table that is at least half full: neither is finer than the other."""
    sizes = [len({row.key[part] for row in rows}) for part in (0, 1)]
    return min(sizes) > 1 and 2 * len(rows) >= sizes[0] * sizes[1]


def _map(release: "Release", place: int, words: dict[str, Any]) -> Any:
    """Return a table of two keys as coloured cells; how far off they may be stands above them."""
    from discreet.show.chart import heatmap

    checked = release.quote.checked
    name, columns = checked.columns[place].name, checked.keys.columns
    keys = [_labels(columns, row.key) for row in release.rows]
    # Long labels stand one below the other.
    across = 0 if max(len(key[0]) for key in keys) <= max(len(key[1]) for key in keys) else 1
    table = [
        {"across": key[across], "down": key[1 - across], name: plain(row.cells[place])}
        for key, row in zip(keys, release.rows, strict=True)
    ]
    said = {"x_title": columns[across].name, "y_title": columns[1 - across].name}
    said["subtitle"] = paid(release.quote) + _within(release, place)
    tall = max(HEIGHT, ROW * len({row["down"] for row in table}))
    return heatmap(table, x="across", y="down", value=name, height=tall, **(words | said))


def _within(release: "Release", place: int) -> str:
    """Return in words how far off the cells of a map may be."""
    spans = [row.spans[place] for row in release.rows if None not in row.spans[place]]
    widths = [(high - low) / 2 for low, high in spans]  # type: ignore[operator]
    if not widths:
        return ""
    least, most = (format_number(end) for end in (min(widths), max(widths)))
    far = most if least == most else f"{least} to {most}"
    return f"; each cell ± {far} at {float(release.quote.confidence):.0%} confidence"


def _single(release: "Release", words: dict[str, Any]) -> Any:
    """Return the measured values of an answer of one row, each with its interval: one bar says nothing."""
    from discreet.show.chart import dots

    (row,) = release.rows
    columns = release.quote.checked.columns
    places = [place for place, output in enumerate(columns) if measured(output.formula)]
    data = [{**_cell(row, place, "value"), "column": columns[place].name} for place in places]
    title = f"{', '.join(columns[place].name.replace('_', ' ') for place in places)}, {release.dataset}"
    words = {**words, "title": title}
    return dots(data, x="value", y="column", low="low", high="high", x_title="", **words)


def _cell(row: "ReleasedRow", place: int, name: str) -> dict[str, Any]:
    low, high = row.spans[place]
    return {name: plain(row.cells[place]), "low": plain(low), "high": plain(high)}


def _text(key: Any) -> str:
    """Return a key for people; the NULL of a grouping set stands for all values."""
    return "all" if key is None else str(plain(key))


def _labels(columns: Sequence[KeyColumn], key: Sequence[Any]) -> list[str]:
    """Return the parts of a key for people, with the values of a cell in place of its number."""
    words = []
    for column, value in zip(columns, key, strict=True):
        if column.ends is None:
            words.append(_text(value))
        else:
            low, high = (format_number(evaluate(end, key, {})) for end in column.ends)  # type: ignore[arg-type]
            words.append(low if low == high else f"{low}–{high}")
    return words


def _along_a_line(key: object) -> bool:
    return isinstance(key, int | date) and not isinstance(key, bool)


def _number(key: Any) -> Any:
    return key.isoformat() if isinstance(key, date) else plain(key)
