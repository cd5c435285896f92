"""What a ledger keeps of a plan: what was measured, with which noise, at what price.

Integer matrices are recorded by their checksum: the description stays small, and a plan that is made again
can be checked against it.
"""

from hashlib import sha256
from typing import Any, assert_never

import numpy as np

from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload.codec import Json, encode_noise
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
from discreet.workload.marginal import MarginalPlan
from discreet.workload.noise import Promise
from discreet.workload.plan import Plan
from discreet.workload.strategy import CellsAndBlocks, Dense, Hierarchy, Kronecker, Strategy, Wavelet


def describe(made: Plan | MarginalPlan) -> Json:
    """Return a plan as JSON: equal descriptions mean equal measurements with equal noise."""
    shared: Json = {
        "workload": _workload(made.workload),
        "adjacency": made.adjacency.value,
        "guarantee": _promise(made.guarantee),
    }
    match made:
        case Plan():
            return {
                "name": "plan/1",
                **shared,
                "strategy": _strategy(made.strategy),
                "noise": encode_noise(made.noise),
            }
        case MarginalPlan():
            tables = [
                {
                    "attributes": list(table.attributes),
                    "centred": table.centred,
                    "noise": encode_noise(table.noise),
                }
                for table in made.tables
            ]
            return {"name": "marginal-plan/1", **shared, "tables": tables}
        case _:
            assert_never(made)


def _workload(workload: Workload) -> Json:
    match workload:
        case Identity(cells) | Total(cells) | Prefix(cells) | AllRange(cells):
            return {"kind": type(workload).__name__, "cells": cells}
        case Matrix():
            return {
                "kind": "Matrix",
                "shape": [workload.queries, workload.cells],
                "sha256": _seal(workload.array()),
            }
        case Product(factors):
            return {"kind": "Product", "factors": [_workload(factor) for factor in factors]}
        case Union(parts):
            return {"kind": "Union", "parts": [_workload(part) for part in parts]}
        case Marginals(sizes, sets):
            return {"kind": "Marginals", "sizes": list(sizes), "sets": [list(chosen) for chosen in sets]}
        case _:
            assert_never(workload)


def _strategy(strategy: Strategy) -> Json:
    match strategy:
        case Hierarchy(cells, branching, rooted):
            return {"kind": "Hierarchy", "cells": cells, "branching": branching, "rooted": rooted}
        case Wavelet(cells):
            return {"kind": "Wavelet", "cells": cells}
        case Dense(name=name, rows=rows):
            return {"kind": "Dense", "called": name, "shape": list(rows.shape), "sha256": _seal(rows)}
        case CellsAndBlocks(cells, width, each, blocks):
            made = None if blocks is None else _strategy(blocks)
            kept = {"cells": cells, "width": width, "each": _seal(each), "blocks": made}
            return {"kind": "CellsAndBlocks", **kept}
        case Kronecker(factors):
            return {"kind": "Kronecker", "factors": [_strategy(factor) for factor in factors]}
        case _:
            assert_never(strategy)


def _seal(matrix: "np.ndarray[Any, np.dtype[np.int64]]") -> str:
    return sha256(np.ascontiguousarray(matrix, dtype="<i8").tobytes()).hexdigest()


def _promise(promise: Promise) -> Json:
    match promise:
        case Pure(cost):
            return {"kind": "pure", "epsilon": str(cost)}
        case Concentrated(rho, _):
            return {"kind": "concentrated", "rho": str(rho)}
        case _:
            assert_never(promise)
