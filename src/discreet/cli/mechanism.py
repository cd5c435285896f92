"""`discreet mechanism`: any mechanism's law, its privacy, its accuracy and its picture."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.paper import Cell, Format, Output, Paper
from discreet.cli.target import chart_target
from discreet.errors import ParameterError

LEVELS = ("0.5", "0.1", "0.05", "0.01", "0.001")
"""Probabilities of failure for which accuracy is shown."""


@dataclass(frozen=True, slots=True)
class MechanismOptions:
    """What the command line said."""

    epsilon: str
    sensitivity: str
    delta: str | None
    low: str | None
    high: str | None
    step: str | None
    scores: tuple[int, ...]
    monotone: bool
    categories: int
    answers: int
    groups: int
    dimension: int
    ball: str
    loss: str


def mechanism(
    name: Annotated[
        str, typer.Argument(help="geometric, laplace, staircase, exponential, ...; 'list' names all.")
    ],
    epsilon: Annotated[str, typer.Option(help="The privacy level, such as 0.5.")] = "1",
    sensitivity: Annotated[str, typer.Option(help="How far one person moves the answer, or a score.")] = "1",
    delta: Annotated[
        str | None, typer.Option(help="For gaussian and threshold: the delta, such as 1e-6.")
    ] = None,
    low: Annotated[str | None, typer.Option(help="For truncated mechanisms: the smallest answer.")] = None,
    high: Annotated[str | None, typer.Option(help="For truncated mechanisms: the largest answer.")] = None,
    step: Annotated[
        str | None, typer.Option(help="For Laplace: the grid; chosen finely if left out.")
    ] = None,
    scores: Annotated[str, typer.Option(help="For selections: the candidates' scores.")] = "10,8,8,5,1",
    monotone: Annotated[bool, typer.Option(help="A person moves all scores the same way.")] = False,
    categories: Annotated[int, typer.Option(help="For randomized response: the number of truths.")] = 2,
    answers: Annotated[int, typer.Option(help="For sparse vector: how many values may be found above.")] = 1,
    groups: Annotated[int, typer.Option(help="For threshold: how many groups one person is in.")] = 1,
    dimension: Annotated[int, typer.Option(help="For knorm: the length of the vector.")] = 2,
    ball: Annotated[str, typer.Option(help="For knorm: l1 or linf.")] = "linf",
    loss: Annotated[str, typer.Option(help="For staircase: absolute or squared.")] = "absolute",
    plot: Annotated[
        Path | None, typer.Option(help="Draw it into this svg, png or html file.", callback=chart_target)
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Show a mechanism: its exact law, what it promises, how accurate it is."""
    if name == "list":
        with Paper(output) as paper:
            paper.table("", ("mechanism",), [(each,) for each in BUILDERS], name="mechanisms")
        return
    if name not in BUILDERS:
        raise ParameterError(f"there is no mechanism {name!r}; choose one of {', '.join(BUILDERS)}")
    options = MechanismOptions(
        epsilon, sensitivity, delta, low, high, step, _scores(scores), monotone,
        categories, answers, groups, dimension, ball, loss,
    )  # fmt: skip
    chosen = _build(name, options)
    show = next(show for kinds, show in SHOWN.items() if type(chosen).__name__ in kinds)
    with Paper(output) as paper:
        _heading(paper, chosen)
        picture = show(paper, chosen, options)
        if plot is not None:
            from discreet.show.save import save

            paper.fact("picture", str(save(picture(), plot)))


BUILDERS = {
    "exponential": ("exponential", "Exponential", "epsilon sensitivity monotone"),
    "gaussian": ("gaussian", "Gaussian", "epsilon delta sensitivity"),
    "geometric": ("geometric", "Geometric", "epsilon sensitivity"),
    "knorm": ("knorm", "KNorm", "epsilon sensitivity dimension ball"),
    "laplace": ("laplace", "Laplace", "epsilon sensitivity step?"),
    "noisy-max": ("noisy_max", "NoisyMax", "epsilon sensitivity monotone"),
    "noisy-threshold": ("threshold", "NoisyThreshold", "epsilon delta groups"),
    "permute-and-flip": ("permute_and_flip", "PermuteAndFlip", "epsilon sensitivity monotone"),
    "randomized-response": ("randomized_response", "RandomizedResponse", "epsilon categories"),
    "sparse-vector": ("sparse_vector", "SparseVector", "epsilon sensitivity answers monotone"),
    "staircase": ("staircase", "Staircase", "epsilon sensitivity loss"),
    "threshold": ("threshold", "Threshold", "epsilon delta groups"),
    "truncated-geometric": ("truncated_geometric", "TruncatedGeometric", "epsilon sensitivity low high"),
    "truncated-laplace": ("truncated_laplace", "TruncatedLaplace", "epsilon sensitivity low high step"),
}
"""Where each mechanism lives and which options calibrate it; those with a question mark may be left out."""


def _build(name: str, options: MechanismOptions) -> Any:
    module, kind, wanted = BUILDERS[name]
    given = {}
    for each in wanted.split():
        option = each.rstrip("?")
        given[option] = getattr(options, option)
        if given[option] is None and option == each:
            raise ParameterError(f"--{option}: {name} needs it")
    return getattr(import_module(f"discreet.mechanisms.{module}"), kind).calibrate(**given)


def _show_noise(paper: Paper, noise: Any, options: MechanismOptions) -> Callable[[], Any]:
    from discreet.exact.number import rational
    from discreet.mechanisms.laplace import Laplace

    move = rational(options.sensitivity, "sensitivity")
    _promise(paper, noise.guarantee(move), options)
    unit = getattr(noise, "step", Fraction(1))
    radius = Fraction(noise.radius("0.05"))
    ticks = sorted({Fraction(0), unit, move, radius / 2 // unit * unit, radius})
    if isinstance(noise, Laplace):
        rows = [(_number(k), _figure(noise.density(float(k)))) for k in ticks if k != unit]
        paper.table("law of the noise", ("± noise", "density"), rows)
    else:
        rows = [(_number(k), _chance(noise.pmf(int(k)))) for k in ticks if k.denominator == 1]
        paper.table("law of the noise", ("± noise", "probability"), rows)
    _accuracy(paper, noise)
    draws = [noise.sample(100) for _ in range(8)]
    paper.fact("draws", [float(draw) for draw in draws], f"of an answer of 100: {_listed(draws)}")
    return lambda: _portrait(noise, (Fraction(0), move), options)


def _show_truncated(paper: Paper, noise: Any, options: MechanismOptions) -> Callable[[], Any]:
    from discreet.exact.number import rational

    move = rational(options.sensitivity, "sensitivity")
    _promise(paper, noise.guarantee(move), options)
    low, high = Fraction(noise.low), Fraction(noise.high)
    unit = Fraction(getattr(noise, "step", 1))
    middle = (low + high) / 2 // unit * unit
    rows = [
        (
            _number(answer),
            _chance(noise.pmf(_plain(low), _plain(answer))),
            _chance(noise.pmf(_plain(high), _plain(answer))),
        )
        for answer in (low, middle, high)
    ]
    paper.table("atoms", ("true answer", f"Pr(report = {low})", f"Pr(report = {high})"), rows)
    errors = [(_number(answer), _figure(noise.mean_error(_plain(answer)))) for answer in (low, middle, high)]
    paper.table("accuracy", ("true answer", "mean |error|"), errors)
    radii = [(_percent(beta), _within(noise.radius(beta))) for beta in LEVELS]
    paper.table("reach", ("with probability", "error within, whatever the answer"), radii)
    # Near an end, where truncation shows.
    near = min(low + max(1, round(Fraction(noise.noise.radius("0.2")) / move)) * move, high)
    return lambda: _portrait(noise, (near, min(near + move, high)), options)


def _show_choice(paper: Paper, choice: Any, options: MechanismOptions) -> Callable[[], Any]:
    from discreet.exact.number import whole

    scores = options.scores
    _promise(paper, choice.guarantee(options.sensitivity, monotone=options.monotone), options)
    law = choice.pmf(scores)
    paper.table( "law of the selection", ("score", "probability"),
           [(score, _chance(p)) for score, p in zip(scores, law, strict=True)])  # fmt: skip
    rows = [
        (
            _percent(beta),
            choice.shortfall(beta, scores=scores),
            choice.shortfall(beta, candidates=len(scores)),
        )
        for beta in LEVELS
    ]
    paper.table("accuracy", ("with probability", "score within, of the best", "for the worst scores"), rows)
    mean = float(choice.mean_shortfall(scores=scores))
    paper.fact("mean shortfall", mean, f"{mean:.6g}")
    move = whole(options.sensitivity, "sensitivity")
    best = scores.index(max(scores))
    near = tuple(
        score + (move if place != best else 0 if options.monotone else -move)
        for place, score in enumerate(scores)
    )

    def picture() -> Any:
        from discreet.show.selection import choice_portrait

        return choice_portrait(
            choice, scores, near, epsilon=float(options.epsilon), title=_title(choice, options)
        )

    return picture


def _show_response(paper: Paper, response: Any, options: MechanismOptions) -> Callable[[], Any]:
    _promise(paper, response.guarantee(), options)
    paper.table( "law of a report", ("report", "probability"),
           [("the truth", _chance(response.truth)), ("each other value", _chance(response.lie))])  # fmt: skip
    halves = [500] * 2 + [0] * (response.categories - 2)
    deviation = float(response.variance(halves)[0]) ** 0.5
    paper.fact(
        "accuracy",
        deviation,
        f"among 1000 people, half of each kind: a count is off by {deviation:.4g} (std)",
    )
    if response.categories == 2:
        needed = response.records_needed(within="0.05")
        paper.fact("people", needed, f"needed for a share within 0.05 with probability 95 %: {needed:,}")

    def picture() -> Any:
        from discreet.show.selection import channel

        return channel(response, title=_title(response, options))

    return picture


def _show_sparse_vector(paper: Paper, technique: Any, options: MechanismOptions) -> Callable[[], Any]:
    _promise(paper, technique.guarantee(options.sensitivity, monotone=options.monotone), options)
    margins = (-40, -20, -10, -5, 0, 5, 10, 20, 40)
    paper.table( "accuracy", ("value minus threshold", "probability of being found above"),
           [(margin, _chance(technique.chance_above(margin))) for margin in margins])  # fmt: skip

    def picture() -> Any:
        from discreet.show.selection import detection

        return detection(technique, title=_title(technique, options))

    return picture


def _show_threshold(paper: Paper, selection: Any, options: MechanismOptions) -> Callable[[], Any]:
    from discreet.exact.number import least_integer

    _promise(paper, selection.guarantee(options.groups), options)
    rows: list[tuple[object, Cell]] = [(1, _chance(selection.keep(1)))]
    for chance in ("0.01", "0.5", "0.95", "0.99"):
        people = least_integer(partial(_reaches, selection, Fraction(chance)), 1)
        rows.append((people, _chance(selection.keep(people))))
    paper.table("accuracy", ("people in the group", "probability that it is kept"), rows)

    def picture() -> Any:
        from discreet.show.selection import keeping

        return keeping({"kept": selection}, title=_title(selection, options))

    return picture


def _reaches(selection: Any, chance: Fraction, people: int) -> bool:
    return bool(selection.keep(people) >= chance)


def _show_knorm(paper: Paper, noise: Any, options: MechanismOptions) -> Callable[[], Any]:
    _promise(paper, noise.guarantee(options.sensitivity), options)
    origin = [0] * noise.dimension
    points = [origin, [1, *origin[1:]], [1] * noise.dimension, [2, *origin[1:]]]
    paper.table( "law of the noise", ("noise", "probability"),
           [(_listed(point), _chance(noise.pmf(point))) for point in points])  # fmt: skip
    rows = [(_percent(beta), _within(noise.radius(beta))) for beta in LEVELS]
    paper.table("accuracy of each coordinate", ("with probability", "error within"), rows)
    _mean(paper, noise.mean_error(), noise.variance())

    def picture() -> Any:
        from discreet.show.chart import heatmap

        flat = [0] * (noise.dimension - 2)
        if noise.dimension < 2:
            raise ParameterError("--plot: knorm is drawn in two dimensions or more")
        reach = min(10, noise.radius("0.05"))
        cells = [
            {"first": x, "second": y, "probability": noise.pmf([x, y, *flat])}
            for y in range(reach, -reach - 1, -1)
            for x in range(-reach, reach + 1)
        ]
        return heatmap(cells, x="first", y="second", value="probability", title=_title(noise, options),
                       labels=False, width=420, height=420)  # fmt: skip

    return picture


SHOWN: dict[tuple[str, ...], Callable[[Paper, Any, MechanismOptions], Callable[[], Any]]] = {
    ("Geometric", "Laplace", "Gaussian", "Staircase"): _show_noise,
    ("TruncatedGeometric", "TruncatedLaplace"): _show_truncated,
    ("Exponential", "PermuteAndFlip", "NoisyMax"): _show_choice,
    ("RandomizedResponse",): _show_response,
    ("SparseVector",): _show_sparse_vector,
    ("Threshold", "NoisyThreshold"): _show_threshold,
    ("KNorm",): _show_knorm,
}


def _heading(paper: Paper, chosen: Any) -> None:
    import sys

    theorem = (sys.modules[type(chosen).__module__].__doc__ or "").strip().splitlines()[0]
    paper.fact("mechanism", type(chosen).__name__)
    paper.fact("theorem", theorem)


def _promise(paper: Paper, guarantee: Any, options: MechanismOptions) -> None:
    from discreet.privacy.guarantee import Approximate, Concentrated, Pure

    match guarantee:
        case Pure(cost):
            paper.fact("privacy", _cost(cost), f"ε = {float(cost):.9g}, pure")
        case Approximate(cost, slack):
            paper.fact("privacy", _cost(cost), f"ε = {float(cost):.9g} with δ = {float(slack):.4g}")
            paper.fact("delta", float(slack))
        case Concentrated():
            exact = f"ε = {options.epsilon} with δ = {options.delta}, by the exact law of one answer"
            paper.fact("privacy", float(options.epsilon), exact)
            rho = float(guarantee.rho)
            paper.fact("rho", rho, f"{rho:.6g}, concentrated, for composition")


def _accuracy(paper: Paper, noise: Any) -> None:
    rows = [(_percent(beta), _within(noise.radius(beta))) for beta in LEVELS]
    paper.table("accuracy", ("with probability", "error within"), rows)
    _mean(paper, noise.mean_error, noise.variance)


def _mean(paper: Paper, error: Any, variance: Any) -> None:
    mean, deviation = float(error), float(variance) ** 0.5
    paper.fact("mean |error|", mean, f"{mean:.6g}, standard deviation {deviation:.6g}")
    if paper.output is not Format.TABLE:
        paper.fact("standard deviation", deviation)


def _portrait(mechanism: Any, answers: Sequence[Fraction], options: MechanismOptions) -> Any:
    from discreet.mechanisms.gaussian import Gaussian
    from discreet.show.law import portrait

    # A Gaussian's loss has no bound to draw: it is linear in the report.
    epsilon = None if isinstance(mechanism, Gaussian) else float(options.epsilon)
    first, second = answers
    return portrait(mechanism, (first, second), epsilon=epsilon, title=_title(mechanism, options))


def _title(mechanism: Any, options: MechanismOptions) -> str:
    slack = "" if options.delta is None else f", δ = {options.delta}"
    return f"{type(mechanism).__name__}, ε = {options.epsilon}{slack}"


def _scores(text: str) -> tuple[int, ...]:
    from discreet.exact.number import whole

    return tuple(whole(part, "--scores") for part in text.split(","))


def _chance(value: Any) -> Cell:
    """Return a probability as a decimal, with its exact fraction when that is short enough to read."""
    number = float(value)
    decimal = f"{number:.6g}" if number > 1e-300 or number == 0 else "below 1e-300"
    if isinstance(value, Fraction) and 1 < value.denominator < 10**9:
        return Cell(number, f"{decimal}  ({value})")
    return Cell(number, decimal)


def _figure(value: Any) -> Cell:
    return Cell(float(value), f"{float(value):.6g}")


def _within(value: Any) -> Cell:
    reach = _number(value)
    return Cell(reach, f"± {reach}")


def _number(value: Any) -> Cell:
    exact = Fraction(value)
    if exact.denominator == 1:
        return Cell(exact.numerator, f"{exact.numerator:,}")
    return _figure(exact)


def _plain(value: Fraction) -> Any:
    return int(value) if value.denominator == 1 else value


def _percent(beta: str) -> Cell:
    sure = 1 - Fraction(beta)
    return Cell(float(sure), f"{float(100 * sure):g} %")


def _cost(epsilon: Fraction) -> float:
    from discreet.exact.number import float_up

    return float_up(epsilon)


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(str(_number(value)) for value in values)
