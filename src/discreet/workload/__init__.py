"""Many questions at once, answered better together.

plan(workload, guarantee)            what to measure, with which exact noise, and how wrong it will be
plan.measure(histogram)              exact integers in, private integers out: the only step that sees data
reconcile([measurement])             one consistent estimate; any workload over it has answers and variances
AdaptivePlan.calibrate(...)          one histogram, fine where the data is, where that is expected to pay
plan_marginals(marginals, guarantee) the same for tables of a domain too large to write out
ShrunkTables, GroupedTables, draw_records   released tables made better, and records made up from them
Stream.create(length, guarantee)     a running count under one guarantee, durable across crashes
"""

from discreet.workload.adaptive import AdaptivePlan
from discreet.workload.column import workload_sensitivity
from discreet.workload.expansion import Expansion
from discreet.workload.forecast import Error, error
from discreet.workload.grouped import GroupedTables, even_groups, groups_of
from discreet.workload.linear import (
    AllRange,
    Identity,
    Marginals,
    Matrix,
    Prefix,
    Product,
    Total,
    Union,
    Workload,
)
from discreet.workload.marginal import MarginalPlan, plan_marginals
from discreet.workload.optimise import certified_optimum
from discreet.workload.plan import Plan, StrategyCandidate, plan
from discreet.workload.quantile import QuantileCells, quantiles
from discreet.workload.reconcile import Estimate, MeasuredStrategy, WorkloadAnswers, reconcile
from discreet.workload.record import describe
from discreet.workload.route import Routes, routes
from discreet.workload.shrink import KnownTables, ShrunkTables, pooled
from discreet.workload.size import records_by_union_bound, records_needed
from discreet.workload.split import SplitTree
from discreet.workload.strategy import (
    Dense,
    Hierarchy,
    Kronecker,
    Strategy,
    Wavelet,
    identity,
    itself,
    rounded,
)
from discreet.workload.stream import RunningCount, Stream, counter_for
from discreet.workload.swap import draw_records
from discreet.workload.table import (
    MarginalAnswers,
    MeasuredMarginals,
    answer_marginals,
    measure_marginals,
    tabulate,
)

__all__ = [
    "AdaptivePlan",
    "AllRange",
    "Dense",
    "Error",
    "Estimate",
    "Expansion",
    "GroupedTables",
    "Hierarchy",
    "Identity",
    "KnownTables",
    "Kronecker",
    "MarginalAnswers",
    "MarginalPlan",
    "Marginals",
    "Matrix",
    "MeasuredMarginals",
    "MeasuredStrategy",
    "Plan",
    "Prefix",
    "Product",
    "QuantileCells",
    "Routes",
    "RunningCount",
    "ShrunkTables",
    "SplitTree",
    "Strategy",
    "StrategyCandidate",
    "Stream",
    "Total",
    "Union",
    "Wavelet",
    "Workload",
    "WorkloadAnswers",
    "answer_marginals",
    "certified_optimum",
    "counter_for",
    "describe",
    "draw_records",
    "error",
    "even_groups",
    "groups_of",
    "identity",
    "itself",
    "measure_marginals",
    "plan",
    "plan_marginals",
    "pooled",
    "quantiles",
    "reconcile",
    "records_by_union_bound",
    "records_needed",
    "rounded",
    "routes",
    "tabulate",
    "workload_sensitivity",
]
