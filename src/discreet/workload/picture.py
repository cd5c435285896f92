"""Pictures of workloads: errors side by side, cumulative counts with a band, marginals, streams."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.exact.number import Real
from discreet.show import chart
from discreet.workload.linear import Prefix
from discreet.workload.marginal import Attributes, MarginalPlan
from discreet.workload.plan import Plan
from discreet.workload.reconcile import Estimate
from discreet.workload.stream import RunningCount
from discreet.workload.table import MarginalAnswers


def draw_errors(made: Plan | MarginalPlan) -> Any:
    """Return one bar per strategy: the root mean squared error of a question."""
    rows = [{"strategy": name, "error": root} for name, root in candidate_errors(made)]
    return chart.bars(
        rows,
        x="strategy",
        y="error",
        horizontal=True,
        title="Error of each strategy",
        subtitle="root mean squared error of a question, forecast before any data is seen",
        y_title="root mean squared error",
    )


def candidate_errors(made: Plan | MarginalPlan) -> list[tuple[str, float]]:
    """Return what was considered and the root mean squared error of each, best first."""
    if isinstance(made, MarginalPlan):
        return sorted(((name, error.root) for name, error in made.candidates), key=lambda pair: pair[1])
    return [(candidate.name, candidate.error.root) for candidate in made.candidates]


def draw_cumulative(
    estimate: Estimate, *, labels: Sequence[Any] | None = None, beta: Real = "0.05", title: str = ""
) -> Any:
    """Return the cumulative counts of an estimated histogram as steps, with a band around each."""
    answers = estimate.answer(Prefix(estimate.cells.size))
    radius = answers.radius(beta)
    rows = [
        {"value": label, "count": float(value), "low": float(value - r), "high": float(value + r)}
        for label, value, r in zip(labels or range(answers.values.size), answers.values, radius, strict=True)
    ]
    return chart.steps(
        rows,
        x="value",
        y="count",
        low="low",
        high="high",
        title=title or "Cumulative counts",
        subtitle=f"band: each value by itself, at {float(1 - float(beta)):.0%}",
        y_title="people at or below",
    )


def draw_marginal(
    answers: MarginalAnswers, attributes: Attributes, *, names: Sequence[str] | None = None
) -> Any:
    """Return one released table: a heat map of two attributes, or bars with error bars of one."""
    table = answers.table(attributes)
    called = [names[i] if names else f"attribute {i}" for i in attributes]
    title, subtitle = (
        " by ".join(called),
        f"standard deviation of a cell: {answers.deviation(attributes):.3g}",
    )
    if table.ndim == 1:
        r = answers.radius(attributes)
        rows = [
            {"x": k, "y": float(v), "low": float(v - r), "high": float(v + r)} for k, v in enumerate(table)
        ]
        return chart.bars(
            rows,
            x="x",
            y="y",
            low="low",
            high="high",
            title=title,
            subtitle=subtitle,
            x_title=called[0],
            y_title="people",
        )
    flat = table.reshape(table.shape[0], -1)
    cells = [{"x": j, "y": i, "people": float(flat[i, j])} for i, j in np.ndindex(*flat.shape)]
    return chart.heatmap(
        cells,
        x="x",
        y="y",
        value="people",
        title=title,
        subtitle=subtitle,
        y_title=called[0],
        x_title=", ".join(called[1:]),
    )


def draw_stream(counts: Sequence[RunningCount], *, title: str = "") -> Any:
    """Return released running counts with a band of two standard deviations."""
    rows = [
        {
            "step": count.step,
            "count": count.value,
            "low": count.value - 2 * count.deviation,
            "high": count.value + 2 * count.deviation,
        }
        for count in counts
    ]
    return chart.lines(
        rows,
        x="step",
        y="count",
        low="low",
        high="high",
        title=title or "A running count",
        subtitle="band: two deviations",
    )
