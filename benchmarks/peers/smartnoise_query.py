"""SmartNoise-SQL on the same table and question; runs in an environment of its own and prints JSON.

Its pandas reader copies the frame into SQLite when it is opened, which is timed apart from the question.  If
the whole table takes longer than a few minutes, a tenth of it is used, and the label says so.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUESTION = "SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM main.v GROUP BY k"
METADATA = {
    "": {
        "main": {
            "v": {
                "row_privacy": False,
                "max_ids": 8,
                "censor_dims": False,
                "u": {"type": "int", "private_id": True},
                "k": {"type": "string"},
                "x": {"type": "int", "lower": 0, "upper": 5000},
            }
        }
    }
}
PATIENCE = 180
"""Seconds that opening and asking may take together."""


def export(database, target):
    """Copy the table to Parquet with whatever can read DuckDB here: the caller's interpreter has it."""
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True);"
        " c.execute(f\"COPY v TO '{sys.argv[2]}' (FORMAT parquet)\")"
    )
    python = Path(__file__).parent.parent.parent / ".venv" / "bin" / "python"
    subprocess.run([str(python), "-c", code, database, target], check=True)


def measure(path, groups, part):
    import pandas
    from snsql import Privacy, from_df

    frame = pandas.read_parquet(path)
    frame = frame.head(len(frame) // part)
    start = time.perf_counter()
    reader = from_df(frame, privacy=Privacy(epsilon=1.0, delta=1e-6), metadata=METADATA)
    opened = time.perf_counter()
    answer = reader.execute(QUESTION)
    seconds = time.perf_counter() - opened
    assert len(answer) == groups + 1
    return {
        "rows": len(frame),
        "seconds": seconds,
        "opening": opened - start,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main():
    if len(sys.argv) == 5:
        _, path, groups, _, part = sys.argv
        print(json.dumps(measure(path, int(groups), int(part))))
        return
    from importlib.metadata import version

    import snsql  # noqa: F401 - an absent peer ends here

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/v.parquet"
        export(sys.argv[1], path)
        for part in (1, 10):
            command = [sys.executable, __file__, path, sys.argv[2], "--part", str(part)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
            except subprocess.TimeoutExpired:
                continue
            found = json.loads(done.stdout.strip().splitlines()[-1])
            label = f"SmartNoise-SQL {version('smartnoise-sql')}, person level"
            note = "" if part == 1 else f", {found['rows']:,} rows only"
            print(json.dumps({label + note: found}))
            return


if __name__ == "__main__":
    main()
