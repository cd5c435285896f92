"""The Java that all tests of Spark share."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _hasty() -> Iterator[None]:
    """A Java that lives for seconds need not learn to run fast."""
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    yield
    del os.environ["JDK_JAVA_OPTIONS"]
