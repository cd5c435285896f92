"""Why a composition costs what it does: what every route of accounting says about it, side by side."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.markup import figure, table
from discreet.privacy.bounds import Bounds


@dataclass(frozen=True, slots=True)
class RouteBound:
    """What one route says about a composition; epsilon is None where the route does not apply."""

    route: str
    epsilon: Fraction | None
    adaptive: str
    theorem: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """All routes side by side."""

    delta: Fraction
    bounds: Bounds
    lines: tuple[RouteBound, ...]

    def __str__(self) -> str:
        head = f"epsilon at delta = {float(self.delta):.6g}: {self.bounds} by {self.bounds.route}"
        rows = [
            f"  {line.route:<18}{'-' if line.epsilon is None else f'{float(line.epsilon):.9g}':>14}  "
            f"{line.adaptive:<17} {line.theorem}"
            for line in self.lines
        ]
        return "\n".join([head, *rows])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [
            (line.route, "" if line.epsilon is None else figure(line.epsilon), line.adaptive, line.theorem)
            for line in self.lines
        ]
        caption = f"ε at δ = {figure(self.delta)}: {self.bounds.words}"
        return table(("route", "ε at most", "later parameters", "theorem"), rows, caption=caption)
