"""The console in a real browser: how soon a page is there, how soon a quote follows, how heavy it all is.

A browser signs in over TLS on this machine, with the service, its worker and the browser on the same cores.
First loads are those of a browser that has never been here, and end with the page's load event; a quote is
timed from the request that follows a pause in typing until its last byte is there, each for a question that
nobody asked before.  Processor time is that of the service alone, which another's load hardly changes.
Memory is resident: of the process that shows the pages, after all of them were shown, and of those that draw
and compute.  A page is weighed with its scripts and styles, before compression; charts are drawn by the
service: a page carries the picture and no library.  `DISCREET_BENCH_TIMES` (15) says how often each is timed;
`python -m benchmarks.console times` leaves the pages out.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table
from tests.console.served import FLAGS, Served, jumps, serve

TIMES = int(os.environ.get("DISCREET_BENCH_TIMES", 15))
FIRST, QUOTE, MEMORY, PAGE, STILL = 300, 150, 150, 200, 0.1
"""What was asked for: milliseconds, milliseconds, megabytes, kilobytes, and the share that may move."""

QUESTION = "SELECT ward, COUNT(*) AS n FROM visits WHERE stay > {} GROUP BY ward"
PAIRS = "SELECT ward, MONTH(day) AS month, COUNT(*) AS n FROM visits GROUP BY ward, month"
LABORATORY = ("mechanism", "composition", "optimal", "attack", "program")


def main(*parts: str) -> None:
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if found is None:
        print("chromium: not installed")
        return
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home, sync_playwright() as playwright:
        served = serve(Path(home))
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        try:
            shown = Console(width=110)
            shown.print(times(served, browser))
            if "times" not in parts:
                shown.print(pages(served, browser))
                shown.print(memory(served))
        finally:
            browser.close()
            served.stop()


def table(title: str, *heads: str) -> Table:
    grid = Table(title=title, title_justify="left")
    for head in heads:
        grid.add_column(head, justify="left" if head in ("what", "page", "process") else "right")
    return grid


def times(served: Served, browser: Browser) -> Table:
    title = f"Milliseconds, at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    grid = table(title, "what", "quickest", "median", "slowest", "asked for", "CPU of the service")
    with served.visit(browser, "analyst") as page:
        signed = page.context.storage_state()
        for name, place in (("first load, ask", "ask"), ("first load, what there is", "")):
            grid.add_row(name, *told(served, lambda at=place: first(served, browser, signed, at), FIRST))
        page.goto(f"{served.data}/ask")
        numbers = iter(range(10**6))
        quoted(page, QUESTION.format(-1))
        row = told(served, lambda: quoted(page, QUESTION.format(f"{next(numbers)} / 1000")), QUOTE)
        grid.add_row("quote while typing", *row)
    return grid


def told(served: Served, once: Any, asked: int) -> tuple[str, ...]:
    """Return the quickest, median and slowest of several times, what was asked for, and what they cost."""
    once()
    before = used(served)
    found = [once() for _ in range(TIMES)]
    spent = (used(served) - before) / TIMES * 1e3
    ends = (f"{one:.0f}" for one in (min(found), statistics.median(found), max(found)))
    return *ends, str(asked), f"{spent:.0f}"


def first(served: Served, browser: Browser, signed: Any, place: str) -> float:
    """Return how long a page takes in a browser that has nothing of it yet."""
    context = browser.new_context(ignore_https_errors=True, storage_state=signed)
    try:
        page = context.new_page()
        # Somebody who opens a page has a window open: that it starts is no part of the page.
        page.wait_for_timeout(400)
        page.goto(f"{served.data}/{place}")
        return float(page.evaluate("() => performance.getEntriesByType('navigation')[0].loadEventEnd"))
    finally:
        context.close()


def quoted(page: Page, sql: str) -> float:
    """Return how long the quote of a question takes after it was typed."""
    page.evaluate("() => performance.clearResourceTimings()")
    with page.expect_response("**/quote"):
        page.get_by_label("Question, in SQL").fill(sql)
    page.get_by_text("Pay epsilon").wait_for()
    quotes = "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/quote'))"
    page.wait_for_function(f"() => {quotes}.length > 0")
    return float(page.evaluate(f"() => {quotes}.at(-1).duration"))


def pages(served: Served, browser: Browser) -> Table:
    grid = table("Every page", "page", "kB", "asked for", "moved by itself", "below")
    for who, tour in (("analyst", analyst), ("curator", curator)):
        with served.visit(browser, who) as page:
            sizes: dict[str, int] = {}
            page.on("response", lambda got, sizes=sizes: weigh(got, sizes))
            for name in tour(page, served):
                page.wait_for_timeout(300)
                grid.add_row(
                    name, f"{weight(page, sizes) / 1e3:.0f}", str(PAGE), f"{jumps(page):.3f}", str(STILL)
                )
    return grid


def weigh(got: Any, sizes: dict[str, int]) -> None:
    if got.request.resource_type in ("stylesheet", "script", "image"):
        sizes[got.url] = len(got.body())


def weight(page: Page, sizes: dict[str, int]) -> int:
    """Return how many bytes a page is, with the scripts, styles and images that it names."""
    text = page.content()
    return len(text.encode()) + sum(size for url, size in sizes.items() if url.partition("?")[2] in text)


def analyst(page: Page, served: Served) -> Iterator[str]:
    page.goto(f"{served.url}/console/")
    yield "datasets"
    for place in ("", "ask", "batch", "streams", "answers", "budget"):
        page.goto(f"{served.data}/{place}")
        yield f"analyst: {place or 'what there is'}"
    for name, sql in (("answer by one key", QUESTION.format(3)), ("answer by two keys", PAIRS)):
        page.goto(f"{served.data}/ask")
        quoted(page, sql)
        yield f"quote: {name}"
        page.locator("#pay button").click()
        page.wait_for_url("**/answers/*")
        yield name
    for place in LABORATORY:
        page.goto(f"{served.url}/console/laboratory/{place}")
        yield f"laboratory: {place}"


def curator(page: Page, served: Served) -> Iterator[str]:
    for place in ("budget", "people", "ledger"):
        page.goto(f"{served.data}/{place}")
        yield f"curator: {place}"
    page.goto(f"{served.url}/console/wizard")
    yield "curator: new dataset"
    page.get_by_label("File, or table").fill("clinic.parquet")
    page.get_by_label("File, or table").press("Enter")
    page.locator("#result pre").wait_for()
    yield "curator: decisions"


def processes(served: Served) -> dict[str, int]:
    """Return the processes of the service by what they are: the one that shows pages, and its children."""
    found = {"pages": served.process.pid}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(place.read_text().rpartition(")")[2].split()[1])
            words = (place.parent / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == served.process.pid and b"-m" in words:
            found[words[words.index(b"-m") + 1].decode()] = int(place.parent.name)
    return found


def memory(served: Served) -> Table:
    grid = table("Resident memory, after all pages", "process", "MB", "asked for")
    for name, number in processes(served).items():
        pages = int(Path(f"/proc/{number}/statm").read_text().split()[1])
        size = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        grid.add_row(name, f"{size:.0f}", str(MEMORY) if name == "pages" else "")
    return grid


def used(served: Served) -> float:
    """Return the processor seconds of the service and its children so far."""
    ticks = 0
    for number in processes(served).values():
        parts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        ticks += int(parts[11]) + int(parts[12])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    began = time.perf_counter()
    main(*sys.argv[1:])
    sys.stderr.write(f"{time.perf_counter() - began:.0f} s\n")
