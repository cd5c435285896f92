"""`discreet audit`: test a claimed epsilon from outside, for any function or for a whole question."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.audit import Verdict


def audit(
    subject: Annotated[str, typer.Argument(help="module:function, or with --manifest a question in SQL.")],
    epsilon: Annotated[str, typer.Option(help="The epsilon that is claimed.")] = "1",
    delta: Annotated[str, typer.Option(help="The delta that is claimed.")] = "0",
    left: Annotated[str | None, typer.Option(help="One input, as JSON.")] = None,
    right: Annotated[str | None, typer.Option(help="A neighbouring input, as JSON.")] = None,
    length: Annotated[
        int | None, typer.Option(help="Search neighbouring vectors of this length instead.")
    ] = None,
    steps: Annotated[
        int, typer.Option(help="With --length: improve the best pair found up to this many times.")
    ] = 0,
    manifest: Annotated[
        Path | None, typer.Option(help="Audit a question on invented data that fits this manifest.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Runs per input: 20000, or 1000 for a question.")] = None,
    confidence: Annotated[str, typer.Option(help="How sure the bound is.")] = "0.95",
    batched: Annotated[
        bool, typer.Option("--batched", help="The function takes (input, count) and returns count outputs.")
    ] = False,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Stop as soon as the claim is refuted.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes to run in.")] = 1,
) -> None:
    """Look for a violation; exit status 1 when one is found. Nothing found is no proof of privacy."""
    from rich.console import Console

    console = Console(highlight=False)
    options: dict[str, Any] = {"epsilon": epsilon, "confidence": confidence, "workers": workers}
    if manifest is not None:
        violated = _question(console, manifest, subject, runs or 1000, options)
    else:
        verdict = _function(
            console,
            subject,
            (left, right),
            (length, steps),
            runs or 20_000,
            {**options, "delta": delta, "batched": batched},
            sequential=sequential,
        )
        _print(console, verdict)
        violated = verdict.violated
    if violated:
        raise typer.Exit(1)


def _function(
    console: "Console",
    subject: str,
    pair: tuple[str | None, str | None],
    vectors: tuple[int | None, int],
    runs: int,
    options: dict[str, Any],
    *,
    sequential: bool,
) -> "Verdict":
    from discreet.audit import audit as audit_pair
    from discreet.audit import audit_until, search

    function = load(subject)
    with _progress(console) as tell:
        length, steps = vectors
        if length is not None:
            return search(function, length, runs=runs, steps=steps, progress=tell, **options)
        left, right = (_input(text, name) for text, name in zip(pair, ("left", "right"), strict=True))
        if sequential:
            return audit_until(function, left, right, at_most=runs, progress=tell, **options)
        return audit_pair(function, left, right, runs=runs, progress=tell, **options)


def _question(console: "Console", manifest: Path, sql: str, runs: int, options: dict[str, Any]) -> bool:
    from discreet.audit import audit_pairs, replay
    from discreet.cli.worst_case import Path as Way
    from discreet.cli.worst_case import neighbours
    from discreet.query.catalog import load as load_manifest
    from discreet.query.measure import Measurement

    catalog = load_manifest(manifest)
    way = Way.of(catalog, sql, epsilon=options["epsilon"])
    pairs = neighbours(way.catalog)
    claimed = catalog.budget.delta if catalog.budget is not None else 0
    violated = False
    try:
        for pair in pairs:
            found = [replay(way, pair.left, pair.right, same_flow=not way.selects_keys, runs=5)]
            for position, share in enumerate(way.priced.shares):
                if isinstance(share.measured, Measurement) and not way.selects_keys:
                    moves = share.moves(way.priced.checked.keys)
                    function = way.measured(position)
                    found.append(
                        replay(function, pair.left, pair.right, l1=moves.l1, linf=moves.linf, runs=5)
                    )
            leaks = [finding for part in found for finding in part.findings]
            structural = [leak for leak in leaks if not (way.selects_keys and "structure" in leak)]
            violated |= bool(structural)
            words = "; ".join(dict.fromkeys(structural)) or "no deterministic leak"
            console.print(f"replay, one person {pair.name}: {words}")
        with _progress(console) as tell:
            verdict = audit_pairs(
                way,
                [(pair.left, pair.right) for pair in pairs],
                delta=claimed,
                runs=runs,
                progress=tell,
                **options,
            )
    finally:
        way.close()
    _print(console, verdict)
    return violated or verdict.violated


def load(subject: str) -> Callable[..., Any]:
    """Return the function or mechanism that module:name means, looking in the working directory too."""
    module, colon, name = subject.partition(":")
    if not colon or not name:
        raise ParameterError(f"give the subject as module:function, got {subject!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as problem:
        raise ParameterError(f"cannot load {subject!r}: {problem}") from None
    return found  # type: ignore[return-value]


def _input(text: str | None, name: str) -> Any:
    if text is None:
        raise ParameterError(f"give --{name} as JSON, such as 0 or [0, 1]; or --length to search")
    try:
        return json.loads(text)
    except ValueError:
        raise ParameterError(f"--{name} must be JSON, such as 0 or [0, 1], got {text!r}") from None


@contextmanager
def _progress(console: "Console") -> Iterator[Callable[[int], None]]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.completed:,.0f} runs"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("runs", total=None)
        yield lambda done: bar.advance(task, done)


def _print(console: "Console", verdict: "Verdict") -> None:
    from rich.table import Table

    grid = Table(show_header=False, title="VIOLATED" if verdict.violated else "No violation found")
    claim = f"epsilon {float(verdict.epsilon):g}" + (
        f", delta {float(verdict.delta):g}" if verdict.delta else ""
    )
    grid.add_row("claimed", claim)
    grid.add_row(f"at least, at {verdict.confidence:.4g}", f"epsilon {verdict.epsilon_lower:.4f}")
    tally = verdict.tally
    grid.add_row("guesses right", f"{tally.correct} of {tally.guesses} in {tally.trials} runs")
    grid.add_row("event", str(verdict.event))
    console.print(grid)
    if not verdict.violated:
        console.print("consistent with the claim; an audit cannot show that something is private")
