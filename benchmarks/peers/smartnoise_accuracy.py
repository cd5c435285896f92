"""How far off SmartNoise-SQL is on ordinary questions: roots of mean squared errors, as JSON.

Arguments as in `accuracy.py`.  It charges epsilon for every column that it measures, and an average or a
variance measures two or three of them, so those are asked at that part of epsilon.  The exact aggregates are
found once and given to it as often as it draws: each row that it is given has noise of its own.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from snsql import Privacy, from_df

WARDS = 5
"""Row n is in ward n modulo this."""


def main() -> None:
    warnings.simplefilter("ignore")
    path, low, high, above, epsilon, runs = sys.argv[1:]
    values = np.array(json.loads(Path(path).read_text()), dtype=int)
    wards = np.arange(values.size) % WARDS
    frame = pd.DataFrame({"person": np.arange(values.size), "x": values, "ward": wards})
    metadata = {
        "": {
            "main": {
                "people": {
                    "max_ids": 1,
                    "censor_dims": False,
                    "clamp_counts": False,
                    "person": {"type": "int", "private_id": True},
                    "x": {"type": "int", "lower": int(low), "upper": int(high)},
                    "ward": {"type": "int"},
                }
            }
        }
    }
    asked = {
        "count": (
            f"SELECT COUNT(*) FROM main.people WHERE x >= {above}",
            1,
            [float((values >= int(above)).sum())],
        ),
        "sum": ("SELECT SUM(x) FROM main.people", 1, [float(values.sum())]),
        "avg": ("SELECT AVG(x) FROM main.people", 2, [float(values.mean())]),
        "variance": ("SELECT VAR(x) FROM main.people", 3, [float(values.var())]),
        "histogram": (
            "SELECT ward, COUNT(*) FROM main.people GROUP BY ward",
            1,
            [float((wards == ward).sum()) for ward in range(WARDS)],
        ),
        "group mean": (
            "SELECT ward, AVG(x) FROM main.people GROUP BY ward",
            2,
            [float(values[wards == ward].mean()) for ward in range(WARDS)],
        ),
    }
    found = {}
    for name, (text, parts, truths) in asked.items():
        squares = []
        privacy = Privacy(epsilon=float(epsilon) / parts, delta=1e-5)
        reader = from_df(frame, privacy=privacy, metadata=metadata)
        try:
            inner, _ = reader._rewrite(text)
            head, *exact = reader._get_reader(inner)._execute_ast(inner)
            rows = reader.execute(text, pre_aggregated=[head, *exact * int(runs)])[1:]
        except ValueError:
            continue  # it refuses noise that it thinks too large, such as that of squares
        for row in rows:
            place = int(row[0]) if len(row) > 1 else 0
            squares.append((float(row[-1] or 0) - truths[place]) ** 2)
        assert len(squares) == int(runs) * len(truths)
        found[name] = float(np.sqrt(np.mean(squares)))
    print(json.dumps({"SmartNoise": found}))


main()
