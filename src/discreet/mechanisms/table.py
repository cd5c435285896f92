"""A mechanism written out in full: any finite channel with rational entries.

Theorem.  Let p(z|y) be the probability of answering z when the truth is y, and let some pairs of
truths be neighbours.  The channel is (epsilon, delta)-private exactly when, for every pair of
neighbours y, y' in either order,

    sum over z of max(0, p(z|y) - e**epsilon * p(z|y'))  <=  delta.

So the smallest pure epsilon is the logarithm of the largest ratio p(z|y) / p(z|y'), which is rational
or infinite, and delta is a rational function of e**epsilon that falls as epsilon grows.  A remap or a
second channel applied to the answer can only make every one of these sums smaller.

References.  Post-processing: Dwork, Roth, Foundations and Trends 9(3-4), 2014.  Channels: Alvim,
Andres, Chatzikokolakis, Degano, Palamidessi, ICALP 2011.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any, Protocol

from discreet.errors import ParameterError
from discreet.exact.choice import choose_counted
from discreet.exact.number import (
    Real,
    exp_bounds,
    listed,
    log_bounds,
    log_up,
    non_negative,
    probability,
    rational,
    shown,
    whole,
)
from discreet.markup import card, figure, table
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Approximate, Profile, Pure

Label = int | str | Fraction
Pair = tuple[int, int]

SHOWN = 12
"""Larger tables are not written out in a notebook."""


class IntegerNoise(Protocol):
    """What an additive mechanism must tell for its clamped channel to be written out."""

    def pmf(self, k: int, /) -> Fraction:
        """Return Pr[Z = k] exactly."""
        ...

    def cdf(self, k: int, /) -> Fraction:
        """Return Pr[Z <= k] exactly."""
        ...


@dataclass(frozen=True, slots=True)
class Table:
    """A finite channel: one row of exact probabilities per input, one column per output.

    `neighbours` holds pairs of positions in `inputs` (smaller first, sorted); None means that any two
    inputs are neighbours.
    """

    inputs: tuple[Label, ...]
    outputs: tuple[Label, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    neighbours: tuple[Pair, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            object.__setattr__(self, name, _labels(getattr(self, name), name))
        object.__setattr__(self, "rows", tuple(_entries(row) for row in listed(self.rows, "rows")))
        for name, labels in (("inputs", self.inputs), ("outputs", self.outputs)):
            if not labels:
                raise ParameterError(f"a table needs at least one of its {name}")
            if len(set(labels)) != len(labels):
                raise ParameterError(f"the {name} of a table must be distinct")
        if len(self.rows) != len(self.inputs):
            raise ParameterError(f"a table needs one row per input: {len(self.inputs)}, got {len(self.rows)}")
        for label, row in zip(self.inputs, self.rows, strict=True):
            if len(row) != len(self.outputs):
                raise ParameterError(f"row {label!r} needs {len(self.outputs)} entries, got {len(row)}")
            if any(entry.numerator < 0 for entry in row):
                raise ParameterError(f"row {label!r} holds a negative probability")
            if exact_sum(row) != 1:
                raise ParameterError(f"row {label!r} must sum to 1 exactly, it sums to {float(sum(row))!r}")
        size = len(self.inputs)
        if self.neighbours is not None:
            object.__setattr__(self, "neighbours", tuple(map(_pair, listed(self.neighbours, "neighbours"))))
        for first, second in self.neighbours or ():
            if not 0 <= first < second < size:
                raise ParameterError(f"neighbours must be pairs of positions i < j below {size}")

    @classmethod
    def of(
        cls,
        rows: Sequence[Sequence[Real]],
        *,
        inputs: Sequence[Label] | None = None,
        outputs: Sequence[Label] | None = None,
        neighbours: Iterable[tuple[Label, Label]] | None = None,
    ) -> "Table":
        """Return the channel with these rows; labels default to 0, 1, ..., neighbours are pairs of inputs."""
        exact = tuple(_entries(row) for row in listed(rows, "rows"))
        names = tuple(range(len(exact))) if inputs is None else _labels(inputs, "inputs")
        width = len(exact[0]) if exact else 0
        return cls(
            names,
            tuple(range(width)) if outputs is None else _labels(outputs, "outputs"),
            exact,
            None if neighbours is None else positions(names, map(_pair, listed(neighbours, "neighbours"))),
        )

    @classmethod
    def from_law(
        cls,
        law: Callable[[Label, Label], Fraction],
        inputs: Sequence[Label],
        outputs: Sequence[Label],
        *,
        neighbours: Iterable[tuple[Label, Label]] | None = None,
    ) -> "Table":
        """Return the channel with entries law(input, output), for any mechanism with an exact finite law."""
        rows = [[law(truth, answer) for answer in outputs] for truth in inputs]
        return cls.of(rows, inputs=inputs, outputs=outputs, neighbours=neighbours)

    @classmethod
    def from_noise(cls, noise: IntegerNoise, low: int, high: int, *, sensitivity: int = 1) -> "Table":
        """Return additive integer noise on a truth in [low, high], clamped to the same interval.

        Clamping is post-processing, so the channel is as private as the noise; truths at most
        `sensitivity` apart are neighbours.
        """
        if low > high:
            raise ParameterError(f"low must not exceed high, got low={low} and high={high}")
        if sensitivity < 1:
            raise ParameterError(f"sensitivity must be at least 1, got {shown(sensitivity)}")
        if low == high:
            return cls((low,), (low,), ((Fraction(1),),), ())
        # The row of y is a slice of one law, so each probability is computed once.
        law = {k: noise.pmf(k) for k in range(low - high + 1, high - low)}
        rows = tuple(
            (
                noise.cdf(low - truth),
                *(law[z - truth] for z in range(low + 1, high)),
                1 - noise.cdf(high - 1 - truth),
            )
            for truth in range(low, high + 1)
        )
        span = tuple(range(low, high + 1))
        near = tuple(
            (i, j) for i in range(len(span)) for j in range(i + 1, min(i + sensitivity, len(span) - 1) + 1)
        )
        return cls(span, span, rows, near)

    def row(self, truth: Label) -> tuple[Fraction, ...]:
        """Return the law of the answer when the truth is `truth`, in the order of `outputs`."""
        return self.rows[_position(self.inputs, truth, "input")]

    def pmf(self, truth: Label) -> dict[Label, Fraction]:
        """Return the probability of each answer when the truth is `truth`."""
        return dict(zip(self.outputs, self.row(truth), strict=True))

    def cdf(self, truth: Label, answer: Real) -> Fraction:
        """Return Pr[Z <= answer] when the truth is `truth`; the outputs must be numbers."""
        bound = rational(answer, "answer")
        numbers = self._numbers("cdf")
        return sum((p for z, p in zip(numbers, self.row(truth), strict=True) if z <= bound), Fraction(0))

    def sample(self, truth: Label) -> Label:
        """Return one answer drawn exactly from the row of `truth`."""
        return self.outputs[choose_counted(integer_weights(self.row(truth)))]

    def pairs(self, steps: int = 1) -> Iterator[Pair]:
        """Yield the pairs of positions (i < j) whose inputs are at most `steps` apart along the graph."""
        steps = whole(steps, "steps")
        if steps < 1:
            raise ParameterError(f"steps must be at least 1, got {shown(steps)}")
        if self.neighbours is None:
            yield from combinations(range(len(self.inputs)), 2)
        elif steps == 1:
            yield from self.neighbours
        else:
            for start in range(len(self.inputs)):
                yield from ((start, end) for end in sorted(self._reach(start, steps)) if start < end)

    def ratio(self, steps: int = 1) -> Fraction | None:
        """Return the smallest e**epsilon that holds for inputs `steps` apart; None when it is infinite."""
        largest = Fraction(1)
        for i, j in self._extreme_pairs(steps):
            for p, q in zip(self.rows[i], self.rows[j], strict=True):
                if (p == 0) != (q == 0):
                    return None
                if p and p != q:
                    largest = max(largest, p / q, q / p)
        return largest

    def epsilon(self, steps: int = 1) -> Bounds:
        """Return the smallest pure epsilon that holds for inputs `steps` apart."""
        largest = self.ratio(steps)
        if largest is None:
            return Bounds(Fraction(0), None, "an answer is possible for one neighbour only")
        return Bounds(*log_bounds(largest)) if largest > 1 else Bounds.exactly(Fraction(0))

    def delta_at_ratio(self, ratio: Real, steps: int = 1) -> Fraction:
        """Return the exact smallest delta when e**epsilon is the rational `ratio`."""
        factor = rational(ratio, "ratio")
        if factor < 1:
            raise ParameterError(f"ratio stands for e**epsilon and must be at least 1, got {shown(ratio)}")
        worst = Fraction(0)
        for i, j in self.pairs(steps):
            for p, q in ((self.rows[i], self.rows[j]), (self.rows[j], self.rows[i])):
                worst = max(
                    worst, exact_sum([a - factor * b for a, b in zip(p, q, strict=True) if a > factor * b])
                )
        return worst

    def delta(self, epsilon: Real, steps: int = 1) -> Bounds:
        """Return certified bounds on the smallest delta at a rational epsilon."""
        cost = non_negative(epsilon, "epsilon")
        if cost == 0:
            return Bounds.exactly(self.delta_at_ratio(1, steps))
        low, high = exp_bounds(cost)
        return Bounds(self.delta_at_ratio(high, steps), self.delta_at_ratio(low, steps))

    def _repr_html_(self) -> str:
        size = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs; {self.guarantee().words}"
        if max(len(self.inputs), len(self.outputs)) > SHOWN:
            return card("Table", [("size", size)])
        rows = [[str(i), *map(figure, row)] for i, row in zip(self.inputs, self.rows, strict=True)]
        return table(["", *map(str, self.outputs)], rows, caption=f"Table: {size}")

    def guarantee(self, steps: int = 1) -> Pure | Approximate:
        """Return the promise for inputs `steps` apart, approximate only where a ratio is infinite."""
        largest = self.ratio(steps)
        if largest is not None:
            return Pure(log_up(largest) if largest > 1 else Fraction(0))
        finite, slack = Fraction(1), Fraction(0)
        for i, j in self.pairs(steps):
            for p, q in ((self.rows[i], self.rows[j]), (self.rows[j], self.rows[i])):
                both = [a / b for a, b in zip(p, q, strict=True) if b]
                finite = max(finite, *both)
                slack = max(slack, exact_sum([a for a, b in zip(p, q, strict=True) if not b]))
        return Approximate(log_up(finite) if finite > 1 else Fraction(0), slack)

    def profile(self, steps: int = 1) -> Profile:
        """Return the exact loss law that dominates every pair of neighbours, for tight composition."""
        pairs = [
            tuple(zip(self.rows[i], self.rows[j], strict=True))
            for i, j in self.pairs(steps)
            if self.rows[i] != self.rows[j]
        ]
        return Profile.of_atoms(*pairs) if pairs else Profile.of_atoms(((Fraction(1), Fraction(1)),))

    def radius(self, beta: Real) -> Fraction:
        """Return the smallest r with Pr[|Z - y| > r] <= beta for every input y; labels must be numbers."""
        level = probability(beta, "beta")
        answers = self._numbers("radius")
        if any(isinstance(truth, str) for truth in self.inputs):
            raise ParameterError("radius needs inputs that are numbers")
        worst = Fraction(0)
        for truth, row in zip(self.inputs, self.rows, strict=True):
            outside = Fraction(1)
            by_error = sorted((abs(z - rational(truth)), p) for z, p in zip(answers, row, strict=True) if p)
            for error, p in by_error:
                outside -= p
                if outside <= level:
                    worst = max(worst, error)
                    break
        return worst

    def then(self, step: "Table | Mapping[Label, Label] | Callable[[Label], Label]") -> "Table":
        """Return this channel followed by a remap of its answers or by a second channel."""
        if isinstance(step, Table):
            if not set(self.outputs) <= set(step.inputs):
                raise ParameterError("the inputs of the second channel must contain the outputs of the first")
            second = [step.row(answer) for answer in self.outputs]
            rows = tuple(
                tuple(
                    exact_sum([p * column[target] for p, column in zip(row, second, strict=True) if p])
                    for target in range(len(step.outputs))
                )
                for row in self.rows
            )
            return Table(self.inputs, step.outputs, rows, self.neighbours)
        change = step.__getitem__ if isinstance(step, Mapping) else step
        images = [change(answer) for answer in self.outputs]
        kept = tuple(dict.fromkeys(images))
        sources = {image: [z for z, other in enumerate(images) if other == image] for image in kept}
        merged = [
            tuple(row[z[0]] if len(z) == 1 else exact_sum([row[k] for k in z]) for z in sources.values())
            for row in self.rows
        ]
        return Table(self.inputs, kept, tuple(merged), self.neighbours)

    def to_json(self) -> str:
        """Return the channel as JSON text from which `from_json` restores it exactly."""
        return json.dumps(
            {
                "mechanism": "table",
                "inputs": [dump_label(label) for label in self.inputs],
                "outputs": [dump_label(label) for label in self.outputs],
                "neighbours": None if self.neighbours is None else [list(pair) for pair in self.neighbours],
                "rows": [[str(entry) for entry in row] for row in self.rows],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Table":
        """Restore a channel; it is validated as if it were new."""
        try:
            data = json.loads(text)
            if data["mechanism"] != "table":
                raise KeyError
            pairs = data["neighbours"]
            return cls(
                tuple(load_label(label) for label in data["inputs"]),
                tuple(load_label(label) for label in data["outputs"]),
                tuple(tuple(Fraction(entry) for entry in row) for row in data["rows"]),
                None if pairs is None else tuple((int(i), int(j)) for i, j in pairs),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError("this text is not a stored table") from None

    def _extreme_pairs(self, steps: int) -> Iterator[Pair]:
        if self.neighbours is None:
            # Among all pairs only the largest and smallest entry of each column matter.
            for column in zip(*self.rows, strict=True):
                yield column.index(max(column)), column.index(min(column))
        else:
            yield from self.pairs(steps)

    def _reach(self, start: int, steps: int) -> set[int]:
        near: dict[int, set[int]] = {}
        for i, j in self.neighbours or ():
            near.setdefault(i, set()).add(j)
            near.setdefault(j, set()).add(i)
        seen, frontier = {start}, {start}
        for _ in range(min(steps, len(self.inputs))):
            frontier = {far for place in frontier for far in near.get(place, ())} - seen
            seen |= frontier
        return seen

    def _numbers(self, verb: str) -> list[Fraction]:
        if any(isinstance(label, str) for label in self.outputs):
            raise ParameterError(f"{verb} needs outputs that are numbers")
        return [rational(label) for label in self.outputs]


def _labels(labels: object, name: str) -> tuple[Label, ...]:
    found = listed(labels, name)
    if not all(isinstance(label, int | str | Fraction) for label in found):
        raise ParameterError(f"the {name} of a table must be integers, texts or fractions")
    return found


def _entries(row: object) -> tuple[Fraction, ...]:
    found = listed(row, "a row of probabilities")
    return tuple(entry if type(entry) is Fraction else rational(entry, "probability") for entry in found)


def _pair(pair: object) -> tuple[Any, Any]:
    found = listed(pair, "a pair of neighbours")
    if len(found) != 2:
        raise ParameterError("neighbours must be pairs")
    return found[0], found[1]


def positions(labels: Sequence[Label], pairs: Iterable[tuple[Label, Label]]) -> tuple[Pair, ...]:
    """Return pairs of labels as sorted pairs of distinct positions."""
    found = set()
    for first, second in pairs:
        i, j = _position(labels, first, "input"), _position(labels, second, "input")
        if i != j:
            found.add((min(i, j), max(i, j)))
    return tuple(sorted(found))


def integer_weights(row: Sequence[Fraction]) -> list[int]:
    """Return the integers proportional to a row of rationals."""
    factor = _factors(row)
    return [entry.numerator * factor[entry.denominator] for entry in row]


def exact_sum(terms: Sequence[Fraction]) -> Fraction:
    """Return the sum over one common denominator, which is faster than adding fraction by fraction."""
    if not terms:
        return Fraction(0)
    factor = _factors(terms)
    scale = terms[0].denominator * factor[terms[0].denominator]
    return Fraction(sum(term.numerator * factor[term.denominator] for term in terms), scale)


def _factors(terms: Sequence[Fraction]) -> dict[int, int]:
    """Return by what each denominator must be multiplied to reach the least common one."""
    denominators = {term.denominator for term in terms}
    scale = max(denominators)
    # Powers of one base, as mechanisms have, divide the largest of them: no search is needed.
    if any(scale % one for one in denominators):
        scale = lcm(*denominators)
    return {one: scale // one for one in denominators}


def _position(labels: Sequence[Label], label: Label, kind: str) -> int:
    try:
        return labels.index(label)
    except ValueError:
        raise ParameterError(f"{label!r} is not an {kind} of this table") from None


def dump_label(label: Label) -> int | str | dict[str, str]:
    """Return a label as JSON can hold it."""
    return {"rational": str(label)} if isinstance(label, Fraction) else label


def load_label(label: int | str | dict[str, str]) -> Label:
    """Return the label that JSON held."""
    if isinstance(label, dict):
        return Fraction(label["rational"])
    if isinstance(label, bool) or not isinstance(label, int | str):
        raise ParameterError("a stored label must be an integer, a text or a rational")
    return label
