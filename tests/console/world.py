"""A console without a network: a clinic with hostile names, a worker in this process, a small browser."""

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from tests.service.world import exchange

from discreet.console import bench, surveyor
from discreet.console.door import Door
from discreet.console.drawing import drawn
from discreet.console.opening import beside
from discreet.release.opening import open as open_session
from discreet.release.session import Session
from discreet.service.answering import answer
from discreet.service.api import application
from discreet.service.people import FILE, People
from discreet.service.role import Role
from discreet.service.settings import Settings
from discreet.service.worker import asked

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
FORMULA = "=1+1"
WARDS = ("A", SCRIPT, IMAGE, FORMULA, "{{ 7*7 }}")
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
COUNT = "SELECT COUNT(*) AS n FROM visits"

MANIFEST = """
[dataset]
name = "{name}"
[budget]
epsilon = {epsilon}
[tables.visits]
source = "{name}.parquet"
unit = "person"
rows_per_unit = 4
[tables.visits.columns]
ward = {{ type = "text", values = {wards} }}
stay = {{ type = "integer", low = 0, high = 30 }}
day = {{ type = "date", low = 2025-01-01, high = 2025-12-31 }}
"<b>odd</b>" = {{ type = "integer", low = 0, high = 9 }}
"""


def declare(folder: Path, name: str, epsilon: int = 100, delta: str | None = None) -> Path:
    import datetime

    import pyarrow
    import pyarrow.parquet

    people = range(300)
    rows = {
        "person": list(people),
        "ward": [WARDS[person % 5] for person in people],
        "stay": [person % 31 for person in people],
        "day": [datetime.date(2025, 1 + person % 12, 1) for person in people],
        "<b>odd</b>": [person % 10 for person in people],
    }
    pyarrow.parquet.write_table(pyarrow.table(rows), folder / f"{name}.parquet")
    quoted = ", ".join(f"'{ward}'" if "'" not in ward else repr(ward) for ward in WARDS)
    manifest = folder / f"{name}.toml"
    text = MANIFEST.format(name=name, epsilon=epsilon, wards=f"[{quoted}]")
    manifest.write_text(text if delta is None else text.replace("[tables", f'delta = "{delta}"\n[tables', 1))
    return manifest


class InHere:
    """A pool whose only worker is this process; it counts what it was asked for."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self.sessions = sessions
        self.datasets = frozenset(sessions)
        self.verbs: list[str] = []
        self.lost = {"picture"}
        """Verbs whose replies do not arrive; charts are slow, and drawn in a few tests only."""
        self.numbers: list[int] = []
        self.idle = self.waiting = self.replaced = 0

    async def ask(self, head: Mapping[str, Any]) -> tuple[dict[str, Any], bytes] | None:
        self.verbs.append(head["verb"])
        if head["verb"] in self.lost == {"picture"}:
            return None
        reply = answer(self.sessions, asked(head))
        if head["verb"] in self.lost:
            return None
        return {"status": reply.status, "kind": reply.kind, "headers": dict(reply.headers)}, reply.body


@dataclass
class Console:
    folder: Path
    people: People
    pool: InHere
    door: Door
    tokens: dict[str, str]
    at: list[float] = field(default_factory=lambda: [1000.0])

    def browser(self, who: str | None = None) -> "Browser":
        opened = Browser(self)
        if who is not None:
            assert opened.sign_in(self.tokens[who]).status == 303
        return opened

    @property
    def spent(self) -> Any:
        view = self.pool.sessions["clinic"].budget
        return view.limits[0].spent.epsilon

    @property
    def entries(self) -> int:
        return self.pool.sessions["clinic"].budget.entries


@contextmanager
def console(folder: Path, *, delta: str | None = None, **given: Any) -> Iterator[Console]:
    manifests = [declare(folder, "clinic", delta=delta), declare(folder, "other")]
    people = People(folder / FILE)
    tokens = {role.value: people.add(role.value, role, "clinic") for role in Role}
    tokens["second"] = people.add("second", Role.ANALYST, "clinic")
    tokens["stranger"] = people.add("stranger", Role.ANALYST, "other")
    sessions = {session.catalog.name: session for session in map(open_session, manifests)}
    given.setdefault("sources", (str(folder),))
    settings = Settings(tuple(manifests), people.path, slot=0, rate=1e6, burst=1e6, **given)
    pool: Any = InHere(sessions)
    at = [1000.0]

    async def draw(specification: Mapping[str, Any], form: str) -> bytes | None:
        return None if "picture" in pool.lost else drawn(specification, form)

    async def work(asked: Mapping[str, Any]) -> bytes | None:
        return bench.work(asked)

    async def survey(asked: Mapping[str, Any]) -> bytes | None:
        return surveyor.work(asked)

    door = beside(application(pool, people, settings), pool, people, settings, draw, work, survey)
    door._clock = lambda: at[0]  # type: ignore[method-assign]
    door._strangers = door._service.rates
    try:
        yield Console(folder, people, pool, door, tokens, at)
    finally:
        for session in sessions.values():
            session.close()
        sessions.clear()
        pool.sessions = {}


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


@dataclass(frozen=True)
class Shown:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def where(self) -> str:
        return self.headers["location"]

    def tags(self) -> list[tuple[str, dict[str, str]]]:
        """Return every element as a browser would read it, with its attributes."""
        return Elements(self.text).found

    def forms(self) -> list[dict[str, str]]:
        """Return the fields of every form, with the address that it is sent to."""
        found = []
        for attributes, inner in re.findall(r"<form([^>]*)>(.*?)</form>", self.text, re.S):
            fields = {"": html.unescape(re.search(r'action="([^"]*)"', attributes)[1])}  # type: ignore[index]
            for tag in re.findall(r"<input[^>]*>", inner):
                name = re.search(r'name="([^"]*)"', tag)
                value = re.search(r'value="([^"]*)"', tag)
                if name and ('type="radio"' not in tag or "checked" in tag):
                    fields[name[1]] = html.unescape(value[1]) if value else ""
            for name, text in re.findall(
                r'<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', inner, re.S
            ):
                fields[name] = html.unescape(text)
            for name, options in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', inner, re.S):
                chosen = re.search(r'value="([^"]*)" selected', options) or re.search(
                    r'value="([^"]*)"', options
                )
                fields[name] = html.unescape(chosen[1]) if chosen else ""
            found.append(fields)
        return found

    def form(self, **having: str) -> dict[str, str]:
        """Return the one form that has these fields with these values."""
        (found,) = [form for form in self.forms() if having.items() <= form.items()]
        return found


@dataclass
class Browser:
    """Keeps one cookie, follows nothing by itself."""

    console: Console
    cookie: str | None = None
    set_cookie: str = ""

    def get(self, path: str, **headers: str) -> Shown:
        return self.send("GET", path, b"", headers)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Shown:
        body = urlencode([(name, value) for name, value in fields.items() if name]).encode()
        kind = {"content_type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, body, kind | headers)

    def submit(self, form: Mapping[str, str], **changed: str) -> Shown:
        return self.post(form[""], {**form, **changed})

    def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Shown:
        path, _, query = path.partition("?")
        named = dict(headers) | ({} if self.cookie is None else {"cookie": self.cookie})
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "server": ("localhost", 8443),
            "client": ("127.0.0.1", 5),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()],
        }
        request = {"type": "http.request", "body": body, "more_body": False}
        sent = exchange(self.console.door, scope, request)
        told = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        if "set-cookie" in told:
            self.set_cookie = told["set-cookie"]
            self.cookie = None if "Max-Age=0" in self.set_cookie else self.set_cookie.partition(";")[0]
        return Shown(sent[0]["status"], told, b"".join(part.get("body", b"") for part in sent[1:]))

    def sign_in(self, token: str) -> Shown:
        page = self.get("/console/sign-in")
        return self.submit(page.form(token=""), token=token)

    def quote(self, sql: str, **fields: str) -> Shown:
        page = self.get("/console/data/clinic/ask")
        return self.submit(page.form(do="quote"), sql=sql, **fields)

    def ask(self, sql: str, **fields: str) -> Shown:
        """Quote, confirm, and return where that leads."""
        return self.submit(self.quote(sql, **fields).form(do="ask"))
