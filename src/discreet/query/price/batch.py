"""The questions of a batch, each with its own quote at the price of all."""

from collections.abc import Iterator
from dataclasses import replace

from discreet.query.check.batch import Batch, Slice, listed
from discreet.query.price.expected import Expected, Quote, expect
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.together import Together


def parts(batch: Batch, priced: Quote) -> Iterator[tuple[Quote, tuple[Slice, ...]]]:
    """Yield each question's own quote at the price of all, and where its answers lie in the whole."""
    for checked, slices in zip(batch.questions, batch.slices, strict=True):
        keys = listed(checked).product()
        shares = []
        for measured, place in zip(checked.measurements, slices, strict=True):
            joint = priced.shares[place.measurement].mechanism
            if not isinstance(joint, Together):
                raise TypeError("a batch is measured together")
            own = replace(
                joint,
                variances=joint.variances[place.start : place.stop],
                places={key: number for number, key in enumerate(keys)},
            )
            shares.append(MeasurementShare(measured, own))
        found = replace(priced, checked=checked, shares=tuple(shares), expected=())
        yield replace(found, expected=_expected(found)), slices


def _expected(priced: Quote) -> tuple[Expected, ...]:
    return tuple(expect(priced, output.name, output.formula) for output in priced.checked.columns)
