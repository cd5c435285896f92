"""Pictures of graphs: which answers are neighbours, as dots and lines."""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from typing import Any

from discreet.errors import ParameterError
from discreet.show.theme import INK, PALETTE
from discreet.show.vega import Chart, Spec, amount, beside, layered, mark, words

Edges = Sequence[tuple[int, int]]

SIDE = 170
"""Width and height of a picture, unless told otherwise."""

MARGIN = 1.3
"""Dots lie on a unit circle; this much of the plane around it is shown."""


def network(
    labels: Sequence[Any], edges: Edges, *, title: str = "", subtitle: str = "", side: int = SIDE
) -> Chart:
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
    hidden = {"axis": None, "scale": {"domain": [-MARGIN, MARGIN], "nice": False}}
    place = {"x": amount("x", **hidden), "y": amount("y", **hidden)}
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    drawn = [mark("rule", {**place, **ends}, rows=joined, strokeWidth=2)] if edges else []
    drawn += [
        mark("circle", place, rows=dots, size=room, color="white", stroke=INK, strokeWidth=1.8, opacity=1),
        mark("text", {**place, "text": words("name")}, rows=dots, fontSize=12, color=INK),
    ]
    return layered(drawn, width=side, height=side).titled(title, subtitle)


def networks(
    graphs: Mapping[str, tuple[Sequence[Any], Edges]],
    *,
    good: Sequence[str] = (),
    title: str = "",
    subtitle: str = "",
) -> Chart:
    """Return graphs side by side under their names, those that are `good` in the colour of what is well."""
    if not graphs:
        raise ParameterError("a row of graphs needs at least one graph")
    parts = []
    for name, (labels, edges) in graphs.items():
        colour = PALETTE[2] if name in good else PALETTE[1]
        heading: Spec = {"fontSize": 13, "color": colour, "anchor": "middle", "offset": 4}
        parts.append(network(labels, edges).titled(name, **heading))
    return beside(parts, spacing=34).titled(title, subtitle)


def _in_row(place: int, size: int) -> tuple[float, float]:
    return (2 * place / (size - 1) - 1 if size > 1 else 0.0), 0.0


def _in_ring(place: int, size: int) -> tuple[float, float]:
    # From the top, clockwise, like the hours.
    angle = pi / 2 - 2 * pi * place / size
    return cos(angle), sin(angle)
