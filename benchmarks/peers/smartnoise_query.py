"""SmartNoise-SQL on the same table and question; runs in the peers' environment and prints JSON."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main():
    import pandas
    from snsql import Privacy, from_df

    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True);"
        " c.execute(f\"COPY v TO '{sys.argv[2]}' (FORMAT parquet)\")"
    )
    python = Path(__file__).parent.parent.parent / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(python), "-c", code, sys.argv[1], f"{folder}/v.parquet"], check=True)
        frame = pandas.read_parquet(f"{folder}/v.parquet")
    metadata = {
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
    start = time.perf_counter()
    reader = from_df(frame, privacy=Privacy(epsilon=1.0, delta=1e-6), metadata=metadata)
    rows = reader.execute("SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM main.v GROUP BY k")
    assert len(rows) == int(sys.argv[2]) + 1
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"SmartNoise-SQL, person level": {"seconds": seconds, "memory": peak}}))


if __name__ == "__main__":
    main()
