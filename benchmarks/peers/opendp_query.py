"""OpenDP's Polars path on the same table and question; runs in the peers' environment and prints JSON."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def export(database, target):
    """Copy the table to Parquet with whatever can read DuckDB here: the caller's interpreter has it."""
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True);"
        " c.execute(f\"COPY v TO '{sys.argv[2]}' (FORMAT parquet)\")"
    )
    python = Path(__file__).parent.parent.parent / ".venv" / "bin" / "python"
    subprocess.run([str(python), "-c", code, database, target], check=True)


def measure(path, groups, person):
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    margin = [dp.polars.Margin(by=[], max_length=20_000_000, max_groups=groups)]
    keys = pl.LazyFrame({"k": [f"g{number:02d}" for number in range(groups)]})
    unit = dp.unit_of(contributions=1, identifier=pl.col("u")) if person else dp.unit_of(contributions=1)
    start = time.perf_counter()
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=margin,
    )
    query = context.query()
    if person:
        query = query.truncate_per_group(8)
    query = query.group_by("k").agg(dp.len(), pl.col("x").fill_null(0).dp.sum((0, 5000))).with_keys(keys)
    table = query.release().collect()
    assert table.height == groups
    return time.perf_counter() - start


def main():
    if len(sys.argv) == 5:
        _, path, groups, _, person = sys.argv
        seconds = min(measure(path, int(groups), person == "person") for _ in range(2))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"seconds": seconds, "memory": peak}))
        return
    from importlib.metadata import version

    import opendp  # noqa: F401 - absent peers end here

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/v.parquet"
        export(sys.argv[1], path)
        for label in ("row", "person"):
            command = [sys.executable, __file__, path, sys.argv[2], "--case", label]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                found[f"OpenDP {version('opendp')}, {label} level"] = json.loads(
                    done.stdout.strip().splitlines()[-1]
                )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
