"""Pictures of optimal mechanisms: the channel as a heat map, the remap on it, loss against epsilon."""

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.exact.number import Real
from discreet.mechanisms.table import Label, Table
from discreet.show import heatmap, lines
from discreet.show.vega import category, mark, over
from discreet.utility.advise import curve
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.prior import Prior


def channel_picture(channel: Table, remap: Mapping[Label, Label] | None = None, *, title: str = "") -> Any:
    """Return a heat map of p(z|y), with a frame around the guess that a remap makes of each answer."""
    rows = [
        {"answer": answer, "truth": truth, "probability": p}
        for truth, row in zip(channel.inputs, channel.rows, strict=True)
        for answer, p in zip(channel.outputs, row, strict=True)
    ]
    chart = heatmap(
        rows,
        x="answer",
        y="truth",
        value="probability",
        title=title,
        subtitle="" if remap is None else "framed: the best guess for each answer",
        x_title="answer",
        y_title="true answer",
    )
    if remap is None:
        return chart
    marks = [{"x": str(answer), "y": str(guess)} for answer, guess in remap.items()]
    place = {"x": category("x"), "y": category("y")}
    return over(chart, mark("rect", place, rows=marks, fill=None, stroke="#ff7f50", strokeWidth=3))


def loss_picture(
    graph: Graph,
    prior: Prior,
    loss: Loss,
    epsilons: Sequence[Real],
    names: Sequence[str] | None = None,
    *,
    title: str = "Expected loss against epsilon",
) -> Any:
    """Return the expected loss, after the best remap, of every mechanism as epsilon grows."""
    rows = curve(graph, prior, loss, epsilons, names)
    return lines(
        rows,
        x="epsilon",
        y="loss",
        series="mechanism",
        beneath="optimal",
        points=True,
        title=title,
        x_title="epsilon",
        y_title="expected loss",
    )
