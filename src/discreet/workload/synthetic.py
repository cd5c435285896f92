"""Made-up records that reproduce released marginals: post-processing, so free of further privacy cost.

A graphical model is fitted to the released tables (weighted by how well each is known), and whole records
are drawn from it by rounding, so that their counts follow the model's.  The model needs the optional package
`mbi`; it grows with the largest set of attributes that the tables tie together, and may be refused.

Reference.  McKenna, Sheldon, Miklau, "Graphical-model based estimation and inference for differential
privacy", ICML 2019.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.workload.marginal import Attributes
from discreet.workload.table import MarginalAnswers

LARGEST_MODEL = 256.0
"""In megabytes: beyond this a model is refused instead of exhausting the machine."""


@dataclass(frozen=True, slots=True, eq=False)
class Synthetic:
    """Distinct made-up records, one column per attribute of the workload, and how often each occurs."""

    attributes: Attributes
    records: NDArray[np.int64]
    weights: NDArray[np.int64]

    def table(self, chosen: Attributes) -> NDArray[np.int64]:
        """Return the marginal table of the made-up records."""
        places = [self.attributes.index(i) for i in chosen]
        sizes = [int(self.records[:, k].max(initial=0)) + 1 for k in places]
        out = np.zeros(sizes, dtype=np.int64)
        np.add.at(out, tuple(self.records[:, k] for k in places), self.weights)
        return out


def synthesise(answers: MarginalAnswers, *, rows: int | None = None, steps: int = 1000) -> Synthetic:
    """Return made-up records fitted to released marginals; `rows` defaults to the released total."""
    mbi = _library()
    workload = answers.plan.workload
    attributes = tuple(sorted({i for chosen in workload.sets for i in chosen}))
    if not attributes:
        raise ParameterError("records need at least one attribute; the workload asks for the total only")
    domain = mbi.Domain([str(i) for i in attributes], [workload.sizes[i] for i in attributes])
    cliques = [tuple(str(i) for i in chosen) for chosen in workload.sets if chosen]
    size = mbi.junction_tree.hypothetical_model_size(domain, cliques)
    if size > LARGEST_MODEL:
        raise ParameterError(
            f"a model of these marginals needs {size:.0f} MB (at most {LARGEST_MODEL:.0f}); "
            "ask for marginals that tie fewer attributes together"
        )
    count = rows if rows is not None else round(float(answers.centred[()]))
    if count < 1:
        raise ParameterError("the released total is not positive; give the number of rows")
    measured = [
        mbi.LinearMeasurement(
            answers.table(chosen).reshape(-1),
            tuple(str(i) for i in chosen),
            max(answers.deviation(chosen), np.finfo(np.float32).tiny),
        )
        for chosen in workload.sets
        if chosen
    ]
    model = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=float(count), iters=steps)
    made = model.synthetic_data(rows=count).to_dict()
    records = np.column_stack([np.asarray(made[str(i)], dtype=np.int64) for i in attributes])
    distinct, weights = np.unique(records, axis=0, return_counts=True)
    return Synthetic(attributes, distinct, weights.astype(np.int64))


def _library() -> Any:
    try:
        import_module("jax").config.update("jax_enable_x64", True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module("mbi")
    except ImportError as problem:
        raise ParameterError(
            "made-up records need the optional package mbi: install discreet[synthetic]"
        ) from problem
