"""JDBC against the service: Java, driven from here, with its driver (Debian: libpostgresql-jdbc-java)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.service.world import Service

DRIVER = Path(os.environ.get("DISCREET_JDBC", "/usr/share/java/postgresql.jar"))
pytestmark = pytest.mark.spark  # which brings Java, and the bridge to it


@pytest.fixture
def line(service: Service) -> Iterator[Any]:
    """A connection of Java's."""
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    assert DRIVER.exists(), f"there is no driver at {DRIVER}: install libpostgresql-jdbc-java"
    (bridge,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    port, token = launch_gateway(
        jarpath=str(bridge), classpath=str(DRIVER), die_on_exit=True, enable_auth=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    how = gateway.jvm.java.util.Properties()
    for name, value in {
        "user": "analyst",
        "password": service.tokens["analyst"],
        "sslmode": "verify-full",
        "sslrootcert": str(service.certificate),
        "options": "-c discreet.epsilon=0.1",
    }.items():
        how.setProperty(name, value)
    place = f"jdbc:postgresql://localhost:{service.wire}/clinic"
    connection = gateway.jvm.org.postgresql.Driver().connect(place, how)
    yield connection
    connection.close()
    gateway.shutdown()


def rows(found: Any) -> dict[str, float]:
    read = {}
    while found.next():
        read[found.getString(1)] = found.getDouble(2)
    return read


def test_java_reads_the_catalogue(line: Any):
    found = line.getMetaData().getTables(None, None, "%", None)
    names = set()
    while found.next():
        names.add(found.getString(3))
    assert "visits" in names


@pytest.mark.parametrize("where", ["stay > ?", "stay IN (?,?)"])
def test_java_asks_with_parameters_often_enough_for_the_driver_to_send_them_in_binary(line: Any, where: str):
    question = line.prepareStatement(f"SELECT ward, COUNT(*) AS n FROM visits WHERE {where} GROUP BY ward")
    answers, free = [], 0
    for _ in range(7):
        for place in range(where.count("?")):
            question.setInt(place + 1, 3 + place)
        answers.append(rows(question.executeQuery()))
        free += "cost nothing" in question.getWarnings().getMessage()
    assert answers == [answers[0]] * 7
    assert list(answers[0]) == ["A", "B", "C"]
    assert free >= 6


def test_java_hears_why_something_is_refused(line: Any):
    from py4j.protocol import Py4JJavaError

    with pytest.raises(Py4JJavaError) as refused:
        line.createStatement().executeQuery("SELECT * FROM visits")
    assert refused.value.java_exception.getSQLState() == "42000"
