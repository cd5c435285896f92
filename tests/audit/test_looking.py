"""What looks at the data before it measures, audited whole: made-up records and adaptive histograms."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from discreet.audit import Consistent, Violated, audit
from discreet.query.check.identity import identity
from discreet.release.made_up import make_up
from discreet.release.noisy import draw
from discreet.release.opening import open as open_session
from discreet.release.session import proved
from discreet.workload import AdaptivePlan
from discreet.workload.adaptive import MeasuredBlocks

COLUMNS = {name: {"type": "integer", "low": 0, "high": 1, "nullable": False} for name in ("x", "y", "z")}
EVERYBODY = pd.DataFrame({"x": [0, 1, 1, 0, 1], "y": [0, 1, 1, 1, 1], "z": [1, 0, 1, 0, 1]})


PLAN = AdaptivePlan.calibrate(epsilon=2, cells=4)


def looked(counts):
    """Return everything that an adaptive histogram releases, the way it went included."""
    found = PLAN.measure(np.array(counts))
    if isinstance(found, MeasuredBlocks):
        return [len(found.starts), int(found.starts[-1]), int(found.counts[0]), int(found.counts[-1])]
    return [0, *map(int, found.noisy[[0, 1, -1]])]


class Maker:
    """Records made up again and again, each time with fresh noise; the engine is asked once per question."""

    def __init__(self, frame):
        self.session = open_session(t=frame, unit="row", epsilon=13, columns=COLUMNS)
        self.plan = self.session.plan_records(epsilon=12)
        self.template = self.session.query("SELECT COUNT(*) AS n FROM t", epsilon="0.001")
        self.exact, self.priced = {}, {}

    def price(self, checked, epsilon, terms):
        name = identity(checked)
        if name not in self.priced:
            self.priced[name] = self.session._in_terms(checked, epsilon, terms)
        return self.priced[name]

    def answer(self, text, priced):
        name = identity(priced.checked)
        if name not in self.exact:
            self.exact[name] = self.session.engine.run(proved(priced), 1)
        return replace(self.template, quote=priced, noisy=draw(priced, self.exact[name]))

    def __call__(self):
        made = make_up(self.plan, 1, self.price, self.answer)
        first, second = (release.noisy.values[0] for release in made.releases)
        edges = sum(1 << self.plan.pairs.index(pair) for pair in made.edges)
        tables = float(sum(first[:4])), float(first[3]), float(sum(second[-2:])), float(second[-1])
        return [edges, *tables]


@pytest.mark.fuzz
def test_an_adaptive_histogram_keeps_its_promise_and_no_stronger_one():
    left, right = [6, 0, 0, 0], [7, 0, 0, 0]
    kept = audit(looked, left, right, epsilon=2, runs=3_000)
    assert isinstance(kept, Consistent), kept
    broken = audit(looked, left, right, epsilon="0.4", runs=3_000)
    assert isinstance(broken, Violated), broken


@pytest.mark.fuzz
def test_made_up_records_keep_their_promise_and_no_stronger_one():
    makers = [Maker(EVERYBODY), Maker(EVERYBODY[:-1])]

    def subject(which):
        return makers[which]()

    kept = audit(subject, 0, 1, epsilon=12, runs=600)
    assert isinstance(kept, Consistent), kept
    broken = audit(subject, 0, 1, epsilon=1, runs=600)
    assert isinstance(broken, Violated), broken
    for maker in makers:
        maker.session.close()
