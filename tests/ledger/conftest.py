from collections.abc import Iterator

import pytest
from tests.ledger.world import Place, Server, file_place, server_place


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "sqlite":
        with file_place() as found:
            yield found
    else:
        with server_place(request.getfixturevalue("server")) as found:
            yield found


@pytest.fixture
def file() -> Iterator[Place]:
    with file_place() as found:
        yield found
