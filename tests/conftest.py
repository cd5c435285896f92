"""Settings for every test: properties have no deadline, since time is never asserted."""

import os

from hypothesis import HealthCheck, settings

# On a build machine the same examples are tried every time, so that a failure is always the change's own.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


def pytest_collection_modifyitems(items):
    """Begin with the whole site, the longest test, so that nobody waits for it at the end."""
    items.sort(key=lambda item: "the_site_builds" not in item.name)
