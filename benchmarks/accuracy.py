"""Ordinary questions at the same promise: how far off discreet is, and how far off other libraries are.

A thousand people with one number each between 0 and 2000, add-remove, one question at the whole budget: roots
of mean squared errors over many draws.  A budget with delta promises less than a pure one, so nobody should
be worse under it than at pure epsilon; the last column is discreet under delta against the best of others.
"""

import json
import tempfile
from math import sqrt
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
}


def errors(data: Session, truths: dict[str, float], epsilon: float) -> dict[str, float]:
    """Return the root of the mean squared error of every question, priced as one that spends epsilon."""
    found = {}
    for name, text in QUESTIONS.items():
        priced = data.quote(text, epsilon=epsilon)
        exact = data.engine.run(proved(priced), 1)
        total = 0.0
        for _ in range(RUNS):
            (row,) = released_rows(priced, draw(priced, exact))
            total += (float(row.cells[0] or 0) - truths[name]) ** 2  # type: ignore[arg-type]
        found[name] = sqrt(total / RUNS)
    return found


def main() -> None:
    values = np.minimum(TOP, np.random.default_rng(1).gamma(2, 95, PEOPLE).astype(int))
    frame = pd.DataFrame({"person": np.arange(PEOPLE), "x": values})
    columns = {"x": {"type": "integer", "low": 0, "high": TOP, "nullable": False}}
    truths = {
        "count": float((values >= ABOVE).sum()),
        "sum": float(values.sum()),
        "avg": float(values.mean()),
        "variance": float(values.var()),
        "median": float(np.median(values)),
    }
    heads = ("epsilon", "question", "discreet", "with delta", "diffprivlib", "OpenDP", "ratio")
    grid = Grid(*heads, title="Errors")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.json"
        path.write_text(json.dumps(values.tolist()))
        for epsilon in (0.1, 1.0, 3.0):
            opened = {"people": frame, "unit": "person", "rows_per_unit": 1, "columns": columns}
            with dp.open(**opened, epsilon=epsilon) as data:
                pure = errors(data, truths, epsilon)
            with dp.open(**opened, epsilon=epsilon, delta=DELTA) as data:
                relaxed = errors(data, truths, epsilon)
            peers = ask("accuracy", str(path), "0", str(TOP), str(ABOVE), str(epsilon), str(RUNS))
            for name in QUESTIONS:
                others = [peer[name] for peer in peers.values() if name in peer]
                every = [peers.get(peer, {}).get(name) for peer in ("diffprivlib", "OpenDP")]
                shown = ["-" if error is None else f"{error:.3g}" for error in every]
                ratio = f"{relaxed[name] / min(others):.2f}" if others else "-"
                grid.add_row(str(epsilon), name, f"{pure[name]:.3g}", f"{relaxed[name]:.3g}", *shown, ratio)
    Console(width=110).print(grid)


if __name__ == "__main__":
    main()
