"""The same questions in each engine, as multiples of that engine's own plain GROUP BY.

Ten million rows of one million people in fifty groups; ROWS=1000000 in the environment takes fewer.  DuckDB
reads a file of its own, PostgreSQL a table of a server started from a wheel, Spark a folder of Parquet files
with all cores of this machine.  Times are medians of the question alone, with parsing, pricing, proof and
noise.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.query import GROUPS, generate, timed

ROWS = int(os.environ.get("ROWS", "10000000"))
PLAIN = "SELECT k, count(*), sum(x), avg(x) FROM v GROUP BY k"
VALUES = {"type": "text", "values": [f"g{number:02d}" for number in range(GROUPS)]}
NUMBERS = {"x": {"type": "integer", "low": 0, "high": 5000, "nullable": False}}
LIMITS = {"unit": "u", "rows_per_unit": 8}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "COUNT, SUM, AVG by group": ({"k": VALUES}, "SELECT k, COUNT(*), SUM(x), AVG(x) FROM v GROUP BY k"),
    "people by group": ({"k": VALUES}, "SELECT k, COUNT(DISTINCT u) FROM v GROUP BY k"),
    "keys found in the data": ({"k": "text"}, "SELECT k, COUNT(*) FROM v GROUP BY k"),
    "median by group": ({"k": VALUES}, "SELECT k, MEDIAN(x) FROM v GROUP BY k"),
}


def load(path: Path, url: str) -> None:
    """Copy the rows into a server."""
    import duckdb
    import psycopg

    with duckdb.connect(str(path), read_only=True) as source, psycopg.connect(url) as database:
        database.execute("CREATE TABLE v (u bigint, k text, x bigint)")
        found = source.execute("SELECT u || chr(9) || k || chr(9) || x || chr(10) FROM v")
        with database.cursor().copy("COPY v FROM STDIN") as copy:
            while lines := found.fetchmany(100_000):
                copy.write("".join(line for (line,) in lines))
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("VACUUM ANALYZE v")


def export(path: Path, folder: Path) -> None:
    """Write the rows as a folder of Parquet files."""
    import duckdb

    with duckdb.connect(str(path), read_only=True) as source:
        source.execute(f"COPY v TO '{folder}' (FORMAT parquet, PER_THREAD_OUTPUT true)")


def plain_spark(folder: Path) -> Callable[[], object]:
    """Return the plain question in Spark."""
    from discreet.engines.spark.session import begun

    session = begun("")

    def run() -> object:
        session.read.parquet(str(folder)).createOrReplaceTempView("v")
        return session.sql(PLAIN).collect()

    return run


def private(source: str, name: str) -> Callable[[], object]:
    """Return one private answer, from the text of the question to its noise."""
    from discreet.engines.opening import open_engine
    from discreet.engines.protocol import Origin
    from discreet.query.catalog.manifest import declare
    from discreet.query.check.question import check
    from discreet.query.language.sql import read
    from discreet.query.price.proving import proof_of
    from discreet.query.price.quote import quote
    from discreet.release.noisy import draw

    keys, question = CASES[name]
    catalog = declare({"tables": {"v": {"columns": keys | NUMBERS, **LIMITS, "groups_per_unit": 4}}})
    engine = open_engine({"v": Origin(source, catalog.tables[0].offered)})

    def run() -> object:
        priced = quote(check(read(question), catalog), epsilon=1, delta="1e-6")
        return draw(priced, engine.run(proof_of(priced, catalog).statements, 11))

    return run


def main() -> None:
    import duckdb
    import psycopg
    from tests.ledger.world import Server

    console = Console(width=130)
    engines = ("DuckDB", "PostgreSQL", "Spark")
    heads = (head for name in engines for head in (f"{name}, s", "times plain"))
    grid = Grid("question", *heads, title=f"{ROWS:,} rows")
    with tempfile.TemporaryDirectory() as folder:
        path, lake, server = Path(folder) / "v.duckdb", Path(folder) / "lake", Server()
        try:
            generate(path, ROWS, max(ROWS // 10, 1))
            begun = perf_counter()
            load(path, server.url())
            console.print(f"loaded into PostgreSQL in {perf_counter() - begun:.0f} s")
            export(path, lake)
            sources = (f"{path}#v", f"{server.address}#public.v", f"spark:{lake}")
            with (
                duckdb.connect(str(path), read_only=True, config={"threads": 2}) as file,
                psycopg.connect(server.url()) as database,
            ):
                asked = (lambda: file.execute(PLAIN).fetchall(), lambda: database.execute(PLAIN).fetchall())
                plain = [timed(work, 3) for work in (*asked, plain_spark(lake))]
            grid.add_row(
                "plain GROUP BY, no privacy", *(cell for one in plain for cell in (f"{one:.3f}", ""))
            )
            for name in CASES:
                found = [timed(private(source, name), 3) for source in sources]
                pairs = zip(found, plain, strict=True)
                grid.add_row(
                    name, *(cell for one, own in pairs for cell in (f"{one:.3f}", f"{one / own:.1f}"))
                )
        finally:
            server.close()
    console.print(grid)
