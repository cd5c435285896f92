"""The analyst's end of the line: HTTP with one token, and retries that cannot pay twice.

What may be sent again is sent again with the same key.  Nothing is followed elsewhere: no redirect, no proxy
from the environment; and no token travels in plain text beyond this machine.
"""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from discreet.errors import ParameterError, ServiceError
from discreet.service import problem
from discreet.service.settings import loopback

AGAIN = frozenset({429, 503})
ATTEMPTS = 6
LONGEST = 2**28


class Line:
    """A connection that is opened when it is needed; one object may be shared by threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        certificate: str | Path | None = None,
        timeout: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise _no_address(url) from None
        if parts.scheme not in ("http", "https") or parts.hostname is None or parts.path not in ("", "/"):
            raise _no_address(url)
        if parts.scheme == "http" and not loopback(parts.hostname):
            raise ParameterError(
                f"{parts.hostname} is another machine, and http would show your token on the way; use https"
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ParameterError("a token is the text that `discreet analyst add` printed; this is none")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._host, self._port = parts.hostname, port
        self._tls = _trusting(certificate) if parts.scheme == "https" else None
        self._token, self._timeout, self._sleep = token, timeout, sleep
        self._lock = threading.Lock()
        self._open: http.client.HTTPConnection | None = None

    def __repr__(self) -> str:
        return f"Line({self.url!r})"

    def get(self, *path: str, **asked: int | str) -> Any:
        """Return what is at an address."""
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in asked.items())
        return self._ask("GET", _address(path) + (f"?{query}" if query else ""), None, {})

    def post(self, *path: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        """Send something to an address and return what comes back."""
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        return self._ask("POST", _address(path), json.dumps(body).encode(), headers)

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        with self._lock:
            self._drop()

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        for attempt in range(ATTEMPTS):
            last = attempt == ATTEMPTS - 1
            try:
                with self._lock:
                    status, said, retry = self._exchange(method, path, body, headers)
            except ssl.SSLCertVerificationError as error:
                raise ServiceError(
                    f"{self.url} shows a certificate that is not trusted ({error.verify_message}); give "
                    "certificate=FILE if it is your own"
                ) from None
            except (OSError, http.client.HTTPException):
                if last:
                    raise ServiceError(
                        f"{self.url} cannot be reached; whatever was paid is not lost"
                    ) from None
                self._sleep(0.1 * 2**attempt)
                continue
            if status in AGAIN and not last:
                self._sleep(min(retry or 0.1 * 2**attempt, 30.0))
                continue
            return _read(status, said, self.url)
        raise AssertionError("the last attempt returns or raises")

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, float | None]:
        try:
            line = self._open or self._connect()
            self._open = line
            own = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
            line.request(method, path, body, {**own, **headers})
            response = line.getresponse()
            said = response.read(LONGEST)
            retry = response.getheader("Retry-After", "")
            return response.status, said, float(retry) if retry.isdecimal() else None
        except BaseException:
            self._drop()
            raise

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)

    def _drop(self) -> None:
        if self._open is not None:
            with suppress(OSError):
                self._open.close()
        self._open = None


def _no_address(url: str) -> ParameterError:
    return ParameterError(f"a service is reached as https://HOST[:PORT], got {url!r}")


def _trusting(certificate: str | Path | None) -> ssl.SSLContext:
    """Return how TLS is spoken with whoever the system trusts, or what is in a file instead."""
    try:
        return ssl.create_default_context(cafile=None if certificate is None else str(certificate))
    except OSError:
        raise ParameterError(
            f"certificate must be a file of certificates as PEM, got {str(certificate)!r}"
        ) from None


def _address(path: tuple[str, ...]) -> str:
    return "/" + "/".join(quote(part, safe="") for part in path)


def _read(status: int, said: bytes, url: str) -> Any:
    try:
        body = json.loads(said)
    except ValueError:
        body = None
    if status == 200 and body is not None:
        return body
    if isinstance(body, dict) and "type" in body:
        raise problem.raised(body)
    raise ServiceError(f"{url} does not answer as a service of discreet does (status {status})")
