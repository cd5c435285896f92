"""AIM of McKenna, Mullins, Sheldon and Miklau (2022), written from the paper on the estimation of mbi.

All single columns are measured first.  Then, round by round, one table of the workload's closure is chosen
by the exponential mechanism, by how far the model is off on it beyond what its noise would be, weighed by how
much of the workload it touches, and measured; a tenth of a round's price is for the choice.  Rounds become
twice as precise when one taught the model less than its noise, and the last one takes what is left.  Tables
that would make the model's junction tree larger than the spent part of `megabytes` are not looked at.  The
paper allows 80 megabytes and 16 `rounds` for each column; a run takes hours then.
"""

import warnings
from importlib import import_module
from itertools import combinations
from math import pi, sqrt

import networkx as nx
import numpy as np

CHOOSING, STEPS = 0.1, 1000


def aim(
    records: np.ndarray,
    sizes: tuple[int, ...],
    rho: float,
    rng: np.random.Generator,
    rounds: int = 2,
    megabytes: float = 1.0,
) -> np.ndarray:
    """Return made-up records as the peer would make them for all pairs of columns."""
    import_module("jax").config.update("jax_enable_x64", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mbi = import_module("mbi")
    size_of = mbi.junction_tree.hypothetical_model_size
    columns = [str(k) for k in range(len(sizes))]
    domain = mbi.Domain(columns, sizes)
    pairs = list(combinations(columns, 2))
    candidates = {
        table: sum(len({*table} & {*pair}) for pair in pairs)
        for table in (*((column,) for column in columns), *pairs)
    }
    exact = {table: _counts(records, sizes, table) for table in candidates}
    at_most = rounds * len(sizes)
    deviation, choice = sqrt(at_most / (2 * (1 - CHOOSING) * rho)), sqrt(8 * CHOOSING * rho / at_most)
    measured = [_noisy(mbi, exact[column,], (column,), deviation, rng) for column in columns]
    left = rho - len(columns) / (2 * deviation**2)
    model = _fitted(mbi, domain, measured, None, len(records))
    while left > 1e-12 * rho:
        if left < 2 * (1 / (2 * deviation**2) + choice**2 / 8):
            deviation, choice = 1 / sqrt(2 * (1 - CHOOSING) * left), sqrt(8 * CHOOSING * left)
        left -= 1 / (2 * deviation**2) + choice**2 / 8
        allowed = megabytes * (1 - left / rho)
        free = [{*clique} for clique in model.cliques]
        small = [
            table
            for table in candidates
            if any({*table} <= clique for clique in free)
            or size_of(domain, [*model.cliques, table]) <= allowed
        ]
        chosen = _chosen(small, candidates, exact, _Model(mbi, model), deviation, choice, rng)
        before = _Model(mbi, model).table(chosen)
        measured.append(_noisy(mbi, exact[chosen], chosen, deviation, rng))
        model = _fitted(mbi, domain, measured, model, len(records))
        learnt = np.abs(_Model(mbi, model).table(chosen) - before).sum()
        if learnt <= sqrt(2 / pi) * deviation * exact[chosen].size:
            deviation, choice = deviation / 2, choice * 2
    made = model.synthetic_data(rows=len(records)).to_dict()
    return np.column_stack([np.asarray(made[column]) for column in columns])


class _Model:
    """The tables of a model, along its junction tree: mbi itself compiles each pair anew, for minutes."""

    def __init__(self, mbi, model):
        cliques = [c for c in model.cliques if c]
        self.tree, _ = mbi.junction_tree.make_junction_tree(model.domain, cliques)
        self.cliques = list(self.tree.nodes)
        self.held = {clique: np.asarray(model.project(clique).values) for clique in self.cliques}
        self.total = float(model.total)

    def table(self, attributes):
        """Return the model's expected counts of one column or pair, flat."""
        for clique in self.cliques:
            if {*attributes} <= {*clique}:
                return _summed(self.held[clique], clique, attributes).reshape(-1)
        one, other = attributes
        start, end = (next(c for c in self.cliques if a in c) for a in attributes)
        if not nx.has_path(self.tree, start, end):
            return np.outer(self.table((one,)), self.table((other,))).reshape(-1) / self.total
        kept, table = start, self.held[start]
        for clique in nx.shortest_path(self.tree, start, end)[1:]:
            shared = tuple(a for a in kept if a in clique)
            front = tuple(dict.fromkeys((one, *shared)))
            table = _summed(table, kept, front)
            along = self.held[clique]
            whole = _summed(along, clique, shared)
            odds = np.divide(1, whole, out=np.zeros_like(whole), where=whole > 0)
            back = tuple(dict.fromkeys((one, *clique)))
            table = np.einsum(
                table, _axes(front), along, _axes(clique), odds, _axes(shared), _axes(back), optimize=True
            )
            kept = back
        return _summed(table, kept, attributes).reshape(-1)


def _axes(attributes):
    return [int(a) for a in attributes]


def _summed(table, attributes, kept):
    return np.einsum(table, _axes(attributes), _axes(kept))


def _counts(records, sizes, table):
    places = [int(column) for column in table]
    flat = np.ravel_multi_index([records[:, place] for place in places], [sizes[place] for place in places])
    return np.bincount(flat, minlength=int(np.prod([sizes[place] for place in places]))).astype(float)


def _noisy(mbi, counts, table, deviation, rng):
    return mbi.LinearMeasurement(counts + rng.normal(0, deviation, counts.size), table, deviation)


def _fitted(mbi, domain, measured, before, rows):
    return mbi.estimation.MirrorDescent().estimate(
        domain, measured, known_total=float(rows), iters=STEPS, warm_start=before, tol=1e-6
    )


def _chosen(tables, weights, exact, model, deviation, epsilon, rng):
    worth = np.array(
        [
            weights[table]
            * (np.abs(exact[table] - model.table(table)).sum() - sqrt(2 / pi) * deviation * exact[table].size)
            for table in tables
        ]
    )
    worth *= epsilon / 2 / max(weights[table] for table in tables)
    odds = np.exp(worth - worth.max())
    return tables[rng.choice(len(tables), p=odds / odds.sum())]
