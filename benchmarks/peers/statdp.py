"""StatDP (Ding and others, CCS 2018), as packaged under the name pystatdp, on mechanisms with one number out.

StatDP answers one question: is this epsilon refuted at p < 0.05?  The largest epsilon that it refutes is
bisected here.  It is given the pair of inputs, because half of the pairs that the package makes up by itself
are not neighbours: they differ in length.

    python statdp.py EPSILON EVENT_RUNS TEST_RUNS STEPS

prints JSON: name -> [epsilon refuted, cpu seconds].
"""

import json
import logging
import os
import sys

import numpy as np
from pystatdp import pystatdp


def laplace(queries, epsilon):
    """Return the first query with Laplace noise."""
    return float(queries[0] + np.random.laplace(scale=1 / epsilon))


def noisy_max(queries, epsilon):
    """Return the place of the largest noisy query."""
    return int(np.argmax(queries + np.random.laplace(scale=2 / epsilon, size=len(queries))))


def noisy_max_value(queries, epsilon):
    """Return the largest noisy query itself: broken."""
    return float(np.max(queries + np.random.laplace(scale=2 / epsilon, size=len(queries))))


PAIRS = {
    "Laplace": (laplace, [0], [1], 1.0),
    "RNM1": (noisy_max, [0, 0, 0, 0, 0], [-1, 1, 1, 1, 1], 1.0),
    "RNM3": (noisy_max_value, [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], 2.5),
}


def refuted(function, pair, epsilon, tested, runs):
    """Return whether StatDP refutes `tested`."""
    found = pystatdp().detect_counterexample(
        function,
        tested,
        {"epsilon": epsilon},
        databases=pair,
        event_iterations=runs[0],
        detect_iterations=runs[1],
        cores=1,
        quiet=True,
        loglevel=logging.ERROR,
    )
    return found[0][1] < 0.05


def main():
    """Bisect for each mechanism."""
    epsilon, runs, steps = float(sys.argv[1]), (int(sys.argv[2]), int(sys.argv[3])), int(sys.argv[4])
    out = {}
    for name, (function, left, right, most) in PAIRS.items():
        pair = np.array(left), np.array(right)
        low, high, start = 0.0, 1.25 * most * epsilon, sum(os.times()[:4])
        for _ in range(steps):
            middle = (low + high) / 2
            low, high = (middle, high) if refuted(function, pair, epsilon, middle, runs) else (low, middle)
        out[name] = [low, sum(os.times()[:4]) - start]
    print(json.dumps(out))


if __name__ == "__main__":
    main()
