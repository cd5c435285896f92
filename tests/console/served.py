"""The console as it is run: `discreet serve` with TLS on a real socket, and a real browser at it."""

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from tests.console.world import declare
from tests.service.world import COMMAND, certify

from discreet.service.people import FILE, People
from discreet.service.role import Role

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
STILL = 0.1
"""What browsers call good: less of a page moves by itself."""

EXPECTED = ("422", "403")
"""Statuses that a browser mentions on its console, and that belong to the story."""


@dataclass
class Served:
    url: str
    tokens: dict[str, str]
    process: subprocess.Popen[str]
    people: People

    @property
    def data(self) -> str:
        return f"{self.url}/console/data/clinic"

    @contextmanager
    def visit(self, chromium: Browser, who: str, **how: Any) -> Any:
        """Yield the page of somebody who has signed in; afterwards nothing odd may have happened on it."""
        context = chromium.new_context(ignore_https_errors=True, **how)
        seen = Seen(urlsplit(self.url).netloc)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("dialog", lambda dialog: (seen.odd.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: seen.odd.append(str(error)))
        page.on("console", lambda said: seen.hear(said.type, said.text))
        page.on("request", lambda request: seen.look(request.url))
        try:
            page.goto(f"{self.url}/")
            page.get_by_label("Token").fill(self.tokens[who])
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url("**/console/")
            yield page
        finally:
            context.close()
        assert seen.odd == []

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        if self.process.stdout is not None:
            self.process.stdout.close()


@dataclass
class Seen:
    host: str
    odd: list[str] = field(default_factory=list)

    def hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(f"status of {status}" in text for status in EXPECTED):
            self.odd.append(text)

    def look(self, url: str) -> None:
        if urlsplit(url).netloc != self.host:
            self.odd.append(f"asked {url}")


def serve(folder: Path) -> Served:
    manifest = declare(folder, "clinic")
    certificate, key = certify(folder)
    people = People(folder / FILE)
    tokens = {role.value: people.add(role.value, role, "clinic") for role in Role}
    tokens["plain"] = people.add("plain", Role.ANALYST, "clinic")
    tls = ["--certificate", str(certificate), "--key", str(key)]
    process = subprocess.Popen(
        [
            *COMMAND,
            "serve",
            str(manifest),
            "--port",
            "0",
            "--workers",
            "1",
            "--slot",
            "0",
            "--rate",
            "1000",
            "--source",
            str(folder),
            *tls,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    if process.stdout is None:
        raise AssertionError("no pipe")
    port = process.stdout.readline().split()[-1].rpartition(":")[2]
    return Served(f"https://localhost:{port}", tokens, process, people)


def jumps(page: Page) -> float:
    """Return how much of a page moved by itself since it was loaded, as browsers measure it."""
    return float(
        page.evaluate(
            """() => new Promise((done) => {
                let sum = 0;
                const add = (list) => list.forEach((one) => { sum += one.hadRecentInput ? 0 : one.value; });
                const watch = new PerformanceObserver((list) => add(list.getEntries()));
                watch.observe({ type: "layout-shift", buffered: true });
                setTimeout(() => { add(watch.takeRecords()); done(sum); }, 60);
            })"""
        )
    )


def sound(page: Page) -> None:
    """Demand that axe-core finds nothing serious on a page, that nothing of it jumped, and that it fits."""
    assert jumps(page) < STILL, page.url
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), page.url
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, [(one["id"], [node["html"] for node in one["nodes"]]) for one in serious]
