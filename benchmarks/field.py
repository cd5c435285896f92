"""Audits in the field: mechanisms that break in one way each, beside sound twins and a plain histogram.

Every row is audited several times with default settings but for the number of runs: claimed epsilon 1, one
false alarm in a million.  The plain histogram gets as many runs and the same confidence; it speaks only about
mechanisms that return one number.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from secrets import randbelow
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.peers import histogram
from discreet.audit import Dependent, Raised, audit
from discreet.audit import specimens as sp
from discreet.audit.runs import Box
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace

NOISE = Geometric.calibrate(epsilon=1)
FLAT, BENT = (0,) * 8, (*(1,) * 4, *(-1,) * 4)


@dataclass(frozen=True)
class Row:
    """A way to make a mechanism, its inputs, and what an audit ought to say."""

    name: str
    make: Callable[[], Any]
    expected: str
    runs: int = 100_000
    delta: str = "0"
    pair: tuple[Any, Any] = (0, 1)
    batched: bool = True


def remembered() -> Callable[[Any], int]:
    known: dict[Any, int] = {}
    return lambda x: known.setdefault(x, NOISE.sample(x))


def reused() -> Callable[[Any], int]:
    state = {"calls": 0, "noise": 0}

    def run(x: Any) -> int:
        if state["calls"] % 2 == 0:
            state["noise"] = int(NOISE.sample(0))
        state["calls"] += 1
        return int(x) + state["noise"]

    return run


def tiring() -> Callable[[Any], int]:
    """The noise is spent after five hundred calls."""
    calls: list[None] = []

    def run(x: Any) -> int:
        calls.append(None)
        return int(NOISE.sample(x)) if len(calls) <= 500 else int(x)

    return run


def every_hundredth() -> Callable[[Any], int]:
    """Every hundredth answer is exact."""
    calls: list[None] = []

    def run(x: Any) -> int:
        calls.append(None)
        return 10**6 + int(x) if len(calls) % 100 == 0 else int(NOISE.sample(x))

    return run


def raising() -> Callable[[Any], int]:
    return lambda x: int(NOISE.sample(x)) // (0 if randbelow(50) == 0 else 1)


def raising_on_one() -> Callable[[Any], int]:
    return lambda x: int(NOISE.sample(x)) // (0 if x and randbelow(50) == 0 else 1)


def slow(epsilon: str) -> Callable[[], Callable[[Any], int]]:
    noise = Geometric.calibrate(epsilon=epsilon)

    def run(x: Any) -> int:
        time.sleep(0.0005)
        return int(noise.sample(x))

    return lambda: run


def words(x: Any) -> str:
    return "many" if int(NOISE.sample(x)) > 0 else ("few" if not x or randbelow(20) else "exactly one")


far, missing = (lambda x: 1000.0 + x), (lambda x: np.nan if x else 0.5)
leak = sp.now_and_then
constant: Callable[[Any], Callable[[], Any]] = lambda value: lambda: value  # noqa: E731

ROWS = (
    Row(
        "Laplace, sound", constant(Laplace.calibrate(epsilon=1)), "consistent", pair=(0.0, 1.0), batched=False
    ),
    Row("scale 10 % short", constant(Geometric.calibrate(epsilon="1.1")), "violated", batched=False),
    Row("scale half", constant(Geometric.calibrate(epsilon=2)), "violated", 2_000, batched=False),
    Row("leak 1e-2", constant(leak("0.01", far)), "violated"),
    Row("leak 1e-3", constant(leak("0.001", far)), "violated"),
    Row("leak 1e-2, delta 1e-3", constant(leak("0.01", far)), "violated", delta="1e-3"),
    Row("leak 1e-3, delta 1e-4", constant(leak("0.001", far)), "violated", delta="1e-4"),
    Row("leak 1e-3, within delta", constant(leak("0.001", far)), "consistent", delta="1e-3"),
    Row("leak of NaN 1e-2", constant(leak("0.01", missing)), "violated"),
    Row("leak of NaN 1e-3", constant(leak("0.001", missing)), "violated"),
    Row("float bits", constant(sp.float_laplace(1)), "violated", 5_000, pair=(0.0, 1.0)),
    Row(
        "one noise for three counts",
        constant(sp.broadcast_histogram(1)),
        "violated",
        2_000,
        pair=((3, 1, 4), (3, 2, 4)),
    ),
    Row("three counts, sound", constant(sp.histogram(1)), "consistent", 20_000, pair=((3, 1, 4), (3, 2, 4))),
    Row("sparse vector 1, sound", constant(sp.sparse_vector(1, 1.0)), "consistent", pair=(FLAT, BENT)),
    Row("sparse vector 3, broken", constant(sp.sparse_vector(3, 1.0)), "violated", pair=(FLAT, BENT)),
    Row("sparse vector 5, broken", constant(sp.sparse_vector(5, 1.0)), "violated", 5_000, pair=(FLAT, BENT)),
    Row("sparse vector 6, broken", constant(sp.sparse_vector(6, 1.0)), "violated", pair=(FLAT, BENT)),
    Row("text, leaking", constant(words), "violated", 20_000, batched=False),
    Row("answers remembered", remembered, "dependent", 5_000, batched=False),
    Row("noise reused on the next call", reused, "dependent", 5_000, batched=False),
    Row("noise spent after 500 calls", tiring, "dependent", 5_000, batched=False),
    Row("every hundredth answer exact", every_hundredth, "violated", 20_000, batched=False),
    Row("raising now and then", raising, "raised", 5_000, batched=False),
    Row("raising on one input", raising_on_one, "raised", 20_000, batched=False),
    Row("slow, sound", slow("1"), "consistent", 1_000, batched=False),
    Row("slow, three times too loud", slow("3"), "violated", 1_000, batched=False),
)


def said(row: Row, subject: Any) -> str:
    """Return what an audit says, in one word."""
    verdict = audit(subject, *row.pair, epsilon=1, delta=row.delta, runs=row.runs, batched=row.batched)
    match verdict:
        case Raised():
            return "raised"
        case Dependent():
            return "dependent"
        case _:
            return "violated" if verdict.violated else "consistent"


def plainly(row: Row, subject: Any) -> str:
    """Return what the plain histogram says on as many runs of its own."""
    try:
        run = partial(Box.of(subject, batched=row.batched).many, count=row.runs)
        sides = [np.asarray(run(value), dtype=np.float64) for value in row.pair]
    except (TypeError, ValueError):
        return ""
    if sides[0].ndim != 1:
        return ""
    return "violated" if histogram.lower_bound(*sides, 1e-6, float(row.delta)) > 1 else "consistent"


def lines(repeats: int, *chosen: str) -> Iterator[list[str]]:
    """Yield one line per mechanism."""
    for row in (row for row in ROWS if not chosen or row.name in chosen):
        start = time.perf_counter()
        ours = [said(row, row.make()) for _ in range(repeats)]
        seconds = (time.perf_counter() - start) / repeats
        plain = [plainly(row, row.make()) for _ in range(repeats)]
        right = sum(word == row.expected for word in ours)
        false = sum(word == "violated" for word in ours) if row.expected in ("consistent", "dependent") else 0
        found = plain.count("violated") if plain[0] else None
        yield [
            row.name,
            row.expected,
            f"{right} of {repeats}",
            str(false),
            "" if found is None else f"{found} of {repeats}",
            f"{row.runs:,}",
            f"{seconds:.2f}",
        ]


def table(repeats: int = 5, *chosen: str) -> Table:
    """Return the table of detections and false alarms, of all mechanisms or of some."""
    grid = Table(
        "mechanism",
        "ought to be",
        "is said so",
        "false accusations",
        "plain histogram accuses",
        "runs per input",
        "seconds",
        title="In the field: claimed epsilon 1, one false alarm in a million",
        caption="The histogram cannot read vectors, text and errors, and does not notice a memory.",
    )
    for line in lines(repeats, *chosen):
        grid.add_row(*line)
    return grid
