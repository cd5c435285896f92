"""The questions of a batch, each with its own quote at the price of all."""

from collections.abc import Iterator
from dataclasses import replace

from discreet.query.check.batch import Batch, disjoint
from discreet.query.price.expected import Expected, Quote, expect
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.together import Together


def parts(batch: Batch, priced: Quote) -> Iterator[tuple[Quote, list[tuple[int, int]]]]:
    """Yield each question's own quote at the price of all, and where its answers lie in the whole."""
    joint = priced.shares[0].mechanism
    if not isinstance(joint, Together):
        raise TypeError("a batch is measured together")
    for checked, starts in zip(batch.questions, batch.starts, strict=True):
        keys = disjoint(checked).product()
        spans = [(start, start + len(keys)) for start in starts]
        shares = tuple(
            MeasurementShare(
                measured,
                replace(
                    joint,
                    variances=joint.variances[start:stop],
                    places={key: place for place, key in enumerate(keys)},
                ),
            )
            for measured, (start, stop) in zip(checked.measurements, spans, strict=True)
        )
        own = replace(priced, checked=checked, shares=shares, expected=())
        yield replace(own, expected=_expected(own)), spans


def _expected(priced: Quote) -> tuple[Expected, ...]:
    return tuple(expect(priced, output.name, output.formula) for output in priced.checked.columns)
