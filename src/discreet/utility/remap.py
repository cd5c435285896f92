"""How useful a mechanism is to an analyst who makes the best of each answer.

Theorem.  Seeing z, the analyst's best guess maximises  sum over y of prior(y) p(z|y) gain(w, y),  so

    U(p, prior, gain) = sum over z of max over w of sum over y of prior(y) p(z|y) gain(w, y).

For the identity gain this is the probability of guessing right, 1 minus the Bayes risk.  No
post-processing of the answer can increase it, because a remap after a post-processing is a remap.

Tables give rationals.  An `Enclosure`, a channel whose entries are only known between two rationals
(powers of e, for instance), gives certified bounds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from flint import fmpz_mat

from discreet.errors import ParameterError
from discreet.mechanisms.table import Label, Table
from discreet.privacy.bounds import Bounds
from discreet.utility.enclosure import Enclosure
from discreet.utility.loss import Gain, Loss
from discreet.utility.prior import Prior

Remap = Mapping[Label, Label]


@dataclass(frozen=True, slots=True)
class Scores:
    """The weighted worth of each guess (row) after each answer (column), over one denominator."""

    guesses: tuple[Label, ...]
    outputs: tuple[Label, ...]
    entries: list[list[int]]
    unit: int

    @property
    def best(self) -> list[int]:
        """The position of the best guess for each answer; the first one among equals."""
        return [column.index(max(column)) for column in zip(*self.entries, strict=True)]

    @property
    def total(self) -> Fraction:
        """The expected worth of always guessing best."""
        return Fraction(sum(max(column) for column in zip(*self.entries, strict=True)), self.unit)


def scores(
    rows: Sequence[Sequence[Fraction]], outputs: tuple[Label, ...], prior: Prior, gain: Gain
) -> Scores:
    """Return sum over y of prior(y) p(z|y) gain(w, y) for every guess w and answer z."""
    if len(prior) != len(rows) or len(gain.numerators[0]) != len(rows):
        raise ParameterError(
            f"channel, prior and gain must agree on the true answers: {len(rows)}, {len(prior)} "
            f"and {len(gain.numerators[0])}"
        )
    joint = [[mass * entry for entry in row] for mass, row in zip(prior.weights, rows, strict=True)]
    scale = lcm(*(entry.denominator for row in joint for entry in row))
    weighed = fmpz_mat([[entry.numerator * (scale // entry.denominator) for entry in row] for row in joint])
    product = fmpz_mat([list(row) for row in gain.numerators]) * weighed
    entries = [[int(entry) for entry in row] for row in product.tolist()]
    return Scores(gain.guesses, outputs, entries, scale * gain.denominator)


def utility(channel: Table | Enclosure, prior: Prior, gain: Gain) -> Bounds:
    """Return the expected gain of the best remap: exact for a table, certified bounds for an enclosure."""
    match channel:
        case Table():
            return Bounds.exactly(scores(channel.rows, channel.outputs, prior, gain).total)
        case Enclosure():
            # A constant added to every gain adds the same constant to the utility, because rows sum to 1.
            lift = max(0, -min(map(min, gain.numerators)))
            raised = Gain(
                gain.guesses, tuple(tuple(g + lift for g in row) for row in gain.numerators), gain.denominator
            )
            base = Fraction(lift, gain.denominator)
            low = scores(channel.low, channel.outputs, prior, raised).total - base
            high = scores(channel.high, channel.outputs, prior, raised).total - base
            return Bounds(low, high, "certified interval")


def bayes_risk(channel: Table | Enclosure, prior: Prior, loss: Loss) -> Bounds:
    """Return the expected loss of the best remap."""
    worth = utility(channel, prior, loss.gain())
    high = worth.high if worth.high is not None else worth.low
    return Bounds(-high, -worth.low, worth.route)


def best_remap(channel: Table, prior: Prior, gain: Gain | Loss) -> dict[Label, Label]:
    """Return the best guess for each answer."""
    worth = gain.gain() if isinstance(gain, Loss) else gain
    table = scores(channel.rows, channel.outputs, prior, worth)
    return {z: table.guesses[w] for z, w in zip(table.outputs, table.best, strict=True)}


def expected_loss(channel: Table, prior: Prior, loss: Loss, remap: Remap | None = None) -> Fraction:
    """Return the expected loss of a given remap; without one, of taking answers at face value."""
    place = {guess: w for w, guess in enumerate(loss.guesses)}
    chosen = [answer if remap is None else remap[answer] for answer in channel.outputs]
    if any(guess not in place for guess in chosen):
        raise ParameterError("an answer is not among the guesses of the loss; give a remap")
    table = scores(channel.rows, channel.outputs, prior, loss.gain())
    picked = sum(table.entries[place[guess]][z] for z, guess in enumerate(chosen))
    return -Fraction(picked, table.unit)


def expected_gain(channel: Table, prior: Prior, gain: Gain, remap: Remap | None = None) -> Fraction:
    """Return the expected gain of a given remap; without one, of taking answers at face value."""
    return -expected_loss(channel, prior, gain.loss(), remap)


def posterior(channel: Table, prior: Prior, answer: Label) -> tuple[Fraction, ...]:
    """Return the belief about the true answers after seeing `answer`."""
    if answer not in channel.outputs:
        raise ParameterError("the answer is not an output of this channel")
    z = channel.outputs.index(answer)
    joint = [mass * row[z] for mass, row in zip(prior.weights, channel.rows, strict=True)]
    total = sum(joint, Fraction(0))
    if total == 0:
        raise ParameterError("this answer is impossible under the prior, so there is no posterior")
    return tuple(entry / total for entry in joint)


def non_oblivious_utility(
    channel: Table, query: Callable[[Label], Label], prior: Prior, gain: Gain, answers: Sequence[Label]
) -> Fraction:
    """Return the utility of a mechanism whose inputs are databases, for guesses about a query's answer.

    U = sum over z of max over w of sum over x of prior(x) p(z|x) gain(w, query(x)).
    """
    place = {answer: k for k, answer in enumerate(answers)}
    columns = [place.get(query(database)) for database in channel.inputs]
    if any(column is None for column in columns):
        raise ParameterError("the query gives an answer that is not among `answers`")
    pulled = tuple(tuple(row[k] for k in columns if k is not None) for row in gain.numerators)
    return scores(channel.rows, channel.outputs, prior, Gain(gain.guesses, pulled, gain.denominator)).total
