"""How far off PipelineDP is on ordinary questions: roots of mean squared errors, as JSON.

Arguments as for `accuracy`.  One row of each person, public groups, Laplace noise at pure epsilon; its
quantiles come from a tree.  Of keys, which need a delta, the mean number that is found with their counts.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pipeline_dp as pdp

WARDS, CITIES = 5, 87
METRICS = {
    "count": pdp.Metrics.COUNT,
    "sum": pdp.Metrics.SUM,
    "avg": pdp.Metrics.MEAN,
    "variance": pdp.Metrics.VARIANCE,
    "median": pdp.Metrics.PERCENTILE(50),
    "quantile": pdp.Metrics.PERCENTILE(90),
    "histogram": pdp.Metrics.COUNT,
    "group mean": pdp.Metrics.MEAN,
}


def asked(
    rows: list[tuple[int, int, float]],
    metric: Any,
    ends: tuple[float, float],
    epsilon: float,
    delta: float,
    groups: int | None,
) -> dict[int, float]:
    """Return what one pipeline releases by group; without a number of groups they are found in the data."""
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    params = pdp.AggregateParams(
        metrics=[metric],
        noise_kind=pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=ends[0],
        max_value=ends[1],
    )
    extractors = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    public = None if groups is None else list(range(groups))
    released = engine.aggregate(rows, params, extractors, public)
    accountant.compute_budgets()
    return {group: float(answer[0]) for group, answer in released}


def keys(epsilon: float, runs: int) -> float:
    weights = 1 / np.arange(1, CITIES + 1)
    cities = np.repeat(np.arange(CITIES), np.round(3000 * weights / weights.sum()).astype(int))
    rows = [(place, int(city), 1.0) for place, city in enumerate(cities)]
    return float(
        np.mean([len(asked(rows, pdp.Metrics.COUNT, (0, 1), epsilon, 1e-6, None)) for _ in range(runs)])
    )


def main() -> None:
    path, low, high, above, epsilon, runs = sys.argv[1:]
    values = np.array(json.loads(Path(path).read_text()), dtype=float)
    ends, price, many = (float(low), float(high)), float(epsilon), int(runs)
    found = {}
    for name, metric in METRICS.items():
        grouped = name in ("histogram", "group mean")
        kept = values >= (float(above) if name == "count" else ends[0])
        wards = np.arange(values.size) % WARDS if grouped else np.zeros(values.size, dtype=int)
        rows = [(place, int(wards[place]), float(values[place])) for place in np.flatnonzero(kept)]
        truths = [truth(name, values[kept & (wards == ward)]) for ward in range(wards.max() + 1)]
        squares = [
            (released[ward] - truths[ward]) ** 2
            for _ in range(many)
            for released in (asked(rows, metric, ends, price, 0.0, len(truths)),)
            for ward in range(len(truths))
        ]
        found[name] = float(np.sqrt(np.mean(squares)))
    print(json.dumps({"PipelineDP": {**found, "keys": keys(price, 20)}}))


def truth(name: str, values: np.ndarray) -> float:
    match name:
        case "count" | "histogram":
            return float(values.size)
        case "sum":
            return float(values.sum())
        case "avg" | "group mean":
            return float(values.mean())
        case "variance":
            return float(values.var())
        case "median":
            return float(np.median(values))
        case _:
            return float(np.quantile(values, 0.9))


main()
