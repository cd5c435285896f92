"""Pictures of mechanisms that choose: who is selected at two neighbours, and how good the choice is."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import log

from discreet.mechanisms.exponential import Exponential, Levels
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.threshold import NoisyThreshold, Threshold
from discreet.show.chart import bars, heatmap, lines, stacked
from discreet.show.law import limits
from discreet.show.theme import HEIGHT, PALETTE, WIDTH
from discreet.show.vega import Chart, amount, category, layered, mark

Choice = Exponential | PermuteAndFlip | NoisyMax


def choices(
    mechanism: Choice,
    scores: Sequence[int],
    neighbour: Sequence[int],
    *,
    names: Sequence[str] | None = None,
    title: str = "",
    subtitle: str = "",
    height: int = HEIGHT,
) -> Chart:
    """Return the probability of each candidate at two neighbouring score vectors."""
    labels = list(names) if names is not None else [f"#{place}" for place in range(len(scores))]
    rows = [
        {"candidate": label, "probability": p, "series": f"scores {_listed(given)}"}
        for given in (scores, neighbour)
        for label, p in zip(labels, mechanism.pmf(given), strict=True)
    ]
    return bars(
        rows, x="candidate", y="probability", series="series", title=title, subtitle=subtitle, height=height
    )


def choice_ratios(
    mechanism: Choice,
    scores: Sequence[int],
    neighbour: Sequence[int],
    *,
    epsilon: float,
    names: Sequence[str] | None = None,
    title: str = "",
    width: int = WIDTH,
    height: int = 200,
) -> Chart:
    """Return ln(p / q) of each candidate at two neighbouring score vectors, between +epsilon and -epsilon."""
    labels = list(names) if names is not None else [f"#{place}" for place in range(len(scores))]
    pairs = zip(labels, mechanism.pmf(scores), mechanism.pmf(neighbour), strict=True)
    rows = [{"candidate": label, "loss": log(p / q)} for label, p, q in pairs]
    reach = 1.35 * epsilon
    place = {
        "x": category("candidate", title="candidate", scale={"paddingInner": 0.4, "paddingOuter": 0.2}),
        "y": amount("loss", title="privacy loss", scale={"domain": [-reach, reach], "nice": False}),
    }
    drawn = mark("bar", place, rows=rows, color=PALETTE[2])
    return layered([drawn, *limits(epsilon, width)], width=width, height=height).titled(title)


def shortfalls(
    mechanisms: Mapping[str, Choice],
    *,
    candidates: int,
    unit: int = 1,
    title: str = "",
    subtitle: str = "",
    height: int = HEIGHT,
) -> Chart:
    """Return, for the worst scores, the shortfall that is exceeded with probability beta, against beta.

    Shortfalls are drawn in multiples of `unit` points of score.
    """
    rows = [
        {
            "beta": beta,
            "shortfall": Fraction(mechanism.shortfall(beta, candidates=candidates), unit),
            "series": name,
        }
        for name, mechanism in mechanisms.items()
        for beta in (Fraction(1, 2), *(Fraction(d, 10**k) for k in (1, 2, 3, 4) for d in (3, 1)))
    ]
    return lines(
        rows,
        x="beta",
        y="shortfall",
        series="series" if len(mechanisms) > 1 else None,
        log_x=True,
        points=True,
        x_title="probability of doing worse",
        y_title="shortfall at worst",
        title=title,
        subtitle=subtitle,
        height=height,
    )


def choice_portrait(
    mechanism: Choice, scores: Sequence[int], neighbour: Sequence[int], *, epsilon: float, title: str
) -> Chart:
    """Return a selection at two neighbours, its log-ratios, and its accuracy, one below the other."""
    parts = [
        choices(mechanism, scores, neighbour, height=220),
        choice_ratios(mechanism, scores, neighbour, epsilon=epsilon, height=170),
        shortfalls({"selection": mechanism}, candidates=len(scores), height=190),
    ]
    return stacked(parts, title=title, subtitle="two neighbouring datasets and their scores")


def landscape(
    mechanisms: Mapping[str, Exponential],
    levels: Levels,
    *,
    grid: Fraction | int = 1,
    x_title: str = "candidate",
    score_title: str = "score",
    title: str = "",
    subtitle: str = "",
) -> Chart:
    """Return the scores of an ordered range of candidates above the chance of each to be selected.

    Candidates and scores are integers; `grid` is what one of them is worth in the units of the axes.
    """
    laws = {name: mechanism.chances(levels) for name, mechanism in mechanisms.items()}
    ends = [
        (place, int(levels.starts[place]) + offset)
        for place in sorted(range(len(levels.starts)), key=lambda level: int(levels.starts[level]))
        for offset in sorted({0, int(levels.sizes[place]) - 1})
    ]
    scores = [{"x": grid * at, "score": grid * int(levels.scores[place])} for place, at in ends]
    rows = [
        {"x": grid * at, "chance": float(law[place]) / int(levels.sizes[place]), "series": name}
        for name, law in laws.items()
        for place, at in ends
    ]
    parts = [
        lines(scores, x="x", y="score", x_title=x_title, y_title=score_title, height=170),
        lines(
            rows,
            x="x",
            y="chance",
            series="series" if len(laws) > 1 else None,
            x_title=x_title,
            y_title="probability of each",
            height=200,
        ),
    ]
    return stacked(parts, title=title, subtitle=subtitle)


def channel(mechanism: RandomizedResponse, *, title: str = "") -> Chart:
    """Return the matrix of probabilities of each report given each truth."""
    rows = [
        {"report": report, "truth": truth, "probability": p}
        for truth, row in enumerate(mechanism.channel())
        for report, p in enumerate(row)
    ]
    side = min(420, 90 * mechanism.categories)
    return heatmap(rows, x="report", y="truth", value="probability", title=title, width=side, height=side)


def keeping(
    mechanisms: Mapping[str, Threshold | NoisyThreshold], *, title: str = "", subtitle: str = ""
) -> Chart:
    """Return the probability of keeping a group against the number of people in it."""
    largest = max(_surely(mechanism) for mechanism in mechanisms.values())
    stride = max(1, largest // 300)
    rows = [
        {"people": n, "kept": mechanism.keep(n), "series": name}
        for name, mechanism in mechanisms.items()
        for n in range(0, largest + 2, stride)
    ]
    return lines(
        rows,
        x="people",
        y="kept",
        series="series" if len(mechanisms) > 1 else None,
        points=largest <= 60,
        x_title="people in the group",
        y_title="probability that it is kept",
        y_domain=(0, 1),
        title=title,
        subtitle=subtitle,
    )


def detection(mechanism: SparseVector, *, title: str = "", subtitle: str = "") -> Chart:
    """Return the probability that a value is found above the threshold, against its distance from it."""
    reach = 1
    while mechanism.chance_above(-reach) > Fraction(1, 100) or mechanism.chance_above(reach) < Fraction(
        99, 100
    ):
        reach *= 2
    stride = max(1, reach // 80)
    rows = [
        {"margin": margin, "found": mechanism.chance_above(margin)}
        for margin in range(-reach, reach + 1, stride)
    ]
    return lines(
        rows,
        x="margin",
        y="found",
        x_title="value minus threshold",
        y_title="probability of being found above",
        y_domain=(0, 1),
        title=title,
        subtitle=subtitle,
    )


def _surely(mechanism: Threshold | NoisyThreshold) -> int:
    if isinstance(mechanism, Threshold):
        return mechanism.certain
    return 2 * mechanism.threshold


def _listed(scores: Sequence[int]) -> str:
    return ", ".join(str(score) for score in scores)
