"""Private answers over ten million rows: how much slower than plain DuckDB, and than other libraries.

One million people, fifty groups, COUNT, SUM and AVG by group, from an Arrow table in memory and from a DuckDB
file (whose dictionary compression makes the plain question several times faster, and the ratio larger), with
the rows of people scattered over it, or beside each other.
Every case runs in a process of its own, so that its memory can be told; times are medians of the question
alone, with parsing, pricing and noise (opening is shown apart).
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.peer import ask

ROWS, PEOPLE, GROUPS = 10_000_000, 1_000_000, 50
QUESTION = "SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM v GROUP BY k"
HEADS = "SELECT k, COUNT(DISTINCT u) AS p FROM v GROUP BY k"
COLUMNS = {"k": {"type": "text"}, "x": {"type": "integer", "low": 0, "high": 5000, "nullable": False}}
KEYS = {**COLUMNS, "k": {"type": "text", "values": [f"g{number:02d}" for number in range(GROUPS)]}}
LIMITS = {"unit": "u", "rows_per_unit": 8}
READY = {**LIMITS, "prepared": True}
PEERS = {"opendp_query": ".venv-peers", "smartnoise_query": ".venv-smartnoise"}

CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "rows are people": ("row", {"columns": KEYS}, QUESTION),
    "rows_per_unit": ("person", {"columns": KEYS, **LIMITS}, QUESTION),
    "rows_per_unit, groups_per_unit": ("person", {"columns": KEYS, **LIMITS, "groups_per_unit": 4}, QUESTION),
    "  ... people are sparse integers": ("person", {"columns": KEYS, **LIMITS, "unit": "s"}, QUESTION),
    "  ... people are texts": ("person", {"columns": KEYS, **LIMITS, "unit": "t"}, QUESTION),
    "  ... people per group": ("person", {"columns": KEYS, **LIMITS, "groups_per_unit": 4}, HEADS),
    "  ... rows_per_group": (
        "person",
        {"columns": KEYS, **LIMITS, "groups_per_unit": 4, "rows_per_group": 2},
        QUESTION,
    ),
    "  ... keys found in the data": (
        "person",
        {"columns": COLUMNS, **LIMITS, "groups_per_unit": 4},
        QUESTION,
    ),
    "prepared": ("prepared", {"columns": KEYS, **READY}, QUESTION),
    "prepared, people are texts": ("prepared", {"columns": KEYS, **READY, "unit": "t"}, QUESTION),
    "prepared, people per group": ("prepared", {"columns": KEYS, **READY, "groups_per_unit": 4}, HEADS),
    "prepared, rows_per_group": (
        "prepared",
        {"columns": KEYS, **READY, "groups_per_unit": 4, "rows_per_group": 2},
        QUESTION,
    ),
    "prepared, keys found in the data": (
        "prepared",
        {"columns": COLUMNS, **READY, "groups_per_unit": 4},
        QUESTION,
    ),
}


def generate(path: Path, rows: int = ROWS, people: int = PEOPLE) -> None:
    """Write the table: people and groups are scattered over the rows.

    People are numbered densely (`u`), by integers of 63 bits (`s`) and by texts (`t`).
    """
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE v AS SELECT CAST(hash(range * 7 + 1) % {people} AS BIGINT) AS u, "
            f"'g' || lpad(CAST((hash(range) // 1000) % {GROUPS} AS VARCHAR), 2, '0') AS k, "
            f"CAST((hash(range * 3) // 77) % 5000 AS BIGINT) AS x, CAST(hash(u * 5) // 2 AS BIGINT) AS s, "
            f"'person-' || lpad(CAST(u * 7919 % {people} AS VARCHAR), 9, '0') AS t FROM range({rows})"
        )


def order(path: Path) -> Path:
    """Write the same table with the rows of each person beside each other."""
    import duckdb

    beside = path.with_suffix(".ordered.duckdb")
    with duckdb.connect(str(beside)) as connection:
        connection.execute(f"ATTACH '{path}' AS scattered (READ_ONLY)")
        connection.execute("CREATE TABLE v AS SELECT * FROM scattered.v ORDER BY u")
    return beside


def timed(run: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = perf_counter) -> float:
    """Return the median seconds of a run, after one to warm up."""
    run()
    seconds = []
    for _ in range(repeats):
        start = clock()
        run()
        seconds.append(clock() - start)
    return median(seconds)


def memory() -> float:
    """Return the peak memory of this process in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def frame(path: Path, unit: str = "u") -> Any:
    """Return the table as Arrow, with one of the columns that tell the person."""
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.sql(f"SELECT {unit}, k, x FROM v").to_arrow_table()


def plain(path: Path, storage: str) -> dict[str, float]:
    import duckdb

    if storage == "frame":
        connection = duckdb.connect(config={"threads": 2})
        connection.register("v", frame(path))
    else:
        connection = duckdb.connect(str(path), read_only=True, config={"threads": 2})
    seconds = timed(lambda: connection.execute(QUESTION).fetchall())
    connection.close()
    return {"seconds": seconds, "memory": memory()}


def private(path: Path, storage: str, name: str) -> dict[str, float]:
    """Time the exact integers, the noise and the post-processing of one question."""
    from discreet.engines.duckdb.engine import open_tables, prepare
    from discreet.engines.duckdb.render import render
    from discreet.engines.exact import EngineRequest
    from discreet.engines.protocol import Origin, Preparation
    from discreet.query.catalog.manifest import declare
    from discreet.query.check.question import check
    from discreet.query.language.sql import read
    from discreet.query.price.proving import preparation
    from discreet.query.price.quote import quote
    from discreet.query.rewrite.integers import statements
    from discreet.release.noisy import draw

    kind, table, question = CASES[name]
    catalog = declare({"tables": {"v": table}})
    offered = catalog.tables[0].offered
    source = frame(path, table.get("unit", "u")) if storage == "frame" else f"{path}#v"
    opening = perf_counter()
    if kind == "prepared":
        target = path.with_suffix(".prepared.duckdb")
        unit = catalog.tables[0].unit
        prepare(Preparation("v", Origin(source, offered), preparation(catalog.tables[0]), unit, 7), target)
        source = f"{target}#v"
    with open_tables({"v": Origin(source, offered)}, threads=2) as engine:
        opened = perf_counter() - opening

        def run() -> object:
            checked = check(read(question), catalog)
            priced = quote(checked, epsilon=1, delta="1e-6")
            requests = [EngineRequest(render(s), s.keys, s.outputs, s.cells) for s in statements(checked)]
            return draw(priced, engine._exact(requests, 11))

        seconds = timed(run, 3 if kind == "person" else 5)
    return {"seconds": seconds, "opening": opened, "memory": memory()}


def small() -> float:
    """Return the seconds of processor time of a whole private answer on a thousand rows."""
    import pandas

    import discreet as dp

    frame = pandas.DataFrame(
        {"u": [n % 200 for n in range(1000)], "k": [f"g{n % 5:02d}" for n in range(1000)], "x": range(1000)}
    )
    with tempfile.TemporaryDirectory() as folder:
        data = dp.open(v=frame, columns=KEYS, **LIMITS, epsilon=1000, ledger=str(Path(folder) / "v.ledger"))
        turns = iter(range(1, 1000))
        return timed(
            lambda: data.query(
                f"SELECT k, COUNT(*) FROM v WHERE x < {next(turns)} GROUP BY k", epsilon="0.1"
            ),
            20,
            process_time,
        )


QUESTIONS = (
    QUESTION,
    HEADS,
    "SELECT COUNT(*) FROM v WHERE x > 30",
    "SELECT k, MEDIAN(x) FROM v GROUP BY k",
    "SELECT k, COUNT(DISTINCT x) FROM v GROUP BY k",
    "SELECT AVG(n) FROM (SELECT u, COUNT(*) AS n FROM v GROUP BY u)",
    "SELECT HISTOGRAM(x, 10) FROM v",
)


def proving() -> dict[str, float]:
    """Return the seconds of processor time that the checker takes for each of a few typical questions."""
    from discreet.query.catalog.manifest import declare
    from discreet.query.check.question import check
    from discreet.query.language.sql import read
    from discreet.query.price.proving import proof_of
    from discreet.query.price.quote import quote

    found = {}
    for limits in ({}, {"groups_per_unit": 4}, {"groups_per_unit": 4, "rows_per_group": 2}):
        catalog = declare({"tables": {"v": {"columns": KEYS, **LIMITS, **limits}}})
        for question in QUESTIONS:
            priced = quote(check(read(question), catalog), epsilon=1)
            proof_of(priced, catalog)
            begun = process_time()
            for _ in range(20):
                proof_of(priced, catalog)
            found[f"{question} {limits}"] = (process_time() - begun) / 20
    return found


def apart(*arguments: str) -> dict[str, float]:
    """Run one case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.query", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    if len(sys.argv) == 5 and sys.argv[1] == "--case":
        path, storage, name = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
        print(json.dumps(plain(path, storage) if name == "plain" else private(path, storage, name)))
        return
    console = Console()
    grid = Grid(title=f"{ROWS:,} rows, {PEOPLE:,} people, {GROUPS} groups: COUNT, SUM, AVG by group")
    for heading in ("", "seconds", "x plain", "peak GB", "open s"):
        grid.add_column(heading, justify="left" if not heading else "right")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.duckdb"
        generate(path)
        stored = (
            ("Arrow table", path, "frame"),
            ("DuckDB file, rows of a person beside each other", order(path), "file"),
            # The last one is what other libraries are compared with: they read this file.
            ("DuckDB file", path, "file"),
        )
        for title, place, storage in stored:
            base = apart("--case", str(place), storage, "plain")
            grid.add_row(
                f"{title}: plain DuckDB", f"{base['seconds']:.3f}", "1.0", f"{base['memory']:.2f}", ""
            )
            for name in CASES:
                found = apart("--case", str(place), storage, name)
                grid.add_row(
                    f"{title}: discreet, {name}",
                    f"{found['seconds']:.3f}",
                    f"{found['seconds'] / base['seconds']:.1f}",
                    f"{found['memory']:.2f}",
                    f"{found['opening']:.2f}",
                )
            grid.add_section()
        for peer, environment in PEERS.items():
            answers = ask(peer, str(path), str(GROUPS), timeout=1800, environment=environment)
            if not answers:
                grid.add_row(peer.removesuffix("_query"), "not installed", "", "", "")
            for label, found in answers.items():
                whole = found.get("rows", ROWS) == ROWS
                grid.add_row(
                    label,
                    f"{found['seconds']:.3f}",
                    f"{found['seconds'] / base['seconds']:.1f}" if whole else "",
                    f"{found['memory']:.2f}",
                    f"{found['opening']:.2f}" if "opening" in found else "",
                )
    console.print(grid)
    console.print(f"a whole answer on 1,000 rows, ledger included: {small() * 1000:.1f} ms of processor time")
    checker = sorted(proving().values())
    console.print(
        f"proving a question again: {checker[len(checker) // 2] * 1000:.2f} ms (median of "
        f"{len(checker)} kinds), {checker[-1] * 1000:.2f} ms at most"
    )


if __name__ == "__main__":
    main()
