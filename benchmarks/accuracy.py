"""Ordinary questions at the same promise: how far off discreet is, and how far off other libraries are.

A thousand people with one number each between 0 and 2000, in one of five wards, add-remove, one question at
the whole budget: roots of mean squared errors over many draws, and over groups where there are several.  A
budget with delta promises less than a pure one, so nobody should be worse under it than at pure epsilon; the
last column is discreet under delta against the best of others.  Keys are counted instead: how many of 87
cities of Zipf's law are found, which only a budget with delta can, nine tenths of it kept for them; there the
last column is the best of others against discreet.  `python -m benchmarks.accuracy 0.1 3` runs these alone.

Where people are in several groups, keys are found by counts of people who keep at most g groups each, for the
best g, or by weights that fall with the number of their groups: how many of 2,000 are found, at (1, 1e-6),
for memberships with tails of several weights, by a question that takes all of the budget or a twentieth.
Counts get nine tenths of delta, and weights, whose noise needs some too, half of it.
`python -m benchmarks.accuracy memberships` runs that alone.
"""

import json
import sys
import tempfile
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

import discreet as dp
from benchmarks.peer import ask
from discreet.release.noisy import draw
from discreet.release.session import Session, proved
from discreet.release.table import rows as released_rows

PEOPLE, TOP, ABOVE, RUNS, DELTA = 1000, 2000, 150, 400, "1e-5"
QUESTIONS = {
    "count": f"SELECT COUNT(*) FROM people WHERE x >= {ABOVE}",
    "sum": "SELECT SUM(x) FROM people",
    "avg": "SELECT AVG(x) FROM people",
    "variance": "SELECT VAR_POP(x) FROM people",
    "median": "SELECT MEDIAN(x) FROM people",
    "quantile": "SELECT QUANTILE(x, 0.9) FROM people",
    "distinct": "SELECT COUNT(DISTINCT x) FROM people",
    "histogram": "SELECT ward, COUNT(*) FROM people GROUP BY ward",
    "group mean": "SELECT ward, AVG(x) FROM people GROUP BY ward",
}
WARDS, CITIES = 5, 87
OFF = sqrt(5 / RUNS) / 2
"""How far off a measured error is, relatively: Laplace noise has a fourth moment of six squared variances."""

PEERS = ("diffprivlib", "OpenDP", "SmartNoise", "PipelineDP")


def errors(data: Session, truths: dict[str, list[float]], epsilon: float) -> dict[str, float]:
    """Return the root of the mean squared error of every question, priced as one that spends epsilon."""
    found = {}
    for name, text in QUESTIONS.items():
        priced = data.quote(text, epsilon=epsilon)
        exact = data.engine.run(proved(priced), 1)
        total = 0.0
        for _ in range(RUNS):
            rows = released_rows(priced, draw(priced, exact))
            for row, truth in zip(rows, truths[name], strict=True):
                total += (float(row.cells[-1] or 0) - truth) ** 2  # type: ignore[arg-type]
        found[name] = sqrt(total / RUNS / len(truths[name]))
    return found


def keys(epsilon: float) -> tuple[float, int]:
    """Return how many cities are found on average, with their counts, and how many there are."""
    weights = 1 / np.arange(1, CITIES + 1)
    cities = np.repeat(np.arange(CITIES), np.round(3000 * weights / weights.sum()).astype(int))
    frame = pd.DataFrame({"person": np.arange(cities.size), "city": [f"c{city}" for city in cities]})
    opened = {"people": frame, "unit": "person", "rows_per_unit": 1, "columns": {"city": "text"}}
    with dp.open(**opened, epsilon=epsilon, delta="1e-6", slack="9e-7") as data:
        priced = data.quote("SELECT city, COUNT(*) FROM people GROUP BY city", epsilon=epsilon)
        exact = data.engine.run(proved(priced), 1)
        return float(np.mean([len(draw(priced, exact).keys) for _ in range(40)])), CITIES


TAILS, LIMITS = (1.6, 1.2, 0.8, 0.5), (1, 2, 3, 4, 8, 16, 32, 64, 128)
"""A person is in more than m groups with a probability of about m to the power of -tail."""

PARTS = {1: "1", 20: "0.2"}
"""Numbers of questions that a budget is for, and epsilons at which one takes about such a part of it."""


def memberships(tail: float, people: int = 20_000, number: int = 2000) -> pd.DataFrame:
    """Return who is in which groups: popular ones by Zipf's law, and few people in many."""
    random, popular = np.random.default_rng(3), 1 / np.arange(1, number + 1)
    many = np.minimum(200, np.floor(random.pareto(tail, people) + 1)).astype(int)
    chosen = random.choice(number, size=int(many.sum()), p=popular / popular.sum())
    frame = pd.DataFrame({"person": np.repeat(np.arange(people), many), "city": chosen}).drop_duplicates()
    return frame.assign(city=[f"c{city}" for city in frame["city"]])


def _declared(frame: pd.DataFrame, folder: Path, questions: int, slack: str) -> Session:
    """Return a dataset whose budget is declared for so many questions."""
    frame.to_parquet(folder / "people.parquet")
    manifest = folder / "people.toml"
    manifest.write_text(
        f"""
        budget = {{ epsilon = 1, delta = "1e-6", questions = {questions}, slack = "{slack}" }}
        [tables.people]
        source = "people.parquet"
        unit = "person"
        rows_per_unit = 200
        columns = {{ city = "text" }}
        """
    )
    return dp.open(manifest)


def keys_of(frame: pd.DataFrame, kind: str, questions: int) -> tuple[float, dict[int, float]]:
    """Return the part of the budget that a question takes, and how many keys it finds at every limit."""
    weighted = kind == "weights"
    found = {}
    # Of a budget for one question nearly all of delta may be for the threshold, where noise is pure.
    slack = "5e-7" if weighted or questions > 1 else "9e-7"
    with tempfile.TemporaryDirectory() as folder, _declared(frame, Path(folder), questions, slack) as data:
        # There is nothing to weigh where everybody is in one group.
        for groups in LIMITS[weighted:]:
            limits = dp.Limits(groups_per_unit=groups, weighted_keys=weighted)
            priced = data.quote(
                "SELECT city FROM people GROUP BY city", epsilon=PARTS[questions], limits=limits
            )
            exact = data.engine.run(proved(priced), 1)
            found[groups] = float(np.mean([len(draw(priced, exact).keys) for _ in range(20)]))
    return float(priced.share or 0), found


def by_weights() -> Grid:
    """Return how many keys are found by counts and by weights, at every limit of groups."""
    heads = ("tail", "groups each", "budget", "", *(f"g = {groups}" for groups in LIMITS), "best")
    grid = Grid(*heads, title="Keys found of 2,000, for people in many groups")
    for tail in TAILS:
        frame = memberships(tail)
        mean = len(frame) / frame["person"].nunique()
        for questions in PARTS:
            for kind in ("counts", "weights"):
                share, found = keys_of(frame, kind, questions)
                shown = [f"{found[groups]:.0f}" if groups in found else "-" for groups in LIMITS]
                best = f"{max(found.values()):.0f}"
                grid.add_row(str(tail), f"{mean:.1f}", f"{share:.1%}", kind, *shown, best)
    return grid


def _judged(ratio: float) -> str:
    """Return a ratio, and whether it is above 1 by more than three deviations of two such measurements."""
    return f"{ratio:.2f}" + (" worse" if ratio > exp(3 * sqrt(2) * OFF) else "")


def _asked() -> list[float]:
    """Return the epsilons among the arguments."""
    return [float(word) for word in sys.argv[1:] if word.replace(".", "", 1).isdigit()]


def main() -> None:
    if "memberships" in sys.argv[1:]:
        Console(width=130).print(by_weights())
        return
    values = np.minimum(TOP, np.random.default_rng(1).gamma(2, 95, PEOPLE).astype(int))
    wards = np.arange(PEOPLE) % WARDS
    frame = pd.DataFrame({"person": np.arange(PEOPLE), "x": values, "ward": wards})
    columns = {
        "x": {"type": "integer", "low": 0, "high": TOP, "nullable": False},
        "ward": {"type": "integer", "low": 0, "high": WARDS - 1},
    }
    truths = {
        "count": [float((values >= ABOVE).sum())],
        "sum": [float(values.sum())],
        "avg": [float(values.mean())],
        "variance": [float(values.var())],
        "median": [float(np.median(values))],
        "quantile": [float(np.quantile(values, 0.9))],
        "distinct": [float(np.unique(values).size)],
        "histogram": [float((wards == ward).sum()) for ward in range(WARDS)],
        "group mean": [float(values[wards == ward].mean()) for ward in range(WARDS)],
    }
    heads = ("epsilon", "question", "discreet", "with delta", *PEERS, "ratio")
    grid = Grid(*heads, title=f"Errors, each known to about {OFF:.0%}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.json"
        path.write_text(json.dumps(values.tolist()))
        for epsilon in _asked() or (0.1, 1.0, 3.0):
            opened = {"people": frame, "unit": "person", "rows_per_unit": 1, "columns": columns}
            with dp.open(**opened, epsilon=epsilon) as data:
                pure = errors(data, truths, epsilon)
            with dp.open(**opened, epsilon=epsilon, delta=DELTA) as data:
                relaxed = errors(data, truths, epsilon)
            given = (str(path), "0", str(TOP), str(ABOVE), str(epsilon), str(RUNS))
            peers = ask("accuracy", *given)
            peers |= ask("smartnoise_accuracy", *given, environment=".venv-smartnoise")
            peers |= ask("pipelinedp_accuracy", *given, timeout=2400)
            for name in QUESTIONS:
                others = [peer[name] for peer in peers.values() if name in peer]
                every = [peers.get(peer, {}).get(name) for peer in PEERS]
                shown = ["-" if error is None else f"{error:.3g}" for error in every]
                ratio = _judged(relaxed[name] / min(others)) if others else "-"
                grid.add_row(str(epsilon), name, f"{pure[name]:.3g}", f"{relaxed[name]:.3g}", *shown, ratio)
            found, all_keys = keys(epsilon)
            counted = [peers.get(peer, {}).get("keys") for peer in PEERS]
            shown = ["-" if number is None else f"{number:.1f}" for number in counted]
            ratio = f"{max(number for number in counted if number) / found:.2f}" if any(counted) else "-"
            grid.add_row(str(epsilon), "keys", "-", f"{found:.1f} of {all_keys}", *shown, ratio)
    Console(width=110).print(grid)
    Console(width=130).print(by_weights())


if __name__ == "__main__":
    main()
