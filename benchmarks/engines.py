"""The same questions in each engine, as multiples of that engine's own plain GROUP BY.

Ten million rows of one million people in fifty groups; ROWS=1000000 in the environment takes fewer, and
ENGINES="DuckDB Spark" only these.  DuckDB reads a file of its own, PostgreSQL a table of a server started
from a wheel, Spark a folder of Parquet files with all cores of this machine.  Times are medians of the
question alone, with parsing, pricing, proof and noise.  Each question is asked of the table as it is, and of
its copy that was bounded once (`prepared = true`), which takes a time of its own.  OpenDP counts and adds up
the same rows by itself, and so does Tumult Analytics in a Spark of its own.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.peer import ask
from benchmarks.query import GROUPS, generate, timed

ENGINES = os.environ.get("ENGINES", "DuckDB PostgreSQL Spark").split()
PEERS = {"opendp_query": ".venv-peers", "tumult_query": ".venv-tumult"}
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


def private(source: str, name: str, copies: Path | None = None) -> Callable[[], object]:
    """Return one private answer, from the text of the question to its noise.

    With a folder for `copies` it is about the bounded copy of the table, made unless it is there.
    """
    from discreet.engines.opening import open_engine, prepare
    from discreet.engines.protocol import Origin, Preparation
    from discreet.query.catalog.manifest import declare
    from discreet.query.check.question import check
    from discreet.query.language.sql import read
    from discreet.query.price.proving import preparation, proof_of
    from discreet.query.price.quote import quote
    from discreet.release.noisy import draw

    keys, question = CASES[name]
    limits = {**LIMITS, "groups_per_unit": 4, "prepared": copies is not None}
    catalog = declare({"tables": {"v": {"columns": keys | NUMBERS, **limits}}})
    (table,) = catalog.tables
    origin = Origin(source, table.offered)
    if copies is not None:
        origin = prepare(Preparation("v", origin, preparation(table), LIMITS["unit"], 7), "bench", copies)
    engine = open_engine({"v": origin})

    def run() -> object:
        priced = quote(check(read(question), catalog), epsilon=1, delta="1e-6")
        return draw(priced, engine.run(proof_of(priced, catalog).statements, 11))

    return run


def plain(name: str, path: Path, url: str, lake: Path) -> float:
    """Return the seconds of an engine's own GROUP BY."""
    import duckdb
    import psycopg

    match name:
        case "DuckDB":
            with duckdb.connect(str(path), read_only=True, config={"threads": 2}) as file:
                return timed(lambda: file.execute(PLAIN).fetchall(), 3)
        case "PostgreSQL":
            with psycopg.connect(url) as database:
                return timed(lambda: database.execute(PLAIN).fetchall(), 3)
        case _:
            return timed(plain_spark(lake), 3)


def measure(console: Console, path: Path, lake: Path, server: Any) -> Grid:
    """Return the table of all questions in all engines."""
    generate(path, ROWS, max(ROWS // 10, 1))
    if "PostgreSQL" in ENGINES:
        begun = perf_counter()
        load(path, server.url())
        console.print(f"loaded into PostgreSQL in {perf_counter() - begun:.0f} s")
    export(path, lake)
    sources = {"DuckDB": f"{path}#v", "PostgreSQL": f"{server.address}#public.v", "Spark": f"spark:{lake}"}
    own = {name: plain(name, path, server.url(), lake) for name in ENGINES}
    heads = (head for name in ENGINES for head in (f"{name}, s", "times plain"))
    grid = Grid("question", *heads, title=f"{ROWS:,} rows")
    grid.add_row("plain GROUP BY, no privacy", *(cell for one in own.values() for cell in (f"{one:.3f}", "")))
    for copies in (None, path.parent):
        for question in CASES:
            begun = perf_counter()
            asked = {name: private(sources[name], question, copies) for name in ENGINES}
            if copies is not None and question == next(iter(CASES)):
                console.print(f"bounded copies of all engines made in {perf_counter() - begun:.0f} s")
            found = {name: timed(run, 3) for name, run in asked.items()}
            pairs = ((f"{one:.3f}", f"{one / own[name]:.1f}") for name, one in found.items())
            says = f"{question}, prepared" if copies is not None else question
            grid.add_row(says, *(cell for pair in pairs for cell in pair))
        grid.add_section()
    return grid


def main() -> None:
    from tests.ledger.world import Server

    console = Console(width=130)
    with tempfile.TemporaryDirectory() as folder:
        path, server = Path(folder) / "v.duckdb", Server()
        try:
            console.print(measure(console, path, Path(folder) / "lake", server))
        finally:
            server.close()
        for script, environment in PEERS.items():
            peers = ask(script, str(path), str(GROUPS), timeout=1800, environment=environment)
            for label, found in peers.items():
                console.print(f"{label}: COUNT and SUM by group in {found['seconds']:.3f} s")
            if not peers:
                console.print(f"{script}: not installed")
