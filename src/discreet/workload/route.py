"""Geometric or Gaussian noise: both routes to an (epsilon, delta) promise, compared by their error.

A workload under (epsilon, delta) can be measured with geometric noise at epsilon, leaving delta unused, or
with Gaussian noise at the largest rho whose conversion stays within (epsilon, delta).  Few questions favour
the first, many the second, and the crossing point depends on the workload; both are planned and compared.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.exact.number import Real, positive, probability
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.zcdp import largest_rho
from discreet.workload.linear import Marginals, Workload
from discreet.workload.marginal import MarginalPlan, plan_marginals
from discreet.workload.noise import Promise
from discreet.workload.plan import Plan, Progress, plan

_SHAVING = Fraction(1, 2**60)


@dataclass(frozen=True, slots=True)
class Routes:
    """The best plan with each kind of noise under the same (epsilon, delta)."""

    pure: Plan | MarginalPlan
    concentrated: Plan | MarginalPlan

    @property
    def best(self) -> Plan | MarginalPlan:
        """The plan with the smaller total squared error; the pure one where they are equal."""
        return self.pure if self.pure.error.total <= self.concentrated.error.total else self.concentrated

    @property
    def gain(self) -> float:
        """How many times smaller the mean squared error is than that of the other route."""
        low, high = sorted((self.pure.error.total, self.concentrated.error.total))
        return high / low if low > 0 else 1.0


def routes(
    workload: Workload,
    epsilon: Real,
    delta: Real,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    progress: Progress = lambda _: None,
) -> Routes:
    """Return both routes to (epsilon, delta); marginals are planned without writing their domain out."""
    cost, slack = positive(epsilon, "epsilon"), probability(delta, "delta")

    def planned(guarantee: Promise) -> Plan | MarginalPlan:
        if isinstance(workload, Marginals):
            return plan_marginals(workload, guarantee, adjacency)
        return plan(workload, guarantee, adjacency, progress=progress)

    # Converting back searches the order afresh and may land a hair higher; the shaving is wider than it.
    rho = largest_rho(cost, slack) * (1 - _SHAVING)
    return Routes(planned(Pure(cost)), planned(Concentrated(rho)))
