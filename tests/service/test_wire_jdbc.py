"""JDBC against the service, where Java and its driver are (Debian: libpostgresql-jdbc-java)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.service.world import Service

DRIVER = Path(os.environ.get("DISCREET_JDBC", "/usr/share/java/postgresql.jar"))


@pytest.mark.fuzz
def test_a_java_client_reads_the_catalogue_asks_with_parameters_and_is_refused(service: Service):
    java = shutil.which("java")
    if java is None or not DRIVER.exists():
        pytest.skip(f"there is no java, or no driver at {DRIVER}: install libpostgresql-jdbc-java")
    program = Path(__file__).parent / "Jdbc.java"
    known = [str(service.wire), str(service.certificate), service.tokens["analyst"]]
    command = [java, "-cp", str(DRIVER), str(program), *known]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert "table visits" in lines
    answers = [line for line in lines if line.startswith("answer")]
    assert len(answers) == 7
    assert len(set(answers)) == 1
    assert [part.partition("=")[0] for part in answers[0].split()[1:]] == ["A", "B", "C"]
    assert sum("cost nothing" in line for line in lines) >= 6
    assert lines[-1] == "refused 42000"
