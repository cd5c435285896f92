"""One console for all tests of this room; each test has visits of its own."""

from collections.abc import Iterator

import pytest
from tests.console.world import Console, console


@pytest.fixture(autouse=True)
def whole(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test lets get lost arrives again after it."""
    yield
    if "site" in request.fixturenames:
        request.getfixturevalue("site").pool.lost = {"picture"}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with console(tmp_path_factory.mktemp("console")) as opened:
        yield opened
