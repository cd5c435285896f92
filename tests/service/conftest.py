"""One service for all tests of this room: it is small, on a real socket, and stopped at the end."""

from collections.abc import Iterator

import pytest
from tests.service.world import Service, start


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = start(
        tmp_path_factory.mktemp("service"), "--slot", "0", "--rate", "100000", "--postgres-port", "0"
    )
    yield running
    running.stop()
