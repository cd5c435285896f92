"""`discreet audit`: test a claimed epsilon from outside, for any function or for a whole question."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.paper import Format, Output, Paper
from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
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
    confidence: Annotated[
        str,
        typer.Option(
            help="How sure an accusation is: by default one in a million is false, as builds need; "
            "0.95 is what statisticians use."
        ),
    ] = "0.999999",
    batched: Annotated[
        bool, typer.Option("--batched", help="The function takes (input, count) and returns count outputs.")
    ] = False,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Stop as soon as the claim is refuted.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes to run in.")] = 1,
    output: Output = Format.TABLE,
) -> None:
    """Look for a violation. Nothing found is no proof of privacy.

    Exit status: 0 nothing found, 1 violated, 2 refused, 3 the mechanism raised, 4 runs are not independent.
    """
    options: dict[str, Any] = {"epsilon": epsilon, "confidence": confidence, "workers": workers}
    with Paper(output) as paper:
        if manifest is not None:
            status = _question(paper, manifest, subject, runs or 1000, options)
        else:
            verdict = _function(
                subject,
                (left, right),
                (length, steps),
                runs or 20_000,
                {**options, "delta": delta, "batched": batched},
                sequential=sequential,
            )
            status = _print(paper, verdict)
    if status:
        raise typer.Exit(status)


def _function(
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
    with _progress() as tell:
        length, steps = vectors
        if length is not None:
            return search(function, length, runs=runs, steps=steps, progress=tell, **options)
        left, right = (_input(text, name) for text, name in zip(pair, ("left", "right"), strict=True))
        if sequential:
            return audit_until(function, left, right, at_most=runs, progress=tell, **options)
        return audit_pair(function, left, right, runs=runs, progress=tell, **options)


def _question(paper: Paper, manifest: Path, sql: str, runs: int, options: dict[str, Any]) -> int:
    from discreet.audit import audit_pairs, replay
    from discreet.cli.worst_case import Rehearsal as Way
    from discreet.cli.worst_case import neighbours
    from discreet.query.catalog.manifest import load as load_manifest
    from discreet.query.check.measurement import Measurement

    catalog = load_manifest(manifest)
    try:
        way = Way.of(catalog, sql, epsilon=options["epsilon"])
    except DiscreetError as refusal:
        # Its own status would be that of a violation.
        raise ParameterError(f"the question cannot be audited: {refusal}") from refusal
    pairs = neighbours(way.catalog)
    claimed = catalog.budget.delta if catalog.budget is not None else 0
    violated, replays = False, []
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
            replays.append((pair.name, words))
        paper.table("replay", ("one person", "found"), replays)
        with _progress() as tell:
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
    status = _print(paper, verdict)
    return 1 if violated else status


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
def _progress() -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.completed:,.0f} runs"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("runs", total=None)
        yield lambda done: bar.advance(task, done)


def _print(paper: Paper, verdict: "Verdict") -> int:
    """Print a verdict and return the exit status that stands for it."""
    from discreet.audit import Consistent, Dependent, Raised, Violated

    paper.facts(verdict.status, [("verdict", verdict.status), *verdict.facts])
    match verdict:
        case Violated():
            return 1
        case Raised():
            return 3
        case Dependent():
            return 4
        case Consistent():
            paper.say("consistent with the claim; an audit cannot show that something is private")
            return 0
