"""A chart of a released table: bars with error bars, or a line when the key is a date or a number."""

from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.query.formula import measured
from discreet.release.answer import plain
from discreet.release.text import price

if TYPE_CHECKING:
    from discreet.release.answer import Release


def picture(release: "Release") -> Any:
    """Return an altair chart of the first measured column over the key."""
    from discreet.show.chart import bars

    outputs = release.quote.checked.columns
    place = next((i for i, output in enumerate(outputs) if measured(output.formula)), None)
    if place is None:
        raise ParameterError("the answer has no measured column to draw")
    data = [
        {
            "key": " · ".join(str(plain(part)) for part in row.key) or outputs[place].name,
            outputs[place].name: plain(row.cells[place]),
            "low": plain(row.spans[place][0]),
            "high": plain(row.spans[place][1]),
        }
        for row in release.rows
    ]
    return bars(
        data,
        x="key",
        y=outputs[place].name,
        low="low",
        high="high",
        title=f"{outputs[place].name}, {release.dataset}",
        subtitle=f"{price(release.quote.cost)}; whiskers at {float(release.quote.confidence):.0%} confidence",
        x_title=", ".join(column.name for column in release.quote.checked.keys.columns),
    )
