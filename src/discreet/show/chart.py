"""Charts of plain rows: bars with error bars, lines with bands, steps, heat maps.

Each function takes a sequence of mappings and the names of the columns to draw, and returns an altair
chart.  Values may be int, float, Fraction, Decimal, str or None; numbers become floats here, at the very
end, and a row whose drawn value is missing or infinite is left out of the picture.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import ceil, floor, isfinite, log10
from typing import Any

import altair as alt

from discreet.errors import ParameterError
from discreet.show.theme import HEIGHT, INK, ON_DARK, ON_LIGHT, PALETTE, WIDTH, config

Rows = Iterable[Mapping[str, Any]]


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
) -> alt.LayerChart:
    """Return one bar per row, with error bars from `low` to `high` when both are named."""
    data = _table(rows, {"x": x, "y": y, "low": low, "high": high, "series": series}, needed=("x", "y"))
    for row in data:
        row["x"] = _label(row["x"])
    # Vega-Lite's own order is alphabetical; the caller's order carries meaning.
    category = {
        "sort": None,
        "title": _title(x_title, x),
        "scale": alt.Scale(paddingInner=0.28, paddingOuter=0.2),
    }
    value = {"title": _title(y_title, y)}
    place, length = ("y", "x") if horizontal else ("x", "y")
    encoding: dict[str, Any] = {
        place: _channel(place, "x:N", axis=alt.Axis(grid=False), **category),
        length: _channel(length, "y:Q", axis=alt.Axis(grid=True), **value),
        "tooltip": _tooltip(("x", x), ("y", y), ("low", low), ("high", high), ("series", series)),
    }
    whisker: dict[str, Any] = {
        place: _channel(place, "x:N", **category),
        length: _channel(length, "low:Q", **value),
        f"{length}2": "high:Q",
    }
    if series is not None:
        offset = alt.YOffset if horizontal else alt.XOffset
        encoding[f"{place}Offset"] = whisker[f"{place}Offset"] = offset("series:N", sort=None)
        encoding["color"] = alt.Color("series:N", sort=None, title=_legend(series))
    base = alt.Chart(alt.Data(values=data), width=width, height=height)
    layers = [base.mark_bar(color=PALETTE[0]).encode(**encoding)]
    if low is not None and high is not None:
        layers.append(base.mark_rule(color=INK, strokeWidth=1.6).encode(**whisker))
        tick = base.mark_tick(
            color=INK, thickness=1.6, size=9, opacity=1, orient="vertical" if horizontal else "horizontal"
        )
        ends = {key: part for key, part in whisker.items() if key != f"{length}2"}
        layers.append(tick.encode(**ends))
        layers.append(tick.encode(**{**ends, length: _channel(length, "high:Q", **value)}))
    return finish(alt.layer(*layers), title, subtitle)


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
) -> alt.LayerChart:
    """Return one dot per row on a common line, with its interval: for few values, far from zero."""
    data = _table(rows, {"x": x, "y": y, "low": low, "high": high}, needed=("x", "y"))
    for record in data:
        record["y"] = _label(record["y"])
    base = alt.Chart(alt.Data(values=data), width=width, height=row * len(data))
    place = alt.Y("y:N", sort=None, title=None)
    scale = {"scale": alt.Scale(zero=False, nice=True, padding=24), "title": _title(x_title, x)}
    layers = []
    if low is not None and high is not None:
        span = base.mark_rule(color=PALETTE[0], strokeWidth=5, opacity=0.35, strokeCap="round")
        layers.append(span.encode(x=alt.X("low:Q", **scale), x2="high:Q", y=place))
    tooltip = _tooltip(("y", y), ("x", x), ("low", low), ("high", high))
    dot = base.mark_point(filled=True, size=130, opacity=1, color=PALETTE[0])
    layers.append(dot.encode(x=alt.X("x:Q", **scale), y=place, tooltip=tooltip))
    return finish(alt.layer(*layers), title, subtitle)


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
) -> alt.LayerChart:
    """Return one line per series, with a band from `low` to `high` when both are named.

    The series called `beneath` is drawn wide and pale under the others, for those that may coincide with it.
    """
    columns = {"x": x, "y": y, "low": low, "high": high, "series": series}
    positive = (("x",) if log_x else ()) + (("y",) if log_y else ())
    data = _table(rows, columns, needed=("x", "y"), positive=positive)
    numeric = all(isinstance(row["x"], float) for row in data)
    scale_y: dict[str, Any] = {"type": "log", "nice": False} if log_y else {"zero": False, "nice": True}
    if y_domain is not None:
        scale_y |= {"domain": list(y_domain), "nice": False}
    encoding: dict[str, Any] = {
        "x": _abscissa(data, _title(x_title, x), numeric=numeric, log=log_x),
        "y": alt.Y(
            "y:Q",
            title=_title(y_title, y),
            scale=alt.Scale(**scale_y),
            axis=_axis(
                [row[field] for row in data for field in ("y", "low", "high") if row.get(field)], log=log_y
            ),
        ),
    }
    colour = (
        alt.Color("series:N", sort=None, title=_legend(series), legend=alt.Legend(symbolOpacity=1))
        if series is not None
        else alt.value(PALETTE[0])
    )
    encoding["color"] = colour
    tooltip = _tooltip(("x", x), ("y", y), ("low", low), ("high", high), ("series", series))
    # A value on a scale holds until the next one; a category has no "until", so its step is centred on it.
    shape: dict[str, Any] = {"interpolate": "step-after" if numeric else "step"} if step else {}
    base = alt.Chart(alt.Data(values=data), width=width, height=height)
    layers = []
    if low is not None and high is not None:
        band = {
            **encoding,
            "y": alt.Y("low:Q", title=_title(y_title, y), scale=alt.Scale(**scale_y)),
            "y2": "high:Q",
        }
        layers.append(base.mark_area(opacity=0.18, **shape).encode(**band))
    over = base
    if beneath is not None:
        named = alt.FieldEqualPredicate(field="series", equal=beneath)
        under = base.transform_filter(named).mark_line(strokeWidth=9, opacity=0.35, **shape)
        layers.append(under.encode(**encoding, tooltip=tooltip))
        over = base.transform_filter(alt.LogicalNotPredicate(**{"not": named}))
    layers.append(over.mark_line(**shape).encode(**encoding, tooltip=tooltip))
    if points:
        layers.append(over.mark_point(filled=True, size=46, opacity=1).encode(**encoding, tooltip=tooltip))
    return finish(alt.layer(*layers), title, subtitle)


def _abscissa(data: list[dict[str, Any]], title: str, *, numeric: bool, log: bool) -> alt.X:
    """Return the horizontal channel of lines: a scale of numbers, or categories in the caller's order."""
    if not numeric:
        return alt.X("x:N", title=title, sort=None, axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=False)
    return alt.X("x:Q", title=title, axis=_axis([row["x"] for row in data], log=log), scale=scale)


def steps(rows: Rows, *, x: str, y: str, **options: Any) -> alt.LayerChart:
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
) -> alt.LayerChart:
    """Return a matrix of coloured cells; small ones (at most 144 cells) also carry their numbers."""
    data = _table(rows, {"x": x, "y": y, "value": value}, needed=("x", "y", "value"))
    for row in data:
        row["x"], row["y"] = _label(row["x"]), _label(row["y"])
    numbers = [row["value"] for row in data]
    scale = _diverging(numbers) if diverging else alt.Scale(scheme="viridis")
    base = alt.Chart(alt.Data(values=data), width=width, height=height).encode(
        x=alt.X("x:N", sort=None, title=_title(x_title, x)),
        y=alt.Y("y:N", sort=None, title=_title(y_title, y)),
    )
    cells = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        color=alt.Color(
            "value:Q",
            scale=scale,
            title=_title(value_title, value),
            legend=alt.Legend(orient="right", direction="vertical"),
        ),
        tooltip=_tooltip(("x", x), ("y", y), ("value", value)),
    )
    if labels is None:
        labels = len(data) <= 144
    if not labels:
        return finish(alt.layer(cells), title, subtitle)
    middle = (min(numbers) + max(numbers)) / 2
    ink = (
        alt.value(ON_LIGHT)
        if diverging
        else alt.condition(f"datum.value > {middle!r}", alt.value(ON_LIGHT), alt.value(ON_DARK))
    )
    # Three digits say enough of a probability, but of a count of thousands they would be 5e+3.
    form = ",.0f" if max(map(abs, numbers)) >= 1000 else ".3~g"
    return finish(
        alt.layer(
            cells, base.mark_text(fontSize=11).encode(text=alt.Text("value:Q", format=form), color=ink)
        ),
        title,
        subtitle,
    )


def stacked(
    charts: Sequence[alt.LayerChart | alt.Chart], *, title: str = "", subtitle: str = ""
) -> alt.VConcatChart:
    """Return charts one above the other, each with its own scales, under a common title."""
    if not charts:
        raise ParameterError("a stack of charts needs at least one chart")
    whole = alt.vconcat(*map(bare, charts), spacing=26).resolve_scale(color="independent")
    return finish(whole, title, subtitle)


def bare(chart: Any) -> Any:
    """Return a chart without the look of the house, so that it can become part of another."""
    copy = chart.copy(deep=True)
    copy.config = alt.Undefined
    return copy


def finish(chart: Any, title: str, subtitle: str) -> Any:
    """Return a chart with its title and the look of the house."""
    if title:
        words = {"text": title} | ({"subtitle": subtitle.split("\n")} if subtitle else {})
        chart = chart.properties(title=alt.TitleParams(**words))
    chart.config = _look()
    return chart


@cache
def _look() -> Any:
    # Reading it is most of the work of a small chart, and it is the same for all.
    return alt.Config.from_dict(config())


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


def _axis(values: Sequence[float], *, log: bool) -> alt.Axis:
    if not log:
        return alt.Axis(tickMinStep=1, format=",d") if all(v == int(v) for v in values) else alt.Axis()
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    stride = max(1, (high - low) // 8)
    leading = (1, 2, 5) if high - low <= 2 else (1,)
    powers = range(low, high + 1, stride)
    ticks = [digit * 10.0**power for power in powers for digit in leading]
    if low >= -5 and high <= 6:
        return alt.Axis(values=ticks, format="~f", grid=True)
    if leading != (1,):
        return alt.Axis(values=ticks, format=".0e", grid=True)
    return alt.Axis(values=ticks, labelExpr=_superscripts(powers), grid=True)


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


def _tooltip(*fields: tuple[str, str | None]) -> list[alt.Tooltip]:
    return [alt.Tooltip(field=field, title=name) for field, name in fields if name is not None]


def _channel(name: str, shorthand: str, **options: Any) -> Any:
    return (alt.X if name == "x" else alt.Y)(shorthand, **options)


def _diverging(numbers: Sequence[float]) -> alt.Scale:
    reach = max(abs(number) for number in numbers) or 1.0
    return alt.Scale(scheme="blueorange", domain=[-reach, reach])
