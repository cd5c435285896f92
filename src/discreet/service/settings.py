"""How a service is run: what it opens, where it listens, and how much anybody may ask of it."""

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from discreet.errors import ParameterError

MOST_STEPS = 1000
"""So many steps of a stream are sent or read at once."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set; the defaults are safe."""

    manifests: tuple[Path, ...]
    people: Path
    host: str = "127.0.0.1"
    port: int = 8443
    certificate: Path | None = None
    key: Path | None = None
    plain_text: bool = False
    """Whether to listen beyond this machine without TLS, as behind a proxy that ends it."""
    workers: int = 2
    memory: int = 2048
    """By how many megabytes a worker may grow."""
    seconds: float = 30.0
    """For how long a question may run before its worker is killed."""
    slot: float = 0.25
    """What has looked at data ends at multiples of so many seconds after it began; 0 lets it end at once."""
    queue: int = 64
    """So many requests may wait for a worker; more are sent away."""
    rate: float = 20.0
    burst: float = 40.0
    body: int = 64 * 1024
    patience: float = 10.0
    """For how long a request may take to arrive."""

    sources: tuple[str, ...] = ()
    """Folders and PostgreSQL databases whose tables curators may draft manifests for; none by default."""
    drafts: Path | None = None
    """Where such manifests are saved; by default beside the first manifest."""

    postgres_port: int | None = None
    """Where the PostgreSQL protocol is spoken; None: nowhere."""
    metrics_port: int | None = None
    """Where counts for monitoring are told to everybody who asks; None: nowhere."""
    metrics_host: str = "127.0.0.1"
    idle: float = 600.0
    """For how long a connection may say nothing."""
    strangers: int = 64
    """So many connections may be nobody's yet; a further one takes the place of the oldest."""
    connections: int = 500
    connections_each: int = 20
    """So many connections of the PostgreSQL protocol may be open, for everybody and for each person."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ParameterError("TLS needs both a certificate and its key; give both files or neither")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise ParameterError(
                    f"there is no file {file}; give the certificate and its key as PEM files"
                )
        if self.certificate is None and not self.plain_text and not loopback(self.host):
            raise ParameterError(
                f"host {self.host} can be reached from other machines, and tokens and answers would cross "
                "the network readable; give --certificate and --key, or --plain-text if a proxy ends TLS"
            )
        positive = {"workers": self.workers, "memory": self.memory, "seconds": self.seconds}
        positive |= {"rate": self.rate, "burst": self.burst, "queue": self.queue, "idle": self.idle}
        positive |= {"strangers": self.strangers, "connections": self.connections}
        positive |= {"connections_each": self.connections_each, "patience": self.patience}
        for name, value in positive.items():
            if not value > 0:
                raise ParameterError(f"{name} must be greater than 0, got {value}")
        for source in self.sources:
            refuse_source(source)
        if not self.slot >= 0:
            raise ParameterError(f"slot must be 0 or more seconds, got {self.slot}")

    @property
    def threads(self) -> int:
        """Return how many threads the engine of each worker has: its share of the machine."""
        return max((os.cpu_count() or 1) // self.workers, 1)

    @property
    def address(self) -> str:
        """Return how the service is reached."""
        return f"{'http' if self.certificate is None else 'https'}://{self._host}:{self.port}"

    @property
    def postgres_address(self) -> str:
        """Return how the PostgreSQL protocol is reached."""
        return f"postgresql://{self._host}:{self.postgres_port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def refuse_source(source: str) -> None:
    """Refuse a place that drafts cannot be made from; an address is not repeated, it may hold a secret."""
    if "://" not in source:
        if "#" in source or not Path(source).is_dir():
            raise ParameterError(f"sources: there is no folder {source} (its path must not contain #)")
        return
    try:
        parts = urlsplit(source)
        secret = parts.password is not None or "password" in dict(parse_qsl(parts.query))
    except ValueError:
        raise ParameterError("sources: an address is not one of PostgreSQL") from None
    if parts.scheme not in ("postgresql", "postgres") or parts.fragment or secret:
        raise ParameterError(
            "sources: a database is postgresql://HOST/DATABASE, without a table; passwords come from "
            "PGPASSWORD, a password file or a service file, and are not written here"
        )


def loopback(host: str) -> bool:
    """Return whether nobody but this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
