"""Charts of plain rows: bars with error bars, lines with bands, steps, heat maps.

Each function takes a sequence of mappings and the names of the columns to draw, and returns a chart.
Values may be int, float, Fraction, Decimal, str or None; numbers become floats here, at the very end, and a
row whose drawn value is missing or infinite is left out of the picture.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isfinite, log10
from typing import Any

from discreet.errors import ParameterError
from discreet.show.theme import HEIGHT, INK, ON_DARK, ON_LIGHT, PALETTE, WIDTH
from discreet.show.vega import Chart, Spec, above, amount, category, layered, mark

Rows = Iterable[Mapping[str, Any]]

MANY_DAYS = 31
"""More days than this get an axis of time, which labels months and years instead of each of them."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def bars(
    rows: Rows,
    *,
    x: str,
    y: str,
    low: str | None = None,
    high: str | None = None,
    series: str | None = None,
    horizontal: bool = False,
    title: str = "",
    subtitle: str = "",
    x_title: str | None = None,
    y_title: str | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """Return one bar per row, with error bars from `low` to `high` when both are named."""
    data = _table(rows, {"x": x, "y": y, "low": low, "high": high, "series": series}, needed=("x", "y"))
    for row in data:
        row["x"] = _label(row["x"])
    # Vega-Lite's own order is alphabetical; the caller's order carries meaning.
    padded: Spec = {"title": _title(x_title, x), "scale": {"paddingInner": 0.28, "paddingOuter": 0.2}}
    value = {"title": _title(y_title, y)}
    place, length = ("y", "x") if horizontal else ("x", "y")
    encoding: Spec = {
        place: category("x", axis={"grid": False}, **padded),
        length: amount("y", axis={"grid": True}, **value),
        "tooltip": _tooltip(("x", x), ("y", y), ("low", low), ("high", high), ("series", series)),
    }
    where: Spec = {place: category("x", **padded)}
    if series is not None:
        encoding[f"{place}Offset"] = where[f"{place}Offset"] = category("series")
        encoding["color"] = category("series", title=_legend(series))
    layers = [mark("bar", encoding, color=PALETTE[0])]
    if low is not None and high is not None:
        bottom, top = amount("low", **value), amount("high", **value)
        whisker = {**where, length: bottom, f"{length}2": {"field": "high"}}
        layers.append(mark("rule", whisker, color=INK, strokeWidth=1.6))
        look: Spec = {"color": INK, "thickness": 1.6, "size": 9, "opacity": 1}
        turned = "vertical" if horizontal else "horizontal"
        layers += [mark("tick", {**where, length: end}, orient=turned, **look) for end in (bottom, top)]
    return layered(layers, rows=data, width=width, height=height).titled(title, subtitle)


def dots(
    rows: Rows,
    *,
    x: str,
    y: str,
    low: str | None = None,
    high: str | None = None,
    title: str = "",
    subtitle: str = "",
    x_title: str | None = None,
    width: int = WIDTH,
    row: int = 46,
) -> Chart:
    """Return one dot per row on a common line, with its interval: for few values, far from zero."""
    data = _table(rows, {"x": x, "y": y, "low": low, "high": high}, needed=("x", "y"))
    for record in data:
        record["y"] = _label(record["y"])
    place = category("y", title=None)
    scale = {"scale": {"zero": False, "nice": True, "padding": 24}, "title": _title(x_title, x)}
    layers = []
    if low is not None and high is not None:
        span = {"x": amount("low", **scale), "x2": {"field": "high"}, "y": place}
        layers.append(mark("rule", span, color=PALETTE[0], strokeWidth=5, opacity=0.35, strokeCap="round"))
    tooltip = _tooltip(("y", y), ("x", x), ("low", low), ("high", high))
    dot = {"x": amount("x", **scale), "y": place, "tooltip": tooltip}
    layers.append(mark("point", dot, filled=True, size=130, opacity=1, color=PALETTE[0]))
    return layered(layers, rows=data, width=width, height=row * len(data)).titled(title, subtitle)


def lines(
    rows: Rows,
    *,
    x: str,
    y: str,
    low: str | None = None,
    high: str | None = None,
    series: str | None = None,
    log_x: bool = False,
    log_y: bool = False,
    points: bool = False,
    step: bool = False,
    beneath: str | None = None,
    title: str = "",
    subtitle: str = "",
    x_title: str | None = None,
    y_title: str | None = None,
    y_domain: tuple[float, float] | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """Return one line per series, with a band from `low` to `high` when both are named.

    The series called `beneath` is drawn wide and pale under the others, for those that may coincide with it.
    """
    columns = {"x": x, "y": y, "low": low, "high": high, "series": series}
    positive = (("x",) if log_x else ()) + (("y",) if log_y else ())
    data = _table(rows, columns, needed=("x", "y"), positive=positive)
    numeric = all(isinstance(row["x"], float) for row in data)
    scale_y: Spec = {"type": "log", "nice": False} if log_y else {"zero": False, "nice": True}
    if y_domain is not None:
        scale_y |= {"domain": list(y_domain), "nice": False}
    heights = [row[field] for row in data for field in ("y", "low", "high") if row.get(field)]
    up = {"title": _title(y_title, y), "scale": scale_y}
    colour = (
        category("series", title=_legend(series), legend={"symbolOpacity": 1})
        if series is not None
        else {"value": PALETTE[0]}
    )
    place = {"x": _abscissa(data, _title(x_title, x), numeric=numeric, log=log_x), "color": colour}
    encoding: Spec = {
        **place,
        "y": amount("y", axis=_axis(heights, log=log_y), **up),
        "tooltip": _tooltip(("x", x), ("y", y), ("low", low), ("high", high), ("series", series)),
    }
    # A value on a scale holds until the next one; a category has no "until", so its step is centred on it.
    shape: Spec = {"interpolate": "step-after" if numeric else "step"} if step else {}
    layers = []
    if low is not None and high is not None:
        band = {**place, "y": amount("low", **up), "y2": {"field": "high"}}
        layers.append(mark("area", band, opacity=0.18, **shape))
    others = None
    if beneath is not None:
        named = {"field": "series", "equal": beneath}
        layers.append(mark("line", encoding, only=named, strokeWidth=9, opacity=0.35, **shape))
        others = {"not": named}
    layers.append(mark("line", encoding, only=others, **shape))
    if points:
        layers.append(mark("point", encoding, only=others, filled=True, size=46, opacity=1))
    return layered(layers, rows=data, width=width, height=height).titled(title, subtitle)


def _abscissa(data: list[dict[str, Any]], title: str, *, numeric: bool, log: bool) -> Spec:
    """Return the horizontal channel of lines: a scale of numbers, or categories in the caller's order."""
    if not numeric and len(data) > MANY_DAYS and all(_DAY.fullmatch(str(row["x"])) for row in data):
        # Read and written by the same clock, so that no day moves, wherever it is drawn.
        return {"field": "x", "type": "temporal", "title": title, "scale": {"type": "utc"}}
    if not numeric:
        return category("x", title=title, axis={"labelAngle": 0})
    scale = {"type": "log", "nice": False} if log else {"zero": False, "nice": False}
    return amount("x", title=title, axis=_axis([row["x"] for row in data], log=log), scale=scale)


def steps(rows: Rows, *, x: str, y: str, **options: Any) -> Chart:
    """Return a step function, such as a distribution function; takes the options of `lines`."""
    return lines(rows, x=x, y=y, step=True, **options)


def heatmap(
    rows: Rows,
    *,
    x: str,
    y: str,
    value: str,
    title: str = "",
    subtitle: str = "",
    x_title: str | None = None,
    y_title: str | None = None,
    value_title: str | None = None,
    labels: bool | None = None,
    diverging: bool = False,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """Return a matrix of coloured cells; small ones (at most 144 cells) also carry their numbers."""
    data = _table(rows, {"x": x, "y": y, "value": value}, needed=("x", "y", "value"))
    for row in data:
        row["x"], row["y"] = _label(row["x"]), _label(row["y"])
    numbers = [row["value"] for row in data]
    scale = _diverging(numbers) if diverging else {"scheme": "viridis"}
    place = {"x": category("x", title=_title(x_title, x)), "y": category("y", title=_title(y_title, y))}
    legend = {"orient": "right", "direction": "vertical"}
    colour = amount("value", scale=scale, title=_title(value_title, value), legend=legend)
    tooltip = _tooltip(("x", x), ("y", y), ("value", value))
    layers = [mark("rect", {**place, "color": colour, "tooltip": tooltip}, stroke="white", strokeWidth=0.5)]
    if labels or (labels is None and len(data) <= 144):
        middle = (min(numbers) + max(numbers)) / 2
        bright = {"condition": {"test": f"datum.value > {middle!r}", "value": ON_LIGHT}, "value": ON_DARK}
        # Three digits say enough of a probability, but of a count of thousands they would be 5e+3.
        form = ",.0f" if max(map(abs, numbers)) >= 1000 else ".3~g"
        text = {"text": amount("value", format=form), "color": {"value": ON_LIGHT} if diverging else bright}
        layers.append(mark("text", {**place, **text}, fontSize=11))
    return layered(layers, rows=data, width=width, height=height).titled(title, subtitle)


def stacked(charts: Sequence[Chart], *, title: str = "", subtitle: str = "") -> Chart:
    """Return charts one above the other, each with its own scales, under a common title."""
    if not charts:
        raise ParameterError("a stack of charts needs at least one chart")
    return above(charts, spacing=26).titled(title, subtitle)


def _table(
    rows: Rows, columns: Mapping[str, str | None], *, needed: Sequence[str], positive: Sequence[str] = ()
) -> list[dict[str, Any]]:
    # Columns are renamed so that no character of a caller's name can mean something to Vega.
    table = []
    for row in rows:
        try:
            drawn: dict[str, Any] = {
                field: _plain(row[name]) for field, name in columns.items() if name is not None
            }
        except KeyError as missing:
            raise ParameterError(f"the rows of a chart have no column {missing}") from None
        if all(drawn[field] is not None for field in needed) and all(drawn[field] > 0 for field in positive):
            table.append(drawn)
    if not table:
        raise ParameterError("a chart needs at least one row with finite values")
    return table


def _plain(value: Any) -> float | str | None:
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case int() | float() | Fraction() | Decimal():
            try:
                number = float(value)
            except OverflowError:
                return None
            return number if isfinite(number) else None
        case _ if hasattr(value, "item"):  # a NumPy scalar
            return _plain(value.item())
        case _:
            return str(value)


def _axis(values: Sequence[float], *, log: bool) -> Spec:
    if not log:
        return {"tickMinStep": 1, "format": ",d"} if all(v == int(v) for v in values) else {}
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    stride = max(1, (high - low) // 8)
    leading = (1, 2, 5) if high - low <= 2 else (1,)
    powers = range(low, high + 1, stride)
    ticks = {"values": [digit * 10.0**power for power in powers for digit in leading], "grid": True}
    if low >= -5 and high <= 6:
        return {**ticks, "format": "~f"}
    if leading != (1,):
        return {**ticks, "format": ".0e"}
    return {**ticks, "labelExpr": _superscripts(powers)}


def _superscripts(powers: Iterable[int]) -> str:
    # No number format of Vega's writes powers of ten as people do.
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    cases = (f"abs(log(datum.value) / LN10 - {p}) < 0.1 ? '10{str(p).translate(raised)}' : " for p in powers)
    return "".join(cases) + "''"


def _label(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"


def _title(given: str | None, column: str) -> str:
    return column.replace("_", " ") if given is None else given


def _legend(series: str) -> Any:
    return None if series == "series" else series.replace("_", " ")


def _tooltip(*fields: tuple[str, str | None]) -> list[Spec]:
    return [{"field": field, "title": name} for field, name in fields if name is not None]


def _diverging(numbers: Sequence[float]) -> Spec:
    reach = max(abs(number) for number in numbers) or 1.0
    return {"scheme": "blueorange", "domain": [-reach, reach]}
