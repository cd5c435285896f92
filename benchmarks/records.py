"""Marginals and made-up records of the Adult census against MST and AIM, at the same promise.

Run with `python -m benchmarks.records [runs]`; AIM, which takes many minutes, is run once.
DISCREET_BENCHMARK_DATA names the folder with adult.csv and adult-domain.json.  An error is the mean over
tables of the sum of |differences| of all shares.
"""

import json
import os
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peers.aim import aim
from benchmarks.peers.mst import mst
from discreet.privacy.filter import ApproximateBudget
from discreet.privacy.guarantee import Concentrated
from discreet.workload import (
    Expansion,
    GroupedTables,
    KnownTables,
    Marginals,
    ShrunkTables,
    answer_marginals,
    draw_records,
    groups_of,
    measure_marginals,
    plan_marginals,
    tabulate,
)

DATA = Path(os.environ.get("DISCREET_BENCHMARK_DATA", "data"))
FIRST = Fraction(3, 10)
TRIPLES = 60


def measured(records, sizes, sets, rho) -> KnownTables:
    plan = plan_marginals(Marginals(sizes, tuple(sets)), Concentrated(rho))
    return KnownTables.of(answer_marginals(measure_marginals(plan, tabulate(records, sizes, plan.needs))))


def off(made, records, sizes, sets) -> float:
    """Return how far records are off on average."""
    found = []
    for chosen in sets:
        one, other = (tabulate(rows, sizes, [chosen])[chosen] / len(rows) for rows in (made, records))
        found.append(float(np.abs(one - other).sum()))
    return float(np.mean(found))


def ours(records, sizes, pairs, singles, rho, expansion):
    alone = measured(records, sizes, singles, rho * FIRST)
    counts = ShrunkTables(alone)
    groups = [groups_of(counts.table(one)) for one in singles]
    coded = np.column_stack(
        [np.searchsorted(starts, records[:, i], side="right") - 1 for i, starts in enumerate(groups)]
    )
    together = measured(coded, tuple(map(len, groups)), (*pairs, *singles), rho * (1 - FIRST))
    tables = GroupedTables.of(together, groups, alone)
    return draw_records(tables, round(tables.total), expansion)


def main() -> None:
    given = sys.argv[-1]
    runs = int(given) if given.isdigit() else 3
    if not (DATA / "adult.csv").exists():
        print("adult.csv: not installed (set DISCREET_BENCHMARK_DATA)")
        return
    sizes = tuple(json.loads((DATA / "adult-domain.json").read_text()).values())
    records = np.loadtxt(DATA / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    columns = range(len(sizes))
    pairs, singles = tuple(combinations(columns, 2)), tuple((i,) for i in columns)
    triples = list(combinations(columns, 3))
    triples = [triples[k] for k in np.random.default_rng(5).choice(len(triples), TRIPLES, replace=False)]
    rho = ApproximateBudget(1, "1e-9", slack=0).rho
    rng, expansion = np.random.default_rng(1), Expansion(bytes(32))
    grid = Table(title="Adult at (1, 1e-9): mean L1 / N", title_justify="left")
    for head in ("", "two columns", "three columns", "CPU s"):
        grid.add_column(head, justify="left" if not head else "right")
    known = [measured(records, sizes, (*pairs, *singles), rho) for _ in range(runs)]
    for name, kind in (("released tables", lambda one: one), ("the same, shrunk", ShrunkTables)):
        began = process_time()
        exact = tabulate(records, sizes, pairs)
        errors = [
            np.abs(kind(one).table(pair) - exact[pair]).sum() / len(records)
            for one in known
            for pair in pairs
        ]
        grid.add_row(name, f"{np.mean(errors):.3f}", "", f"{(process_time() - began) / runs:.1f}")
    makers = {
        "made-up records": lambda: ours(records, sizes, pairs, singles, rho, expansion),
        "MST": lambda: mst(records, sizes, float(rho), rng),
        "AIM": lambda: aim(records, sizes, float(rho), rng),
    }
    for name, make in makers.items():
        began = process_time()
        made = [make() for _ in range(1 if name == "AIM" else runs)]
        took = (process_time() - began) / len(made)
        two, three = (np.mean([off(one, records, sizes, sets) for one in made]) for sets in (pairs, triples))
        grid.add_row(name, f"{two:.3f}", f"{three:.3f}", f"{took:.1f}")
    Console(width=100).print(grid)


if __name__ == "__main__":
    main()
