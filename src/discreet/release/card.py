"""The card that goes with a published answer: what is promised, to whom, and what is not covered."""

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.adjacency import Adjacency
from discreet.query.price.expected import reach_of
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.sparse import Sparse
from discreet.query.price.together import Together
from discreet.query.price.words import paid
from discreet.show.markdown import code, plain
from discreet.show.number import format_number

if TYPE_CHECKING:
    from discreet.query.price.expected import Quote
    from discreet.release.answer import Release

BETA = Fraction(1, 20)


def card(release: "Release") -> str:
    """Return the statement, as short Markdown."""
    priced, unit = release.quote, release.unit
    whom = "each row" if unit.column is None else f"each person ({code(unit.column)})"
    match unit.adjacency:
        case Adjacency.ADD_REMOVE:
            differ = "with or without them"
        case Adjacency.REPLACE:
            differ = "whatever their data were"
    lines = [
        f"### {plain(release.dataset)}: a differentially private answer",
        "",
        f"Question: {code(release.question)}",
        "",
        f"- **Protects** {whom}: the answer would have been almost as likely {differ}.",
        f"- **Strength**: {paid(priced)}.",
        *(f"- **Noise**: {_noise(share)}." for share in priced.shares),
        f"- **Intervals** hold with {float(priced.confidence):.0%} confidence; {_covered(priced)}.",
        *(f"- **Missing**: {plain(why)}." for why in release.missing),
        *(f"- **Note**: {plain(note)}." for note in priced.checked.notes),
    ]
    if priced.checked.contribution is not None:
        lines.append(
            "- **Limits**: what one person adds is bounded as declared; values outside the declared "
            "bounds were clamped to them."
        )
    lines += [f"- **Receipt**: {code(str(release.receipt))}"]
    return "\n".join(lines)


def _covered(priced: "Quote") -> str:
    if priced.checked.capping is None:
        return "they cover the noise"
    most = priced.checked.capping.most
    return f"they cover the noise and what the limit of rows takes away, if nobody has more than {most}"


def _noise(share: MeasurementShare) -> str:
    name = code(share.measured.name)
    match share.mechanism:
        case Together() as joint:
            worst = format_number(joint.radius(BETA) / share.measured.scale)
            return f"{name}: all groups measured together, {joint.name}, ± {worst} at 95 % at most"
        case Sparse():
            return f"{name}: exact geometric noise, in cells or, where rows are few, in blocks of like cells"
        case Geometric() | Staircase() | Gaussian() as noise:
            kind = type(noise).__name__.lower()
            scale = share.measured.scale
            return f"{name}: exact {kind} noise, ± {format_number(reach_of(noise, BETA) / scale)} at 95 %"
        case Exponential() | PermuteAndFlip() as choice:
            kind = "exponential mechanism" if isinstance(choice, Exponential) else "permute-and-flip"
            return f"{name}: chosen by the {kind}"
        case KeyWeight() as weighted:
            reached = format_number(Fraction(weighted.threshold, weighted.one))
            return (
                f"{name}: group keys shown only where a noisy weight of their people reaches {reached}; "
                "who is in m groups weighs 1/sqrt(m) in each"
            )
        case KeyCount() | KeyGaussian() as selection:
            least = selection.threshold
            return f"{name}: group keys shown only where a noisy count of their people reaches {least}"
