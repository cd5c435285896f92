"""Probabilities under normal noise, enclosed in balls, and the events that tell normal laws apart.

Theorem (half-spaces).  Let M(D1) and M(D2) add independent normal noise of standard deviations s_i to means
that are c_i apart, and put D**2 = sum of c_i**2 / s_i**2.  The logarithm of the ratio of the two densities is
a linear function of the output, normal with mean D**2 / 2 or -D**2 / 2 and variance D**2; so the events that
break a claim of epsilon and delta, if any does, include the half-space where it is at least epsilon.

Theorem (concentration).  A rho-concentrated program satisfies p <= q**(1 - 1/a) exp((a - 1) rho) for every
event, with probabilities p and q on two neighbours, and every order a > 1.
Proof.  The Renyi divergence of order a of the event's indicator is at least (a ln p + (1 - a) ln q) / (a - 1)
and by data processing at most a rho.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from flint import arb, ctx

from discreet.exact.number import ball, ends
from discreet.verify.explore import ExploredPath, Form, path_probability
from discreet.verify.integrate import Inequality, NormalLaw, TooHardError, enclosure
from discreet.verify.run import Value

ORDERS = tuple(Fraction(2) ** k for k in range(1, 11))
WIDEST = 2000
"""Standard deviations of integer noise beyond this take too many terms to add up."""
PRECISIONS = (128, 1024)


def chance(path: ExploredPath, event: tuple[Inequality, ...]) -> arb:
    """Return a ball around the probability that a path is taken and an event on its noises occurs."""
    plain: list[Inequality] = []
    limits: dict[int, list[Inequality]] = {}
    joint: list[Inequality] = []
    for item in (*path.conditions, *event):
        normal = [isinstance(path.densities[n], NormalLaw) for n, _ in item.coefficients]
        if not any(normal):
            plain.append(item)
        elif not all(normal):
            raise TooHardError("normal noise is compared with noise of another kind")
        elif len(normal) == 1:
            limits.setdefault(item.coefficients[0][0], []).append(item)
        else:
            joint.append(item)
    rest = path_probability(replace(path, conditions=tuple(plain)), ())
    result = enclosure(rest.numerator, ctx.prec) / enclosure(rest.denominator, ctx.prec)
    for noise, items in limits.items():
        result *= _inside(path.densities[noise], items)  # type: ignore[arg-type]
    touched = [n for item in joint for n, _ in item.coefficients]
    if len(touched) != len(set(touched)) or limits.keys() & set(touched):
        raise TooHardError("normal noises are compared in more than one way")
    for item in joint:
        result *= _half_space(path.densities, item)  # type: ignore[arg-type]
    return result


def _half_space(densities: Mapping[int, NormalLaw], item: Inequality) -> arb:
    if any(densities[n].whole for n, _ in item.coefficients):
        raise TooHardError("integer noises are compared with each other")
    variance = sum((slope * densities[n].scale) ** 2 for n, slope in item.coefficients)
    return _above(ball(-item.constant) / ball(variance).sqrt())


def _above(z: arb) -> arb:
    """Return the probability that a standard normal number is above z."""
    return (z / ball(2).sqrt()).erfc() / 2


def _inside(law: NormalLaw, items: Sequence[Inequality]) -> arb:
    if law.whole:
        bounds = [item.integer_bound() for item in items]
        least = max((low for low, _ in bounds if low is not None), default=None)
        most = min((high for _, high in bounds if high is not None), default=None)
        return _whole(law.scale, least, most)
    lows = [-i.constant / i.coefficients[0][1] for i in items if i.coefficients[0][1] > 0]
    highs = [-i.constant / i.coefficients[0][1] for i in items if i.coefficients[0][1] < 0]
    if lows and highs and max(lows) >= min(highs):
        return arb(0)
    low = _above(ball(max(lows) / law.scale)) if lows else None
    if not highs:
        return arb(1) if low is None else low
    high = min(highs) / law.scale
    return _above(ball(-high)) if low is None else low - _above(ball(high))


def _whole(scale: Fraction, least: int | None, most: int | None) -> arb:
    """Return the probability of an interval of integers under the discrete Gaussian law."""
    if scale > WIDEST:
        raise TooHardError("integer noise is too wide")
    if least is None and most is None:
        return arb(1)
    if least is None or (most is not None and most < 0):
        # The law is symmetric: look at the side where terms fall.
        least, most = (-most if most is not None else None), (-least if least is not None else None)
    if least is not None and most is not None and least > most:
        return arb(0)
    everything = _sum(scale, 1, None) * 2 + 1
    if least is not None and least <= 0:
        below = _sum(scale, 1 - least, None)
        return (everything - below - (_sum(scale, most + 1, None) if most is not None else 0)) / everything
    return _sum(scale, least or 0, most) / everything


def _sum(scale: Fraction, start: int, end: int | None) -> arb:
    """Return the sum of exp(-k**2 / (2 scale**2)) for k from start >= 1 to end."""
    reach = start + ceil(scale * ceil(2 * ctx.prec) ** 0.5) + 1
    last = reach if end is None else min(end, reach)
    total = arb(0)
    for k in range(start, last + 1):
        total += ball(-Fraction(k * k) / (2 * scale**2)).exp()
    if end is not None and end <= reach:
        return total
    # The terms beyond fall faster than a geometric series.
    ratio = ball(-Fraction(reach) / scale**2).exp()
    tail = ball(-Fraction(reach * reach) / (2 * scale**2)).exp() * ratio / (1 - ratio)
    return total + tail * arb(0.5, 0.5)


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """Outputs of one shape with given discrete entries whose weighted sum is at least a threshold."""

    fixed: tuple[Value | None, ...]
    weights: tuple[Fraction, ...]
    least: Fraction

    def needs(self, path: ExploredPath) -> tuple[Inequality, ...] | None:
        """Return the condition on the noise under which a path's output belongs here, or None if never."""
        flat = [e for value in path.output for e in (value if isinstance(value, tuple) else (value,))]
        if len(flat) != len(self.fixed):
            return None
        total = Form(-self.least, ())
        for entry, fixed, weight in zip(flat, self.fixed, self.weights, strict=True):
            if weight:
                total = total + entry * weight  # a path that adds no noise here has a number
            elif fixed is not None and (isinstance(entry, Form) or entry != fixed):
                return None
        return (Inequality(total.constant, total.coefficients),)

    def words(self) -> str:
        """Return the event as text."""
        parts = [f"{w} * entry {n}" for n, w in enumerate(self.weights, start=1) if w]
        fixed = [f"entry {n} = {v}" for n, v in enumerate(self.fixed, start=1) if v is not None]
        return ", ".join([*fixed, f"{' + '.join(parts)} >= {self.least}"])


def half_spaces(
    one: tuple[ExploredPath, tuple[Value, ...]],
    two: tuple[ExploredPath, tuple[Value, ...]],
    epsilon: Fraction,
    rho: Fraction | None,
) -> Iterator[HalfSpace]:
    """Yield half-spaces that tell two outputs apart: where the ratio of their densities is large."""
    told = [_apart(a, b, one[0], two[0]) for a, b in zip(one[1], two[1], strict=True)]
    known = {n: found for n, found in enumerate(told) if found is not None and found[0] != found[1]}
    if any(whole for _, _, _, whole in known.values()):
        best = max(known, key=lambda n: abs(known[n][0] - known[n][1]) / known[n][2])
        known = {best: known[best]}
    if not known:
        return
    slopes = {n: (a - b) / scale**2 for n, (a, b, scale, _) in known.items()}
    middle = sum((slopes[n] * (known[n][0] + known[n][1]) / 2 for n in known), Fraction(0))
    square = sum(((a - b) / scale) ** 2 for a, b, scale, _ in known.values())
    wanted = [epsilon] if rho is None else [(order - Fraction(1, 2)) * square for order in ORDERS]
    if rho is not None and square / 2 <= rho:
        return
    fixed = tuple(None if isinstance(v, Form) else v for v in one[1])
    weights = tuple(slopes.get(n, Fraction(0)) for n in range(len(told)))
    for loss in wanted:
        yield HalfSpace(fixed, weights, middle + loss)


def _apart(
    first: Value, second: Value, one: ExploredPath, two: ExploredPath
) -> tuple[Fraction, Fraction, Fraction, bool] | None:
    """Return both means, the deviation, and whether it is integer noise, of entries with one normal noise."""
    found = []
    for entry, path in ((first, one), (second, two)):
        if not isinstance(entry, Form) or len(entry.coefficients) != 1:
            return None
        ((noise, slope),) = entry.coefficients
        law = path.densities[noise]
        if not isinstance(law, NormalLaw):
            return None
        found.append((entry.constant, abs(slope) * law.scale, law.whole))
    (a, scale, whole), (b, other, _) = found
    return (a, b, scale, whole) if scale == other else None


def allowed(rho: Fraction, above: arb, below: arb) -> Fraction | None:
    """Return an epsilon that a rho-concentrated program keeps on an event; None where it cannot be told.

    An event that is impossible on one input is impossible on its neighbours, whatever rho.
    """
    if below.is_zero() or rho == 0:
        return Fraction(0)
    if not (below > 0 and above > below):
        return None
    loss = (above / below).log()
    order = max(Fraction(11, 10), (ends(loss)[0] + rho) / (2 * rho)).limit_denominator(1000)
    return max(Fraction(0), ends(ball((order - 1) * rho) - below.log() / ball(order))[1])
