"""Settings for every test: properties have no deadline, since time is never asserted."""

import gc
import os

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
    """Two more workers than cores: some tests wait for a browser, for Java, a server or a clock."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_modifyitems(items):
    """Begin with the whole site, the longest test, so that nobody waits for it at the end, and with Spark.

    What stands at the beginning goes to one worker, and idle ones take from the end: one Java is started.
    """
    items.sort(
        key=lambda item: "the_site_builds" not in item.name and item.get_closest_marker("spark") is None
    )


def pytest_collection_finish():
    """What was imported stays until the end: the collector need not walk it again and again, nor so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish():
    """Let extensions find their objects released at the end."""
    gc.unfreeze()
