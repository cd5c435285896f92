"""Settings for every test: properties have no deadline, since time is never asserted."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

ORDINARY, LONG = 20, 400
"""Examples of a property that does not say how many it needs, in `make test` and in `make fuzz`."""

settings.register_profile(
    "house", max_examples=ORDINARY, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# On a build machine the same examples are tried every time, so that a failure is always the change's own.
settings.register_profile("build", settings.get_profile("house"), derandomize=True)
settings.register_profile("long", settings.get_profile("house"), max_examples=LONG)
settings.load_profile("build" if os.environ.get("CI") else "house")


def pytest_xdist_auto_num_workers():
    """Two more workers than cores: some tests wait for a browser, a server or a clock."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Begin with the whole site, the longest test, so that nobody waits for it at the end, and with Spark.

    Each worker begins with an equal part of the list, in order, and idle ones take from the ends of others:
    what begins a part stays together.  Java is started once, by the first worker, a browser by the second.
    """

    def kind(item):
        if "the_site_builds" in item.name or item.get_closest_marker("spark") is not None:
            return "first"
        return "second" if item.get_closest_marker("browser") is not None else "other"

    parts = {name: [item for item in items if kind(item) == name] for name in ("first", "second", "other")}
    share = len(items) // getattr(config, "workerinput", {}).get("workercount", 1)
    before = max(share - len(parts["first"]), 0)
    items[:] = [*parts["first"], *parts["other"][:before], *parts["second"], *parts["other"][before:]]


def pytest_collection_finish():
    """What was imported stays until the end: the collector need not walk it again and again, nor so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish():
    """Let extensions find their objects released at the end."""
    gc.unfreeze()
