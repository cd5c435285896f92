"""Tumult Analytics on the same table and question; runs in an environment of its own and prints JSON.

It counts and adds up in two queries, since each of its queries releases one aggregate.
"""

import json
import os
import sys
import tempfile
import time

from opendp_query import export


def measure(rows, groups):
    from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

    keys = KeySet.from_dict({"k": [f"g{number:02d}" for number in range(groups)]})
    start = time.perf_counter()
    session = Session.from_dataframe(PureDPBudget(1), "v", rows, protected_change=AddRowsWithID("u"))
    limited = QueryBuilder("v").enforce(MaxRowsPerID(8)).groupby(keys)
    for query in (limited.count(), limited.sum("x", 0, 5000)):
        assert len(session.evaluate(query, PureDPBudget(0.5)).collect()) == groups
    return time.perf_counter() - start


def main():
    from importlib.metadata import version

    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/v.parquet"
        export(sys.argv[1], path)
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "4g",
            # As many as can run, which is how Spark is set for us too.
            "spark.sql.shuffle.partitions": str(os.cpu_count()),
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
        }
        spark = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
        rows = spark.read.parquet(path).select("u", "k", "x")
        seconds = min(measure(rows, int(sys.argv[2])) for _ in range(2))
        spark.stop()
    print(json.dumps({f"Tumult Analytics {version('tmlt.analytics')}, person level": {"seconds": seconds}}))


if __name__ == "__main__":
    main()
