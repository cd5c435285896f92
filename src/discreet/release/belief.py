"""Reading a released count with prior knowledge, and asking beforehand which mechanism would serve best.

Both are for a question whose one measurement counts people or rows, so that neighbours differ by at most one
(or, for sums of small integers, by at most the sensitivity).  Reading is post-processing and costs nothing;
advice is computed from the question alone.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.exact.number import Real
from discreet.query.check.measurement import Measurement
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.sparse import Sparse
from discreet.query.price.together import Together

if TYPE_CHECKING:
    from discreet.release.answer import Release
    from discreet.utility import Advice, Belief, Loss, Prior


def believe(release: "Release", prior: "Prior | Sequence[Real]", loss: Any = "absolute") -> "Belief":
    """Return the posterior over 0, 1, ... after a released count, and the guess of least expected loss."""
    from discreet.utility import Prior, bayes

    share = release.quote.shares[_only_count(release.quote)]
    if len(release.noisy.keys) != 1:
        raise ParameterError("a belief is about one count; ask for one group, or read the groups one by one")
    value = release.noisy.values[0][0]
    return bayes(int(value), share.mechanism, prior if isinstance(prior, Prior) else Prior.of(prior), loss)  # type: ignore[arg-type]


def advice(priced: Quote, prior: "Prior | Sequence[Real]", loss: "Loss | str") -> "Advice":
    """Compare the mechanisms that could answer a count on the analyst's own loss and prior.

    `loss` is a Loss over the answers 0, 1, ... or one of "absolute", "squared" and "zero-one".
    """
    from discreet.utility import Loss, Prior, advise, band

    belief = prior if isinstance(prior, Prior) else Prior.of(prior)
    measurement = priced.checked.measurements[_only_count(priced)]
    answers = range(len(belief))
    named = {"absolute": Loss.absolute, "squared": Loss.squared, "zero-one": Loss.zero_one}
    if isinstance(loss, str):
        if loss not in named:
            raise ParameterError(f"loss must be one of {', '.join(named)}, or a Loss; got {loss!r}")
        loss = named[loss](answers)
    reach = max(int(measurement.sensitivity.linf), 1)
    return advise(band(len(belief) - 1, reach), priced.epsilon, loss, belief)


def _only_count(priced: Quote) -> int:
    """Return the place of a question's only measurement, refusing what is not an integer count or sum."""
    match () if priced.parts else priced.shares:
        case (MeasurementShare(Measurement(scale=1), mechanism),) if not isinstance(
            mechanism, Together | Sparse
        ):
            return 0
    raise ParameterError(
        "prior and loss are for a question that measures one whole number, such as COUNT(DISTINCT person); "
        "counts of rows of people with several rows are weighted and not whole"
    )
