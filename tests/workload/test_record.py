"""Descriptions for a ledger: complete, stable, and different when anything that matters differs."""

import json
from fractions import Fraction

import pytest

from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload import Identity, Marginals, Matrix, Prefix, Product, Total, Union, plan, plan_marginals
from discreet.workload.record import describe

PURE, UNIT = Pure(Fraction(1)), Concentrated(Fraction(1, 2))
WORKLOADS = [
    Prefix(8),
    Matrix.of([[1, 0, 1], [0, 1, 1]]),
    Product((Prefix(4), Identity(2))),
    Union((Prefix(6), Total(6))),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_the_same_question_has_the_same_description_and_another_promise_another(workload):
    made = describe(plan(workload, PURE))
    assert json.loads(json.dumps(made)) == made
    assert describe(plan(workload, PURE)) == made
    others = [
        plan(workload, UNIT),
        plan(workload, Pure(Fraction(2))),
        plan(workload, PURE, Adjacency.REPLACE),
    ]
    assert all(describe(other) != made for other in others)


def test_every_table_of_a_marginal_plan_is_described_with_its_noise():
    made = plan_marginals(Marginals.of_order((3, 2), 1, 2), UNIT)
    kept = describe(made)
    assert json.loads(json.dumps(kept)) == kept
    assert len(kept["tables"]) == len(made.tables)
    assert Fraction(kept["guarantee"]["rho"]) == made.guarantee.rho
