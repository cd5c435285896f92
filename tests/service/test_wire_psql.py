"""psql itself, where it was built with TLS: what it asks about a table by itself, and a question."""

import os
import shutil
import subprocess

import pytest
from tests.service.world import COUNT, Service

PSQL = shutil.which("psql")


@pytest.mark.skipif(PSQL is None, reason="psql is not installed")
def test_psql_lists_describes_quotes_and_asks(service: Service):
    said = service.dsn()
    words = {
        "PGHOST": said["host"],
        "PGPORT": said["port"],
        "PGUSER": said["user"],
        "PGPASSWORD": said["password"],
        "PGDATABASE": said["dbname"],
        "PGSSLMODE": said["sslmode"],
        "PGSSLROOTCERT": said["sslrootcert"],
        "PGOPTIONS": said["options"],
    }
    asked = ["\\dt", "\\d visits", "\\l", "\\du", f"EXPLAIN {COUNT}", f"{COUNT} WHERE stay > 27 AND cost < 9"]
    command = [PSQL or "", "--no-psqlrc", "--no-align", "--tuples-only"]
    done = subprocess.run(
        [*command, *(word for one in asked for word in ("--command", one))],
        env=os.environ | words,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("public|visits|table") for line in lines)
    assert any(line.startswith("ward|text") for line in lines)
    assert any(line.startswith("clinic|") for line in lines)
    float(lines[-1])
    assert "cost epsilon" in done.stderr
