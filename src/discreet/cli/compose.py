"""`discreet compose`: what many releases cost together, by every route, with its theorem and its picture."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.paper import Cell, Format, Output, Paper, waiting
from discreet.cli.target import chart_target
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy.bounds import Bounds
    from discreet.privacy.compose import Composition
    from discreet.privacy.explanation import Explanation
    from discreet.privacy.guarantee import Guarantee

KINDS = {
    "pure": "pure:EPSILON",
    "approximate": "approximate:EPSILON:DELTA",
    "zcdp": "zcdp:RHO",
    "laplace": "laplace:EPSILON",
    "gaussian": "gaussian:SIGMA[:MOVES]",
    "geometric": "geometric:ALPHA[:SHIFT]",
    "discrete-gaussian": "discrete-gaussian:VARIANCE[:MOVES]",
    "truncated-gaussian": "truncated-gaussian:VARIANCE:BOUND[:MOVE]",
    "exponential": "exponential:EPSILON",
}


def compose(
    releases: Annotated[
        list[str],
        typer.Argument(
            help=f"What is released, each as KIND:NUMBER[@RATE][xCOUNT]: {', '.join(KINDS.values())}; "
            "@RATE where it sees only a sample; MOVES is how far a unit moves each coordinate, as in 2,1,1."
        ),
    ],
    delta: Annotated[str, typer.Option(help="The delta at which epsilon is asked.")] = "1e-6",
    epsilon: Annotated[str | None, typer.Option(help="Also give the delta at this epsilon.")] = None,
    neighbours: Annotated[
        str, typer.Option(help="Who differs, for samples: add-remove (by lots), or replace (m of n drawn).")
    ] = "add-remove",
    group: Annotated[int, typer.Option(help="Protect this many units at once.")] = 1,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw epsilon against delta and its growth (svg, png, html).", callback=chart_target
        ),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Bound what many releases cost together, from below and from above, by every known route."""
    from discreet.privacy.compose import compose as together

    whole = together([read_release(text, neighbours) for text in releases])
    whole = whole.group(group) if group != 1 else whole
    with Paper(output) as paper:
        with waiting("composing"):
            explanation = whole.explain(delta)
            at = None if epsilon is None else whole.delta(epsilon)
        _report(paper, explanation, len(whole), delta)
        if at is not None:
            _bounds(paper, "delta", f"at epsilon = {epsilon}", at)
        if plot is not None:
            from discreet.show import save

            with waiting("drawing"):
                save(draw(whole, delta), plot)
            paper.say(f"drawn in {plot}")


def read_release(text: str, neighbours: str = "add-remove") -> tuple["Guarantee | Composition", int]:
    """Return the guarantee and the count that a word such as laplace:0.1@0.01x1000 stands for."""
    from discreet.exact.number import whole
    from discreet.privacy.amplify import sampled

    kind, _, rest = text.strip().lower().partition(":")
    body, _, times = rest.partition("x")
    body, at, rate = body.partition("@")
    count = whole(times, "the number of releases") if times else 1
    if kind not in KINDS or not body or count < 1:
        raise ParameterError(
            f"cannot read the release {text!r}; write one of {', '.join(KINDS.values())}, "
            "then @RATE for a sample and xCOUNT for several"
        )
    guarantee = _guarantee(kind, body.split(":"), text)
    return (sampled(guarantee, rate, adjacency=neighbours) if at else guarantee), count


def _guarantee(kind: str, numbers: list[str], text: str) -> "Guarantee | Composition":
    from discreet.exact.number import non_negative, positive, probability, rational, whole
    from discreet.mechanisms.truncated_gaussian import TruncatedGaussian
    from discreet.privacy.compose import compose as together
    from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
    from discreet.privacy.loss import (
        BoundedRangeLoss,
        DiscreteGaussianLoss,
        GaussianLoss,
        GeometricLoss,
        LaplaceLoss,
    )

    match kind, numbers:
        case "pure", [cost]:
            return Pure(non_negative(cost, "epsilon"))
        case "approximate", [cost, slack]:
            return Approximate(non_negative(cost, "epsilon"), non_negative(slack, "delta"))
        case "zcdp", [rho]:
            return Concentrated(non_negative(rho, "rho"))
        case "laplace", [ratio]:
            return Profile(LaplaceLoss(non_negative(ratio, "epsilon")))
        case "gaussian", [sigma, *moves] if len(moves) < 2:
            # Turned so that all of the move lies in one coordinate, Gaussian noise is what it was.
            far = sum((rational(move, "move") ** 2 for move in _moves(moves)), Fraction(0))
            return Profile(GaussianLoss(far / positive(sigma, "sigma") ** 2))
        case "geometric", [alpha, *shift] if len(shift) < 2:
            return Profile(
                GeometricLoss(probability(alpha, "alpha"), whole(shift[0], "shift") if shift else 1)
            )
        case "discrete-gaussian", [variance, *moves] if len(moves) < 2:
            spread = positive(variance, "variance")
            found = [
                Profile(DiscreteGaussianLoss(spread, abs(whole(move, "move")))) for move in _moves(moves)
            ]
            return found[0] if len(found) == 1 else together(found)
        case "truncated-gaussian", [variance, bound, *moves] if len(moves) < 2:
            within = TruncatedGaussian(positive(variance, "variance"), whole(bound, "bound"))
            return within.profile(abs(whole(moves[0], "move")) if moves else 1)
        case "exponential", [cost]:
            return Profile(BoundedRangeLoss(non_negative(cost, "epsilon")))
        case _:
            raise ParameterError(f"cannot read the release {text!r}; write {KINDS[kind]}, then xCOUNT")


def _moves(written: list[str]) -> list[str]:
    return written[0].split(",") if written else ["1"]


def _report(paper: Paper, explanation: "Explanation", releases: int, delta: str) -> None:
    from discreet.exact.number import float_up

    def cost(value: Fraction | None) -> Cell:
        return Cell(None, "-") if value is None else Cell(float_up(value), f"{float(value):.7g}")

    paper.table(
        f"{releases} releases at delta = {delta}",
        ("route", "epsilon", "parameters", "theorem"),
        [(line.route, cost(line.epsilon), line.adaptive, line.theorem) for line in explanation.lines],
        name="routes",
    )
    _bounds(paper, "epsilon", f"at delta = {delta}", explanation.bounds)


def _bounds(paper: Paper, name: str, where: str, bounds: "Bounds") -> None:
    """State what is known of a number, from below and from above."""
    from discreet.exact.number import float_down, float_up

    known = {
        "known": where,
        "low": float_down(bounds.low) + 0.0,
        "high": None if bounds.high is None else float_up(bounds.high),
        "route": bounds.route,
        "adaptive": bounds.adaptive,
    }
    paper.fact(name, known, f"{where}: {bounds} ({bounds.route})")


def draw(whole: "Composition", delta: str) -> object:
    """Return a chart of every route's epsilon against delta, and of its growth with the releases."""
    from discreet.privacy.compose import compose as together
    from discreet.show import lines, stacked

    curves = []
    # A sampled composition takes a second each.
    for exponent in range(2, 14, 3) if whole.sampled else range(1, 31):
        curves += _rows(whole, Fraction(1, 10**exponent), "delta", 10.0**-exponent)
    growth = []
    for times in (1, 3, 10) if whole.sampled else (1, 2, 3, 5, 8, 12, 20, 30, 50):
        growth += _rows(together([(whole, times)]), Fraction(delta), "releases", float(times * len(whole)))
    return stacked(
        [
            lines(
                curves,
                x="delta",
                y="epsilon",
                series="route",
                log_x=True,
                log_y=True,
                title="epsilon against delta",
            ),
            lines(
                growth,
                x="releases",
                y="epsilon",
                series="route",
                log_x=True,
                log_y=True,
                title=f"growth with the number of releases, delta = {delta}",
            ),
        ],
        title=f"What {len(whole)} releases cost together",
    )


def _rows(whole: "Composition", delta: Fraction, axis: str, at: float) -> list[dict[str, object]]:
    return [
        {axis: at, "epsilon": float(line.epsilon), "route": line.route}
        for line in whole.explain(delta).lines
        if line.epsilon is not None and line.epsilon > 0
    ]
