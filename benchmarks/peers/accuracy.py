"""How far off other libraries are on ordinary questions: roots of mean squared errors, as JSON.

Arguments: a file of numbers (JSON), their bounds, the number above which people are counted, epsilon, and how
many runs.  Both libraries answer at pure epsilon, which for one question errs less than what either does with
a delta.  diffprivlib takes the number of people as public, which is an advantage.
"""

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffprivlib.tools as tools
import numpy as np
import opendp.prelude as dp

Draw = Callable[[], Any]
WARDS = 5
"""Row n is in ward n modulo this."""


def of_diffprivlib(
    values: np.ndarray, low: float, high: float, above: float, epsilon: float
) -> dict[str, Draw]:
    given = {"epsilon": epsilon, "bounds": (low, high)}
    wards = np.arange(values.size) % WARDS
    return {
        "count": lambda: float(tools.count_nonzero(values >= above, epsilon=epsilon)),
        "sum": lambda: float(tools.sum(values, **given)),
        "avg": lambda: float(tools.mean(values, **given)),
        "variance": lambda: float(tools.var(values, **given)),
        "median": lambda: float(tools.median(values, **given)),
        "quantile": lambda: float(tools.quantile(values, 0.9, **given)),
        # Wards are disjoint, so each gets the whole epsilon.
        "histogram": lambda: tools.histogram(wards, epsilon=epsilon, bins=WARDS, range=(0, WARDS))[0],
        "group mean": lambda: [tools.mean(values[wards == ward], **given) for ward in range(WARDS)],
    }


def of_opendp(values: np.ndarray, low: float, high: float, above: float, epsilon: float) -> dict[str, Draw]:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    count = space >> dp.t.then_count() >> dp.m.then_laplace(1 / epsilon)
    clamped = space >> dp.t.then_clamp((int(low), int(high))) >> dp.t.then_sum()
    total = clamped >> dp.m.then_laplace(max(abs(low), abs(high)) / epsilon)
    whole, kept = [int(value) for value in values], [int(value) for value in values[values >= above]]
    distinct = space >> dp.t.then_count_distinct() >> dp.m.then_laplace(1 / epsilon)
    return {
        "count": lambda: float(count(kept)),
        "sum": lambda: float(total(whole)),
        "distinct": lambda: float(distinct(whole)),
        "histogram": lambda: [float(count(whole[ward::WARDS])) for ward in range(WARDS)],
    }


def error(draw: Draw, truth: Any, runs: int) -> float:
    return float(np.sqrt(np.mean([(np.asarray(draw()) - np.asarray(truth)) ** 2 for _ in range(runs)])))


def main() -> None:
    warnings.simplefilter("ignore")
    path, low, high, above, epsilon, runs = sys.argv[1:]
    values = np.array(json.loads(Path(path).read_text()), dtype=float)
    truths = {
        "count": float((values >= float(above)).sum()),
        "sum": values.sum(),
        "avg": values.mean(),
        "variance": values.var(),
        "median": float(np.median(values)),
        "quantile": float(np.quantile(values, 0.9)),
        "distinct": float(np.unique(values).size),
        "histogram": [float(values[ward::WARDS].size) for ward in range(WARDS)],
        "group mean": [float(values[ward::WARDS].mean()) for ward in range(WARDS)],
    }
    given = float(low), float(high), float(above), float(epsilon)
    made = {
        "diffprivlib": of_diffprivlib(values, *given),
        "OpenDP": of_opendp(values, *given),
    }
    found = {
        peer: {name: error(draw, truths[name], int(runs)) for name, draw in draws.items()}
        for peer, draws in made.items()
    }
    print(json.dumps(found))


main()
