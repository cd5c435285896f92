"""Charts as plain values in the words of Vega-Lite: marks on channels, layered, stacked, titled.

A chart is JSON and nothing else, so that making one loads no library and any tool that reads Vega-Lite can
go on with it (`altair.Chart.from_dict(chart.to_dict())`, an editor, a page).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from discreet.show.theme import config

Spec = dict[str, Any]
Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Chart:
    """A picture as Vega-Lite states it; notebooks show it by themselves, and `save` makes a file of it."""

    spec: Spec
    """What is drawn, without the look of the house, so that it can become part of another picture."""

    @property
    def title(self) -> str:
        """The words above the picture, if there are any."""
        return str(self.spec.get("title", {}).get("text", ""))

    def to_dict(self) -> Spec:
        """Return the whole specification, with the look of the house."""
        return {**deepcopy(self.spec), "config": config()}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the whole specification as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def titled(self, title: str, subtitle: str = "", **look: Any) -> "Chart":
        """Return the chart under a title; every line of the subtitle stands by itself."""
        if not title:
            return self
        words = {"text": title, **look} | ({"subtitle": subtitle.split("\n")} if subtitle else {})
        return Chart({**self.spec, "title": words})

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Spec:
        from discreet.show.save import can_draw, specification, svg

        stated = {"application/vnd.vegalite.v5+json": specification(self), "text/plain": repr(self)}
        # A drawing needs nothing from anywhere, not even in a notebook that was turned into a page.
        return stated | ({"image/svg+xml": svg(self)} if can_draw() else {})

    def __repr__(self) -> str:
        return f"<chart: {self.title}>" if self.title else "<chart>"


def amount(field: str, **options: Any) -> Spec:
    """Return a channel that shows a number."""
    return {"field": field, "type": "quantitative", **options}


def category(field: str, **options: Any) -> Spec:
    """Return a channel that shows a name; names stay in the order of the rows unless told otherwise."""
    return {"field": field, "type": "nominal", "sort": None, **options}


def words(field: str) -> Spec:
    """Return a channel that writes the text of a field."""
    return {"field": field, "type": "nominal"}


def mark(
    kind: str,
    encoding: Mapping[str, Any],
    *,
    rows: Records | None = None,
    only: str | Mapping[str, Any] | None = None,
    **look: Any,
) -> Spec:
    """Return one layer: a kind of mark on its channels, for rows of its own, or for `only` some of all."""
    layer: Spec = {"mark": {"type": kind, **look}, "encoding": dict(encoding)}
    if rows is not None:
        layer["data"] = {"values": list(rows)}
    if only is not None:
        layer["transform"] = [{"filter": only}]
    return layer


def layered(layers: Iterable[Spec], *, width: int, height: int, rows: Records | None = None) -> Chart:
    """Return layers over one another, the first one lowest, on common rows if they are given."""
    shared: Spec = {} if rows is None else {"data": {"values": list(rows)}}
    return Chart({**shared, "layer": list(layers), "width": width, "height": height})


def over(lower: Chart, *layers: Spec) -> Chart:
    """Return a chart with more layers over it; its title stays the title of the whole."""
    part = {name: value for name, value in lower.spec.items() if name != "title"}
    kept = {name: value for name, value in lower.spec.items() if name in ("title", "width", "height")}
    return Chart({"layer": [part, *layers], **kept})


def above(charts: Iterable[Chart], *, spacing: int) -> Chart:
    """Return charts one above the other, each with colours of its own."""
    parts = [chart.spec for chart in charts]
    return Chart({"vconcat": parts, "spacing": spacing, "resolve": {"scale": {"color": "independent"}}})


def beside(charts: Iterable[Chart], *, spacing: int) -> Chart:
    """Return charts side by side."""
    return Chart({"hconcat": [chart.spec for chart in charts], "spacing": spacing})
