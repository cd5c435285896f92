"""MST of McKenna, Miklau and Sheldon (2021), written from the paper on the estimation of the package mbi.

A third of rho each for single columns, for choosing a tree of pairs by the exponential mechanism, and for the
chosen pairs.  Values whose noisy count is below three deviations are merged before pairs are looked at.
"""

import warnings
from importlib import import_module
from itertools import combinations
from math import sqrt

import numpy as np


def mst(records: np.ndarray, sizes: tuple[int, ...], rho: float, rng: np.random.Generator) -> np.ndarray:
    """Return made-up records as the peer would make them."""
    import_module("jax").config.update("jax_enable_x64", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mbi = import_module("mbi")
    columns, rows = len(sizes), len(records)
    deviation = sqrt(columns / (2 * rho / 3))
    single = [
        np.bincount(records[:, k], minlength=n) + rng.normal(0, deviation, n) for k, n in enumerate(sizes)
    ]
    kept = [np.flatnonzero(counts >= 3 * deviation) for counts in single]
    codes, coarse = _merged(records, sizes, kept)
    domain = mbi.Domain([str(k) for k in range(columns)], coarse)
    measured = [
        mbi.LinearMeasurement(_summed(single[k], kept[k], coarse[k]), (str(k),), deviation)
        for k in range(columns)
    ]
    model = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=float(rows), iters=1000)
    alone = {k: np.asarray(model.project((str(k),)).datavector()) for k in range(columns)}
    tables = {pair: _table(codes, coarse, pair) for pair in combinations(range(columns), 2)}
    score = {
        (i, j): np.abs(tables[i, j] - np.outer(alone[i], alone[j]) / alone[i].sum()).sum() for i, j in tables
    }
    edges = _tree(score, columns, sqrt(8 * rho / 3 / (columns - 1)), rng)
    deviation = sqrt(len(edges) / (2 * rho / 3))
    for i, j in edges:
        noisy = tables[i, j].reshape(-1) + rng.normal(0, deviation, tables[i, j].size)
        measured.append(mbi.LinearMeasurement(noisy, (str(i), str(j)), deviation))
    model = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=float(rows), iters=2000)
    made = model.synthetic_data(rows=rows).to_dict()
    return np.column_stack([_split(np.asarray(made[str(k)]), sizes[k], kept[k], rng) for k in range(columns)])


def _merged(records, sizes, kept):
    """Return records whose rare values share one code, and the number of codes of each column."""
    codes, coarse = [], []
    for k, n in enumerate(sizes):
        code = np.full(n, kept[k].size)
        code[kept[k]] = np.arange(kept[k].size)
        codes.append(code[records[:, k]])
        coarse.append(kept[k].size + (kept[k].size < n))
    return np.column_stack(codes), coarse


def _summed(counts, kept, size):
    found = counts[kept]
    return found if found.size == size else np.append(found, counts.sum() - found.sum())


def _split(codes, size, kept, rng):
    rare = np.setdiff1d(np.arange(size), kept)
    values = np.append(kept, -1)[np.minimum(codes, kept.size)]
    lost = values < 0
    values[lost] = rng.choice(rare, int(lost.sum())) if rare.size else 0
    return values


def _table(codes, coarse, pair):
    i, j = pair
    flat = codes[:, i] * coarse[j] + codes[:, j]
    return np.bincount(flat, minlength=coarse[i] * coarse[j]).reshape(coarse[i], coarse[j]).astype(float)


def _tree(score, columns, epsilon, rng):
    group, edges = list(range(columns)), []
    while len(edges) < columns - 1:
        open_pairs = [pair for pair in score if group[pair[0]] != group[pair[1]]]
        worth = np.array([score[pair] for pair in open_pairs]) * epsilon / 2
        odds = np.exp(worth - worth.max())
        one, other = open_pairs[rng.choice(len(open_pairs), p=odds / odds.sum())]
        edges.append((one, other))
        group = [group[one] if g == group[other] else g for g in group]
    return edges
