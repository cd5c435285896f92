"""A small service on a real socket with TLS: three datasets, everybody's tokens, and raw requests to it."""

import asyncio
import http.client
import ipaddress
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreet.service.people import FILE, People
from discreet.service.role import Role

CANARY = "CANARY-7f3a91"
COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]
ROLES = ("analyst", "auditor", "curator")
COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY ward"

MANIFEST = """
[dataset]
name = "{name}"
[budget]
epsilon = 100000
[tables.visits]
source = "{name}.csv"
unit = "person"
rows_per_unit = 4
[tables.visits.columns]
ward = {{ type = "text", values = ["A", "B", "C"] }}
cost = {{ type = "decimal", low = 0, high = 100, step = "0.01" }}
stay = {{ type = "integer", low = 0, high = 30 }}
note = {{ type = "text" }}
"""
ROWS = [(person, "ABC"[person % 3], f"{person * 7 % 100}.50", person % 31, "fine") for person in range(40)]
ODD = [
    (999, "A", "1e308", 10**15, CANARY),
    (999, CANARY, "NaN", -1, "=1+1"),
    (999, "", "-inf", "", "\N{SNOWMAN}"),
    (999, "B", "not a number", "x", CANARY),
] * 5
"""Everything of one person who has more rows, and odder ones, than anybody should."""


def halt(number: int) -> None:
    """Stop a process, and wait until none of its threads runs any more."""
    os.kill(number, signal.SIGSTOP)
    while any(
        (task / "stat").read_text().rpartition(")")[2].split()[0] != "T"
        for task in Path(f"/proc/{number}/task").iterdir()
    ):
        time.sleep(0.001)


def exchange(app: Any, scope: dict[str, Any], *told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what an application in this process sends to somebody who sends these messages and waits."""
    sent: list[dict[str, Any]] = []
    waiting = list(told)

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def declare(folder: Path, name: str, rows: list[tuple[Any, ...]]) -> Path:
    lines = ["person,ward,cost,stay,note", *(",".join(map(str, row)) for row in rows)]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    manifest = folder / f"{name}.toml"
    manifest.write_text(MANIFEST.format(name=name))
    return manifest


def certify(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for this machine, and its key."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begin = datetime.now(UTC) - timedelta(days=1)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=9))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    certificate, key = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    key.write_bytes(
        secret.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return certificate, key


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Service:
    """A running service and what a test may know of it."""

    folder: Path
    url: str
    port: int
    process: subprocess.Popen[str]
    certificate: Path
    tokens: dict[str, str] = field(default_factory=dict)
    wire: int = 0
    """Where the PostgreSQL protocol is spoken, if it is."""

    @property
    def people(self) -> People:
        return People(self.folder / FILE)

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def line(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.port, context=self.tls(), timeout=120)

    def ask(
        self, method: str, path: str, body: Any = None, who: str | None = "analyst", **headers: str
    ) -> Answer:
        """Send one request on a connection of its own and return everything that came back."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if who is not None:
            sent.setdefault("Authorization", f"Bearer {self.tokens.get(who, who)}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        line = self.line()
        try:
            line.request(method, path, body, sent)
            response = line.getresponse()
            return Answer(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            line.close()

    def query(self, sql: str, epsilon: Any = "0.1", *, dataset: str = "clinic", **options: Any) -> Answer:
        return self.ask("POST", f"/v1/datasets/{dataset}/query", {"sql": sql, "epsilon": epsilon}, **options)

    def dsn(self, who: str = "analyst", dataset: str = "clinic", **further: str) -> dict[str, str]:
        """Return how a client of PostgreSQL reaches the service, as libpq names it."""
        found = {
            "host": "localhost",
            "port": str(self.wire),
            "user": who,
            "password": self.tokens.get(who, who),
            "dbname": dataset,
            "sslmode": "verify-full",
            "sslrootcert": str(self.certificate),
            "options": "-c discreet.epsilon=0.1",
        }
        return found | further

    def spent(self, dataset: str = "clinic") -> tuple[int, Any]:
        view = self.ask("GET", f"/v1/datasets/{dataset}/budget", who="auditor").json()
        return view["entries"], view["limits"][0]["spent"]

    def workers(self) -> list[int]:
        """Return the process ids of the workers, as the operating system knows them."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(number) for number in listed]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        if self.process.stdout is not None:
            self.process.stdout.close()


def start(folder: Path, *options: str) -> Service:
    """Start `discreet serve` as a curator would, and wait until it can be reached."""
    manifests = [
        declare(folder, "clinic", ROWS),
        declare(folder, "dleft", ROWS),
        declare(folder, "right", [*ROWS, *ODD]),
        declare(folder, "other", ROWS),
        declare(folder, "spare", ROWS),
    ]
    certify(folder)
    people = People(folder / FILE)
    tokens = {}
    for role in ROLES:
        tokens[role] = people.add(role, Role(role), "clinic")
        for dataset in ("dleft", "right", "spare"):
            people.allow(role, dataset)
    tokens["leaver"] = people.add("leaver", Role.ANALYST, "spare")
    tokens["stranger"] = people.add("stranger", Role.ANALYST, "other")
    return launch(folder, [manifest.stem for manifest in manifests], tokens, *options)


def launch(folder: Path, names: list[str], tokens: dict[str, str], *options: str) -> Service:
    """Start the service on what was declared, for the first time or again."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    manifests = [str(folder / f"{name}.toml") for name in names]
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    tls = ["--certificate", str(certificate), "--key", str(key)]
    with (folder / "stderr.txt").open("w") as complaints:
        process = subprocess.Popen(
            [*COMMAND, "serve", *manifests, "--port", "0", *tls, "--workers", "1", *options],
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(temporary)},
        )
    if process.stdout is None:
        raise AssertionError("no pipe")
    said = process.stdout.readline().split()
    if not said:
        process.wait(10)
        raise AssertionError((folder / "stderr.txt").read_text())
    port = int(said[-1].rpartition(":")[2])
    wire = int(process.stdout.readline().rpartition(":")[2]) if "--postgres-port" in options else 0
    return Service(folder, f"https://localhost:{port}", port, process, certificate, tokens, wire)
