"""What a guess costs when the truth is something else, and its mirror image, what it gains.

A loss l(w, y) is any finite matrix.  It is *monotone* when guessing nearer is never worse: if
|w - y| <= |w' - y| then l(w, y) <= l(w', y), for every truth y.  A gain is the negative of a loss up
to a constant: the identity gain is 1 minus the zero-one loss, the distance gain is D minus the
absolute loss.  Entries are integers over one denominator, so that sums of them stay exact and fast.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from discreet.errors import ParameterError
from discreet.exact.number import Real, rational
from discreet.mechanisms.table import Label

Integers = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Loss:
    """The cost of each guess (row) at each true answer (column): numerators over one denominator."""

    guesses: tuple[Label, ...]
    numerators: Integers
    denominator: int = 1

    def __post_init__(self) -> None:
        _check(self.guesses, self.numerators, self.denominator, "loss")

    @classmethod
    def of(cls, rows: Sequence[Sequence[Real]], guesses: Sequence[Label] | None = None) -> "Loss":
        """Return the loss with these rows, one per guess."""
        return cls(tuple(range(len(rows))) if guesses is None else tuple(guesses), *_scaled(rows, "loss"))

    @classmethod
    def function(
        cls,
        cost: Callable[[Label, Label], Real],
        answers: Sequence[Label],
        guesses: Sequence[Label] | None = None,
    ) -> "Loss":
        """Return the loss cost(guess, truth); the guesses are the answers unless given."""
        chosen = tuple(answers if guesses is None else guesses)
        return cls.of([[cost(guess, truth) for truth in answers] for guess in chosen], chosen)

    @classmethod
    def error(cls, cost: Callable[[Fraction], Real], answers: Sequence[Label]) -> "Loss":
        """Return the loss cost(guess - truth), evaluated once for each distinct error."""
        numbers = [_number(label) for label in answers]
        scale = lcm(*(number.denominator for number in numbers))
        whole = [int(number * scale) for number in numbers]
        errors = {guess - truth for guess in whole for truth in whole}
        exact = {error: rational(cost(Fraction(error, scale)), "loss") for error in errors}
        denominator = lcm(*(value.denominator for value in exact.values()))
        value = {error: int(number * denominator) for error, number in exact.items()}
        rows = tuple(tuple([value[guess - truth] for truth in whole]) for guess in whole)
        return cls(tuple(answers), rows, denominator)

    @classmethod
    def zero_one(cls, answers: Sequence[Label]) -> "Loss":
        """Return 0 for the right guess and 1 for any other."""
        return cls.function(lambda guess, truth: int(guess != truth), answers)

    @classmethod
    def absolute(cls, answers: Sequence[Label]) -> "Loss":
        """Return the distance |w - y|."""
        return cls.error(abs, answers)

    @classmethod
    def squared(cls, answers: Sequence[Label]) -> "Loss":
        """Return the squared distance (w - y)**2."""
        return cls.error(lambda error: error**2, answers)

    @classmethod
    def asymmetric(cls, answers: Sequence[Label], *, over: Real, under: Real) -> "Loss":
        """Return `over` for each unit guessed too high and `under` for each unit too low."""
        high, low = rational(over, "over"), rational(under, "under")
        return cls.error(lambda error: high * error if error > 0 else -low * error, answers)

    @classmethod
    def within(cls, answers: Sequence[Label], distance: Real) -> "Loss":
        """Return 0 for a guess at most `distance` away from the truth and 1 beyond."""
        reach = rational(distance, "distance")
        return cls.error(lambda error: int(abs(error) > reach), answers)

    @classmethod
    def circular(cls, size: int) -> "Loss":
        """Return the number of steps between two answers on a cycle of `size`."""
        return cls.error(lambda error: min(abs(error), size - abs(error)), range(size))

    @property
    def rows(self) -> tuple[tuple[Fraction, ...], ...]:
        """The entries as fractions."""
        return _rows(self.numerators, self.denominator)

    @property
    def span(self) -> Fraction:
        """The largest cost minus the smallest."""
        return Fraction(max(map(max, self.numerators)) - min(map(min, self.numerators)), self.denominator)

    def is_monotone(self) -> bool:
        """Whether guesses and truths are 0, 1, ..., n and a guess nearer to the truth never costs more."""
        size = len(self.numerators)
        if self.guesses != tuple(range(size)) or len(self.numerators[0]) != size:
            return False
        for truth in range(size):
            worst = self.numerators[truth][truth]
            for step in range(1, size):
                sides = {self.numerators[w][truth] for w in (truth - step, truth + step) if 0 <= w < size}
                if len(sides) == 2 or (sides and min(sides) < worst):
                    return False
                worst = max(sides, default=worst)
        return True

    def gain(self, top: Real = 0) -> "Gain":
        """Return top - loss."""
        return Gain(self.guesses, *_mirror(self.numerators, self.denominator, top))

    def part(self, places: Sequence[int]) -> "Loss":
        """Return the loss restricted to some true answers."""
        kept = tuple(tuple(row[place] for place in places) for row in self.numerators)
        return Loss(self.guesses, kept, self.denominator)


@dataclass(frozen=True, slots=True)
class Gain:
    """The worth of each guess (row) at each true answer (column): numerators over one denominator."""

    guesses: tuple[Label, ...]
    numerators: Integers
    denominator: int = 1

    def __post_init__(self) -> None:
        _check(self.guesses, self.numerators, self.denominator, "gain")

    @classmethod
    def of(cls, rows: Sequence[Sequence[Real]], guesses: Sequence[Label] | None = None) -> "Gain":
        """Return the gain with these rows, one per guess."""
        return cls(tuple(range(len(rows))) if guesses is None else tuple(guesses), *_scaled(rows, "gain"))

    @classmethod
    def identity(cls, answers: Sequence[Label]) -> "Gain":
        """Return 1 for the right guess and 0 for any other: the analyst is happy only with the truth."""
        return Loss.zero_one(answers).gain(1)

    @classmethod
    def distance(cls, answers: Sequence[Label]) -> "Gain":
        """Return D - |w - y|, where D is the largest distance between two answers."""
        loss = Loss.absolute(answers)
        return loss.gain(loss.span)

    @property
    def rows(self) -> tuple[tuple[Fraction, ...], ...]:
        """The entries as fractions."""
        return _rows(self.numerators, self.denominator)

    def loss(self, top: Real = 0) -> Loss:
        """Return top - gain."""
        return Loss(self.guesses, *_mirror(self.numerators, self.denominator, top))


def _scaled(rows: Sequence[Iterable[Real]], kind: str) -> tuple[Integers, int]:
    exact = [[rational(entry, kind) for entry in row] for row in rows]
    scale = lcm(*(entry.denominator for row in exact for entry in row))
    return tuple(tuple(e.numerator * (scale // e.denominator) for e in row) for row in exact), scale


def _rows(numerators: Integers, denominator: int) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(Fraction(entry, denominator) for entry in row) for row in numerators)


def _mirror(numerators: Integers, denominator: int, top: Real) -> tuple[Integers, int]:
    best = rational(top, "top")
    scale = lcm(denominator, best.denominator)
    height, factor = int(best * scale), scale // denominator
    return tuple(tuple(height - entry * factor for entry in row) for row in numerators), scale


def _check(guesses: tuple[Label, ...], rows: Integers, denominator: int, kind: str) -> None:
    if not guesses or not rows or not rows[0]:
        raise ParameterError(f"a {kind} needs at least one guess and one answer")
    if len(set(guesses)) != len(guesses):
        raise ParameterError("the guesses must be distinct")
    if len(rows) != len(guesses):
        raise ParameterError(f"a {kind} needs one row per guess: {len(guesses)}, got {len(rows)}")
    if len({len(row) for row in rows}) != 1:
        raise ParameterError(f"the rows of a {kind} must have equal lengths")
    if denominator < 1:
        raise ParameterError(f"the denominator of a {kind} must be positive, got {denominator}")


def _number(label: Label) -> Fraction:
    if isinstance(label, str):
        raise ParameterError(f"this loss needs answers that are numbers, got {label!r}")
    return rational(label)
