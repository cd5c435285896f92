"""Pictures of additive mechanisms: the laws at two neighbours, their log-ratio, and how far they stray.

Everything is drawn from logarithms of probabilities, so that laws of any scale can be shown: a probability of
10**-300 is a point like any other.  Floats appear here because these are pictures.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, exp, log, log1p
from typing import Any, assert_never

from discreet.exact.number import log_bounds
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.show.chart import lines, stacked
from discreet.show.theme import HEIGHT, INK, PALETTE, WIDTH
from discreet.show.vega import Chart, Spec, amount, category, layered, mark, over, words

Noise = Geometric | Laplace | Staircase | Gaussian
Truncated = TruncatedGeometric | TruncatedLaplace
Additive = Noise | Truncated

POINTS = 320
"""More points than this are not drawn one by one."""


def log_chance(mechanism: Additive, report: float, answer: float) -> float:
    """Return the logarithm of the probability (density, for Laplace) of a report, given the true answer."""
    distance = abs(report - answer)
    match mechanism:
        case Geometric(alpha):
            return _log((1 - alpha) / (1 + alpha)) + distance * _log(alpha)
        case Staircase(alpha):
            return _log(mechanism.peak) + mechanism.level(round(distance)) * _log(alpha)
        case Gaussian(variance):
            return log(float(mechanism.pmf(0))) - distance**2 / (2 * float(variance))
        case Laplace():
            scale = float(mechanism.scale)
            return -distance / scale - log(2 * scale)
        case TruncatedGeometric(alpha, low, high):
            if report in (low, high):
                return distance * _log(alpha) - log1p(float(alpha))
            return log_chance(mechanism.noise, report, answer)
        case TruncatedLaplace(_, _, low, high):
            if report in (float(low), float(high)):
                return -distance / float(mechanism.noise.scale) - log(2)
            return log_chance(mechanism.noise, report, answer)
        case _:
            assert_never(mechanism)


def laws(
    mechanism: Additive,
    answers: Sequence[int | Fraction] = (0, 1),
    *,
    title: str = "",
    subtitle: str = "",
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """Return the laws of the report for each true answer, with the atoms of truncation as stems."""
    series = {float(answer): f"true answer {_short(answer)}" for answer in answers}
    body: list[dict[str, Any]] = []
    atoms: list[dict[str, Any]] = []
    ends = _ends(mechanism)
    for answer, name in series.items():
        for x in support(mechanism, answers):
            row = {"x": x, "p": exp(log_chance(mechanism, x, answer)), "series": name}
            (atoms if x in ends else body).append(row)
    smooth = isinstance(mechanism, Laplace | TruncatedLaplace)
    measure = ("density, and probability of the ends" if atoms else "density") if smooth else "probability"
    place = {
        "x": _reports(smooth=smooth),
        "y": amount("p", title=measure, stack=None),
        "color": category("series", title=None, legend={"symbolType": "stroke", "symbolOpacity": 1}),
    }
    shape = "linear" if smooth else "step"
    drawn = [
        mark("area", place, rows=body, opacity=0.2, interpolate=shape),
        mark("line", place, rows=body, interpolate=shape, strokeWidth=2),
    ]
    if atoms:
        drawn += _stems(atoms, max(row["p"] for row in (*body, *atoms)))
    return layered(drawn, width=width, height=height).titled(title, subtitle)


def log_ratios(
    mechanism: Additive,
    answers: Sequence[int | Fraction] = (0, 1),
    *,
    epsilon: float,
    title: str = "",
    subtitle: str = "",
    width: int = WIDTH,
    height: int = 200,
) -> Chart:
    """Return ln(p / q) of the laws at two answers, between the lines +epsilon and -epsilon."""
    first, second = (float(answer) for answer in answers)
    rows = [
        {"x": x, "ratio": log_chance(mechanism, x, first) - log_chance(mechanism, x, second)}
        for x in support(mechanism, answers)
    ]
    reach = 1.35 * max(epsilon, *(abs(row["ratio"]) for row in rows))
    smooth = isinstance(mechanism, Laplace | TruncatedLaplace)
    place = {
        "x": _reports(smooth=smooth),
        "y": amount("ratio", title="privacy loss", scale={"domain": [-reach, reach], "nice": False}),
    }
    look: Spec = {"color": PALETTE[2], "interpolate": "linear" if smooth else "step", "strokeWidth": 2.4}
    curve = mark("line", place, rows=rows, **look)
    return layered([*limits(epsilon, width), curve], width=width, height=height).titled(title, subtitle)


def limits(epsilon: float, width: int) -> list[Spec]:
    """Return dashed lines at +epsilon and -epsilon, with their names at the right end of a picture."""
    rows = [
        {"at": epsilon, "name": f"+ε = {_short(epsilon)}", "side": "bottom"},
        {"at": -epsilon, "name": f"−ε = −{_short(epsilon)}", "side": "top"},
    ]
    up = amount("at")
    drawn = [mark("rule", {"y": up}, rows=rows, strokeDash=[6, 4], color=PALETTE[1], strokeWidth=1.6)]
    named = {"x": {"value": width}, "y": up, "text": words("name")}
    for row, offset in zip(rows, (-5, 5), strict=True):
        look: Spec = {
            "align": "right",
            "baseline": row["side"],
            "dy": offset,
            "color": PALETTE[1],
            "fontSize": 12,
        }
        drawn.append(mark("text", named, rows=[row], **look))
    return drawn


def accuracy(
    mechanisms: Mapping[str, Noise],
    *,
    beta: float = 0.05,
    title: str = "",
    subtitle: str = "",
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """Return Pr[|noise| > r] against r for each mechanism, on a logarithmic scale, with its radius marked."""
    rows, marks = [], []
    for name, mechanism in mechanisms.items():
        furthest = float(mechanism.radius(Fraction(1, 10**4)))
        radius = float(mechanism.radius(Fraction(str(beta))))
        label = f"{name} (± {_short(radius)})"
        for r in _spaced(0, furthest, whole=not isinstance(mechanism, Laplace)):
            rows.append({"r": r, "tail": tail(mechanism, r), "series": label})
        marks.append(
            {"r": radius, "tail": beta, "text": f"± {_short(radius)}" if len(mechanisms) == 1 else ""}
        )
    curves = lines(
        rows,
        x="r",
        y="tail",
        series="series" if len(mechanisms) > 1 else None,
        log_y=True,
        step=not all(isinstance(m, Laplace) for m in mechanisms.values()),
        x_title="r",
        y_title="Pr[ |error| > r ]",
        width=width,
        height=height,
    )
    up = amount("tail")
    place = {"x": amount("r"), "y": up}
    share: Spec = {"align": "right", "baseline": "bottom", "dy": -4, "fontSize": 12, "color": INK}
    return over(
        curves,
        mark("rule", {"y": up}, rows=marks, strokeDash=[6, 4]),
        mark("text", {"x": {"value": width}, "y": up}, rows=marks[:1], text=f"{100 * beta:g} %", **share),
        mark("point", place, rows=marks, filled=True, size=70, color=INK, opacity=1),
        mark(
            "text",
            {**place, "text": words("text")},
            rows=marks,
            align="left",
            dx=8,
            dy=-9,
            fontSize=12,
            color=INK,
        ),
    ).titled(title, subtitle)


def tail(mechanism: Noise, r: float) -> float:
    """Return Pr[|noise| > r], at least 10**-300."""
    match mechanism:
        case Geometric(alpha):
            return exp(max(-690.0, log(2) + (int(r) + 1) * _log(alpha) - log1p(float(alpha))))
        case Staircase():
            return max(1e-300, 2 * float(mechanism.tail(int(r) + 1)))
        case Gaussian():
            return max(1e-300, 2 * float(mechanism.cdf(-int(r) - 1)))
        case Laplace():
            return exp(max(-690.0, -r / float(mechanism.scale)))
        case _:
            assert_never(mechanism)


def portrait(
    mechanism: Additive, answers: Sequence[int | Fraction] = (0, 1), *, epsilon: float | None, title: str
) -> Chart:
    """Return a mechanism's laws at two neighbours, their log-ratio, and its accuracy, one below the other."""
    first, second = (_short(answer) for answer in answers)
    parts = [laws(mechanism, answers, height=220)]
    if epsilon is not None:
        parts.append(log_ratios(mechanism, answers, epsilon=epsilon, height=170))
    noise = mechanism.noise if isinstance(mechanism, TruncatedGeometric | TruncatedLaplace) else mechanism
    parts.append(accuracy({"noise": noise}, height=190))
    return stacked(
        parts, title=title, subtitle=f"two neighbouring datasets, with true answers {first} and {second}"
    )


def support(mechanism: Additive, answers: Sequence[int | Fraction]) -> list[float]:
    """Return the reports worth drawing: nearly all of the probability for every one of the answers."""
    low, high = min(map(float, answers)), max(map(float, answers))
    match mechanism:
        case TruncatedGeometric(_, bottom, top):
            return _spaced(bottom, top, whole=True)
        case TruncatedLaplace(_, _, bottom, top):
            return sorted({*_spaced(float(bottom), float(top), whole=False), low, high})
        case Laplace():
            reach = float(mechanism.scale) * 4.5
            return sorted({*_spaced(low - reach, high + reach, whole=False), low, high})
        case Geometric() | Staircase() | Gaussian():
            reach = float(mechanism.radius(Fraction(1, 200)))
            return _spaced(low - reach, high + reach, whole=True)
        case _:
            assert_never(mechanism)


def _stems(atoms: list[dict[str, Any]], tallest: float) -> list[Spec]:
    """Return the atoms as stems side by side, with their probabilities where there is room for words."""
    left = min(atom["x"] for atom in atoms)
    names = list(dict.fromkeys(atom["series"] for atom in atoms))
    place = {"x": amount("x"), "y": amount("p"), "color": category("series", title=None)}
    drawn = []
    for at, name in enumerate(names):
        for atom in (atom for atom in atoms if atom["series"] == name):
            inward = 1 if atom["x"] == left else -1
            shift = 4 * at * inward
            drawn += [
                mark("rule", {**place, "y2": {"datum": 0}}, rows=[atom], strokeWidth=3, xOffset=shift),
                mark("point", place, rows=[atom], filled=True, size=64, opacity=1, xOffset=shift),
            ]
            if atom["p"] > tallest / 25:
                side = "left" if inward > 0 else "right"
                look: Spec = {"align": side, "dx": shift + 10 * inward, "fontSize": 11.5}
                drawn.append(mark("text", place, rows=[atom], text=f"{atom['p']:.3g}", **look))
    return drawn


def _reports(*, smooth: bool) -> Spec:
    axis = {} if smooth else {"tickMinStep": 1, "format": ",d"}
    return amount("x", title="report", scale={"nice": False, "zero": False}, axis=axis)


def _ends(mechanism: Additive) -> set[float]:
    match mechanism:
        case TruncatedGeometric(_, low, high):
            return {float(low), float(high)}
        case TruncatedLaplace(_, _, low, high):
            return {float(low), float(high)}
        case _:
            return set()


def _spaced(low: float, high: float, *, whole: bool) -> list[float]:
    if not whole:
        return [low + (high - low) * i / POINTS for i in range(POINTS + 1)]
    first, last = ceil(low), int(high)
    stride = max(1, -(-(last - first) // POINTS))
    return [float(x) for x in range(first, last, stride)] + [float(last)]


def _log(x: Fraction) -> float:
    return float(log_bounds(x)[1])


def _short(value: float | Fraction) -> str:
    return f"{float(value):.4g}"
