"""`discreet workload`: many questions at once, planned together, with the error of every way to do it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.paper import Cell, Format, Output, Paper, waiting
from discreet.cli.target import chart_target
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy.adjacency import Adjacency
    from discreet.workload import MarginalPlan, Marginals, Plan, Workload
    from discreet.workload.noise import Promise

SHAPES = "identity:N, prefix:N, ranges:N, total:N, marginals:N,N,... or stream:N"


def workload(
    questions: Annotated[
        list[str],
        typer.Argument(help=f"One of {SHAPES}; several of the first four form a product of attributes."),
    ],
    epsilon: Annotated[str | None, typer.Option(help="Plan for pure privacy at this level.")] = None,
    rho: Annotated[str | None, typer.Option(help="Plan for concentrated privacy at this level.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="With epsilon: choose between geometric and Gaussian noise.")
    ] = None,
    neighbours: Annotated[str, typer.Option(help="add-remove or replace.")] = "add-remove",
    order: Annotated[str, typer.Option(help="For marginals: the orders to ask for, such as 1,2,3.")] = "1,2",
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the error of each strategy (svg, png, html).", callback=chart_target),
    ] = None,
    demo: Annotated[
        Path | None,
        typer.Option(
            help="Release a made-up histogram or stream and draw it (svg, png, html).", callback=chart_target
        ),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Plan many questions together: what to measure, how wrong each answer will be, and what that saves."""
    from discreet.privacy.adjacency import Adjacency

    promise = _promise(epsilon, rho)
    if delta is not None and (epsilon is None or rho is not None):
        raise ParameterError("--delta goes with --epsilon")
    try:
        relation = Adjacency(neighbours)
    except ValueError:
        raise ParameterError(f"neighbours must be add-remove or replace, got {neighbours!r}") from None
    kind, _, sizes = questions[0].partition(":")
    with Paper(output) as paper:
        if kind == "stream":
            _stream(paper, _whole(sizes, questions[0]), promise, relation, demo)
            return
        asked = _marginals(questions, order) if kind == "marginals" else _product(questions)
        made = _plan(paper, asked, promise, relation, delta)
        _report(paper, made)
        if plot is not None:
            from discreet.show.save import save
            from discreet.workload.picture import draw_errors

            save(draw_errors(made), plot)
            paper.say(f"errors drawn in {plot}")
        if demo is not None:
            _demonstrate(paper, made, demo)


def _plan(
    paper: Paper, asked: "Marginals | Workload", promise: "Promise", relation: "Adjacency", delta: str | None
) -> "MarginalPlan | Plan":
    from discreet.privacy.guarantee import Pure
    from discreet.workload import Marginals, plan, plan_marginals, routes

    with waiting("planning") as status:
        if delta is not None and isinstance(promise, Pure):
            both = routes(asked, promise.cost, delta, relation)
            gain = f"{both.gain:.2f} times smaller than with the other"
            paper.fact("noise", _noise(both.best), f"{_noise(both.best)}: mean squared error {gain}")
            return both.best
        if isinstance(asked, Marginals):
            return plan_marginals(asked, promise, relation)
        return plan(asked, promise, relation, progress=lambda what: status.update(f"planning: {what}"))


def _promise(epsilon: str | None, rho: str | None) -> "Promise":
    from discreet.exact.number import positive
    from discreet.privacy.guarantee import Concentrated, Pure

    match epsilon, rho:
        case None, None:
            return Pure(positive("1", "epsilon"))
        case str(level), None:
            return Pure(positive(level, "epsilon"))
        case None, str(level):
            return Concentrated(positive(level, "rho"))
        case _:
            raise ParameterError("give either --epsilon or --rho, not both")


def _noise(made: "MarginalPlan | Plan") -> str:
    from discreet.privacy.guarantee import Pure

    return "geometric" if isinstance(made.guarantee, Pure) else "Gaussian"


def _product(questions: list[str]) -> "Workload":
    from discreet.workload import Product

    factors = tuple(_one(question) for question in questions)
    return factors[0] if len(factors) == 1 else Product(factors)


def _one(question: str) -> "Workload":
    from discreet.workload import AllRange, Identity, Prefix, Total

    kind, _, size = question.partition(":")
    match kind:
        case "identity" | "histogram":
            return Identity(_whole(size, question))
        case "prefix" | "cdf":
            return Prefix(_whole(size, question))
        case "ranges":
            return AllRange(_whole(size, question))
        case "total":
            return Total(_whole(size, question))
    raise ParameterError(f"a question is {SHAPES}; got {question!r}")


def _marginals(questions: list[str], order: str) -> "Marginals":
    from discreet.workload import Marginals

    if len(questions) > 1:
        raise ParameterError("marginals are asked for by themselves, such as marginals:4,3,2 --order 1,2")
    sizes = [_whole(part, questions[0]) for part in questions[0].partition(":")[2].split(",")]
    return Marginals.of_order(sizes, *(_whole(part, order) for part in order.split(",")))


def _whole(text: str, question: str) -> int:
    if not text.isdecimal():
        raise ParameterError(f"{question!r} needs a number of cells, such as prefix:256 or marginals:4,3,2")
    return int(text)


def _report(paper: Paper, made: "MarginalPlan | Plan") -> None:
    from discreet.workload.picture import candidate_errors

    errors = candidate_errors(made)
    best = errors[0][1]
    paper.table(
        f"{made.error.queries} questions, planned together",
        ("strategy", "root mse", "against the best"),
        [
            (name, _root(root), Cell(root / best, f"x {root / best:.2f}") if best > 0 else Cell(None, ""))
            for name, root in errors
        ],
        name="strategies",
    )
    lower = getattr(made, "lower", None)
    if lower is not None:
        least = (lower / made.error.queries) ** 0.5
        paper.fact("least", least, f"no strategy of this kind can have a root mse below {least:.4g}")
    paper.fact("guarantee", f"{_described(made.guarantee)}, {made.adjacency}, of the whole release")


def _root(value: float) -> Cell:
    return Cell(value, f"{value:.4g}")


def _described(guarantee: "Promise") -> str:
    from discreet.exact.number import float_up
    from discreet.privacy.guarantee import Pure

    if isinstance(guarantee, Pure):
        return f"epsilon {float_up(guarantee.cost):.6g}"
    return f"rho {float_up(guarantee.rho):.6g} (zCDP)"


def _stream(paper: Paper, length: int, promise: "Promise", relation: "Adjacency", demo: Path | None) -> None:
    from discreet.workload import Stream, counter_for
    from discreet.workload.dummy import EachItem, EachPrefix

    counter = counter_for(length, promise, relation)
    rivals = [
        (
            type(counter).__name__.removesuffix("Counter").lower() + ", the best known",
            counter.mean_squared_error(),
        ),
        ("noise on each item, summed", EachItem.calibrate(length, promise, relation).mean_squared_error()),
        ("noise on each running sum", EachPrefix.calibrate(length, promise, relation).mean_squared_error()),
    ]
    paper.table(
        f"{length} running counts under one guarantee",
        ("way", "root mse"),
        [(name, _root(error**0.5)) for name, error in sorted(rivals, key=lambda pair: pair[1])],
        name="ways",
    )
    paper.fact("guarantee", f"{_described(counter.guarantee)}, {relation}, of the whole stream")
    if demo is not None:
        from discreet.show.save import save
        from discreet.workload.picture import draw_stream

        counts = Stream.start(counter).extend([1] * min(length, 1000))
        save(draw_stream(counts, title=f"One event per step, {len(counts)} of {length} steps"), demo)
        paper.say(f"a made-up stream drawn in {demo}")


def _demonstrate(paper: Paper, made: "MarginalPlan | Plan", file: Path) -> None:
    """Release a made-up histogram: triangular counts that no person stands behind."""
    import numpy as np

    from discreet.privacy.adjacency import Adjacency
    from discreet.show.save import save
    from discreet.workload import MarginalPlan, answer_marginals, measure_marginals
    from discreet.workload.picture import draw_cumulative, draw_marginal

    if isinstance(made, MarginalPlan):
        sizes = made.workload.sizes
        tables = {}
        people = int(np.lcm.reduce([max(n, 1) for n in sizes]))
        for a in made.needs:
            cells = made.workload.table_cells(a)
            tables[a] = np.full([sizes[i] for i in a], people * 100 // cells or 1, dtype=np.int64)
        total = int(next(iter(tables.values())).sum()) if made.adjacency is Adjacency.REPLACE else None
        answers = answer_marginals(measure_marginals(made, tables), total=total)
        chosen = max(made.workload.sets, key=lambda a: (len(a) <= 2, len(a)))
        save(draw_marginal(answers, chosen), file)
    else:
        place = np.arange(made.workload.cells)
        counts = np.minimum(place + 1, made.workload.cells - place) * 32 // made.workload.cells
        total = int(counts.sum()) if made.known_total else None
        estimate = made.estimate(made.measure(counts), total=total, nonnegative=True)
        if len(estimate.inverses) > 1:
            raise ParameterError("--demo draws one attribute, marginals or a stream")
        save(draw_cumulative(estimate, title="A made-up histogram, released"), file)
    paper.say(f"a made-up release drawn in {file}")
