"""Pictures of graphs: which answers are neighbours, as dots and lines."""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from typing import Any

import altair as alt

from discreet.errors import ParameterError
from discreet.show.chart import bare, finish
from discreet.show.theme import INK, PALETTE

Edges = Sequence[tuple[int, int]]

SIDE = 170
"""Width and height of a picture, unless told otherwise."""

MARGIN = 1.3
"""Dots lie on a unit circle; this much of the plane around it is shown."""


def network(
    labels: Sequence[Any], edges: Edges, *, title: str = "", subtitle: str = "", side: int = SIDE
) -> alt.LayerChart:
    """Return a graph with its dots in a row if only consecutive ones are joined, else in a ring."""
    size = len(labels)
    if not size or any(not 0 <= end < size for edge in edges for end in edge):
        raise ParameterError("a graph needs at least one dot, and lines between positions of its dots")
    row = all(abs(i - j) == 1 for i, j in edges)
    places = [_in_row(i, size) if row else _in_ring(i, size) for i in range(size)]
    dots = [{"x": x, "y": y, "name": str(label)} for (x, y), label in zip(places, labels, strict=True)]
    joined = [
        {"x": places[i][0], "y": places[i][1], "x2": places[j][0], "y2": places[j][1]} for i, j in edges
    ]
    # The area of a dot that has room for its name.
    room = max(520, 300 + 70 * max(len(str(label)) for label in labels) ** 2)
    scale = alt.Scale(domain=[-MARGIN, MARGIN], nice=False)
    across, up = (kind(f"{field}:Q", axis=None, scale=scale) for kind, field in ((alt.X, "x"), (alt.Y, "y")))

    def base(rows: list[dict[str, Any]]) -> alt.Chart:
        return alt.Chart(alt.Data(values=rows), width=side, height=side)

    drawn = (
        [base(joined).mark_rule(strokeWidth=2).encode(x=across, y=up, x2="x2:Q", y2="y2:Q")] if edges else []
    )
    drawn += [
        base(dots)
        .mark_circle(size=room, color="white", stroke=INK, strokeWidth=1.8, opacity=1)
        .encode(x=across, y=up),
        base(dots).mark_text(fontSize=12, color=INK).encode(x=across, y=up, text="name:N"),
    ]
    return finish(alt.layer(*drawn), title, subtitle)


def networks(
    graphs: Mapping[str, tuple[Sequence[Any], Edges]],
    *,
    good: Sequence[str] = (),
    title: str = "",
    subtitle: str = "",
) -> alt.HConcatChart:
    """Return graphs side by side under their names, those that are `good` in the colour of what is well."""
    if not graphs:
        raise ParameterError("a row of graphs needs at least one graph")
    parts = []
    for name, (labels, edges) in graphs.items():
        colour = PALETTE[2] if name in good else PALETTE[1]
        heading = alt.TitleParams(text=name, fontSize=13, color=colour, anchor="middle", offset=4)
        parts.append(bare(network(labels, edges)).properties(title=heading))
    return finish(alt.hconcat(*parts, spacing=34), title, subtitle)


def _in_row(place: int, size: int) -> tuple[float, float]:
    return (2 * place / (size - 1) - 1 if size > 1 else 0.0), 0.0


def _in_ring(place: int, size: int) -> tuple[float, float]:
    # From the top, clockwise, like the hours.
    angle = pi / 2 - 2 * pi * place / size
    return cos(angle), sin(angle)
