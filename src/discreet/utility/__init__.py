"""How useful an answer is to this analyst, what to guess from it, and which mechanism is best."""

from discreet.utility.advise import Advice, Candidate, advise, candidate_loss, curve, smallest_epsilon
from discreet.utility.bayes import Belief, bayes
from discreet.utility.certificate import Aim, ChannelCertificate, CountCertificate, LossBounds
from discreet.utility.check import check
from discreet.utility.count import evidence, truncated_geometric
from discreet.utility.enclosure import Enclosure, enclosed, exponential_enclosure, geometric_enclosure
from discreet.utility.exclusion import Analyst, Exclusion, exclusion, no_universal_mechanism
from discreet.utility.graph import Graph, band, complete, cycle, path
from discreet.utility.loss import Gain, Loss
from discreet.utility.optimal import Optimal, optimal
from discreet.utility.prior import Prior
from discreet.utility.problem import Epsilon, Problem, Ratio
from discreet.utility.remap import (
    bayes_risk,
    best_remap,
    expected_gain,
    expected_loss,
    non_oblivious_utility,
    posterior,
    utility,
)
from discreet.utility.universal import Universality, geometric_table, universality

__all__ = [
    "Advice",
    "Aim",
    "Analyst",
    "Belief",
    "Candidate",
    "ChannelCertificate",
    "CountCertificate",
    "Enclosure",
    "Epsilon",
    "Exclusion",
    "Gain",
    "Graph",
    "Loss",
    "LossBounds",
    "Optimal",
    "Prior",
    "Problem",
    "Ratio",
    "Universality",
    "advise",
    "band",
    "bayes",
    "bayes_risk",
    "best_remap",
    "candidate_loss",
    "check",
    "complete",
    "curve",
    "cycle",
    "enclosed",
    "evidence",
    "exclusion",
    "expected_gain",
    "expected_loss",
    "exponential_enclosure",
    "geometric_enclosure",
    "geometric_table",
    "no_universal_mechanism",
    "non_oblivious_utility",
    "optimal",
    "path",
    "posterior",
    "smallest_epsilon",
    "truncated_geometric",
    "universality",
    "utility",
]
