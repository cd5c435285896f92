"""discreet answers questions about people without giving any one of them away.

    import discreet as dp

    data = dp.open("clinic.toml")      # or dp.open(people=frame, unit="person_id", epsilon=1)
    print(data.query("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=0.1))

Every name below is loaded when it is first used, so importing the package is quick.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "discreet.audit": ("audit",),
    "discreet.errors": (
        "AccessError",
        "AuditError",
        "BudgetError",
        "CatalogError",
        "CertificateError",
        "ConflictError",
        "DiscreetError",
        "EngineError",
        "EntropyError",
        "ExtraError",
        "LedgerError",
        "ParameterError",
        "ProgramError",
        "ProofError",
        "QueryError",
        "ServiceError",
    ),
    "discreet.ledger": ("EVERYBODY", "Receipt", "Scope", "open_ledger", "verify_ledger"),
    "discreet.mechanisms.candidates": ("fitness", "optimum"),
    "discreet.mechanisms.exponential": ("Exponential", "Levels"),
    "discreet.mechanisms.frequency": ("Frequencies", "frequencies"),
    "discreet.mechanisms.gaussian": ("Gaussian",),
    "discreet.mechanisms.geometric": ("Geometric",),
    "discreet.mechanisms.hadamard_response": ("HadamardResponse",),
    "discreet.mechanisms.knorm": ("KNorm",),
    "discreet.mechanisms.laplace": ("Laplace",),
    "discreet.mechanisms.noisy_max": ("NoisyMax",),
    "discreet.mechanisms.oracle": ("frequency_oracle", "frequency_oracles"),
    "discreet.mechanisms.permute_and_flip": ("PermuteAndFlip",),
    "discreet.mechanisms.price": ("Revenue",),
    "discreet.mechanisms.quantile": ("Quantile",),
    "discreet.mechanisms.randomized_response": ("RandomizedResponse",),
    "discreet.mechanisms.sparse_vector": ("SparseVector",),
    "discreet.mechanisms.staircase": ("Staircase",),
    "discreet.mechanisms.subset_selection": ("SubsetSelection",),
    "discreet.mechanisms.table": ("Table",),
    "discreet.mechanisms.threshold": ("NoisyThreshold", "Threshold"),
    "discreet.mechanisms.truncated_geometric": ("TruncatedGeometric",),
    "discreet.mechanisms.truncated_laplace": ("TruncatedLaplace",),
    "discreet.mechanisms.unary_encoding": ("UnaryEncoding",),
    "discreet.privacy.adjacency": ("Adjacency", "Unit"),
    "discreet.privacy.allocate": ("budget_each", "least_noise"),
    "discreet.privacy.amplify": ("noise_for", "sampled"),
    "discreet.privacy.bounds": ("Bounds",),
    "discreet.privacy.compose": ("Composition", "compose"),
    "discreet.privacy.filter": ("ApproximateBudget", "Cost", "Filter", "PureBudget"),
    "discreet.privacy.guarantee": ("Approximate", "Concentrated", "Profile", "Pure"),
    "discreet.privacy.odometer": ("Odometer",),
    "discreet.privacy.parallel": ("Routing", "parallel"),
    "discreet.privacy.renyi": ("renyi",),
    "discreet.privacy.sensitivity": ("Sensitivity",),
    "discreet.privacy.shuffle": ("Shuffled", "shuffled"),
    "discreet.query.check.question": ("Limits",),
    "discreet.query.language.frame": ("col", "when"),
    "discreet.release.answer": ("Release",),
    "discreet.release.opening": ("open",),
    "discreet.release.session": ("Session",),
    "discreet.release.stream": ("NamedStream",),
    "discreet.service.client": ("Remote", "connect"),
    "discreet.utility": ("Gain", "Graph", "Loss", "Prior", "advise", "bayes", "optimal"),
    "discreet.verify": ("check_certificate", "couple", "verify"),
    "discreet.verify.noise": (
        "Private",
        "bernoulli",
        "choose",
        "discrete_gaussian",
        "exponential",
        "gaussian",
        "geometric",
        "laplace",
        "response",
        "uniform",
    ),
    "discreet.verify.python": ("program",),
    "discreet.workload": ("Stream",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    home = import_module(module)
    # A room named after its main function is callable: `dp.audit` is the same thing whoever loads it first.
    value = home if module == f"discreet.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
