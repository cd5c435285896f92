"""What stands behind the wall stays there: no data at the network, none in anything that leaves but numbers,
and a worker that dies at any moment takes nothing with it but what was paid.
"""

import os
import random
import re
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.service.world import BY_WARD, CANARY, COUNT, Answer, Service, halt

QUESTIONS = (
    COUNT,
    BY_WARD,
    "SELECT SUM(cost) AS total, COUNT(DISTINCT person) AS people FROM visits WHERE stay > 3",
    "SELECT MEDIAN(cost) AS middle FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY CUBE (ward)",
    "SELECT COUNT(*) AS n FROM visits WHERE CAST(note AS INTEGER) > 1 OR cost / stay > 2",
)
UNEQUAL = {"date", "content-length", "discreet-receipt"}


def opened(process: Path) -> list[str]:
    """Return what a process holds open; a connection may close while one looks."""
    found = []
    for link in (process / "fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(link))
    return found


def test_the_process_at_the_network_holds_neither_data_nor_ledger_nor_an_engine(service: Service):
    assert service.query(COUNT).status == 200
    front, (worker,) = Path(f"/proc/{service.process.pid}"), service.workers()
    mapped = (front / "maps").read_text()
    assert not [name for name in ("duckdb", "pyarrow", "sqlglot", "flint") if name in mapped]
    held = opened(front)
    assert held
    assert not [name for name in held if ".csv" in name or ".ledger" in name]
    try:
        mapped = Path(f"/proc/{worker}/maps").read_text()
    except PermissionError:
        return  # Only root may look into a worker.
    # The same look at the worker finds both, so it is a look that finds.
    assert "duckdb" in mapped
    assert [name for name in opened(Path(f"/proc/{worker}")) if ".ledger" in name]


def test_a_worker_leaves_no_core_and_may_not_grow_without_end(service: Service):
    (worker,) = living(service)
    lines = Path(f"/proc/{worker}/limits").read_text().splitlines()
    limits = {line[:26].strip(): line[26:].split()[:2] for line in lines}
    assert limits["Max core file size"] == ["0", "0"]
    space, taken = limits["Max address space"], Path(f"/proc/{worker}/statm").read_text().split()[0]
    assert space[0] == space[1]
    assert int(space[0]) <= int(taken) * os.sysconf("SC_PAGE_SIZE") + 2048 * 2**20


def masked(answer: Answer, dataset: str) -> tuple[int, dict[str, str], str]:
    """Return everything of an answer but its numbers and the name of the dataset."""
    headers = {name: value for name, value in answer.headers.items() if name not in UNEQUAL}
    text = answer.body.decode().replace(dataset, "DATASET")
    text = re.sub(r'"(receipt|key)": "[^"]*"', r'"\1"', text)
    text = re.sub(r"Receipt\*\*: `[^`]*`", "Receipt", text)
    return answer.status, headers, re.sub(r'"?-?\d+(\.\d+)?(e[-+]?\d+)?(/\d+)?"?|null', "#", text)


def kinds(text: str) -> str:
    """Return a masked body in which a whole number and a rational look the same."""
    return re.sub(r'\{"[nq]": #\}', "#", text)


@pytest.mark.parametrize("question", QUESTIONS)
def test_with_or_without_one_odd_person_everything_but_numbers_is_equal(service: Service, question: str):
    found = []
    for dataset in ("dleft", "right"):
        status, headers, body = masked(service.query(question, "5", dataset=dataset), dataset)
        found.append((status, headers, kinds(body)))
    assert found[0] == found[1]
    assert found[0][0] == 200


@pytest.mark.parametrize("accept", ["application/json", "text/csv"])
def test_made_up_records_look_the_same_with_or_without_one_odd_person(service: Service, accept: str):
    asked = {"epsilon": "5", "columns": ["ward"], "rows": 12}
    found = []
    for dataset in ("dleft", "right"):
        place = f"/v1/datasets/{dataset}/synthesise"
        answer = service.ask("POST", place, asked, accept=accept)
        status, headers, body = masked(answer, dataset)
        found.append((status, headers, len(body.splitlines()) if accept == "text/csv" else kinds(body)))
        assert CANARY not in answer.body.decode()
    assert found[0] == found[1]
    assert found[0][0] == 200


@pytest.mark.parametrize("path", ["", "/budget", "/history"])
def test_what_is_declared_and_recorded_is_equal_with_or_without_one_person(service: Service, path: str):
    answers = [masked(service.ask("GET", f"/v1/datasets/{name}{path}"), name) for name in ("dleft", "right")]
    assert answers[0] == answers[1]


def test_a_cell_is_nowhere_outside_the_data(service: Service):
    for question in (*QUESTIONS, "SELECT note, COUNT(*) FROM visits GROUP BY note", "SELECT * FROM visits"):
        assert CANARY not in service.query(question, "5", dataset="right").body.decode()
    files = [path for path in service.folder.rglob("*") if path.is_file() and path.suffix != ".csv"]
    assert len(files) > 5
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]
    assert (service.folder / "stderr.txt").read_text() == ""


def test_the_address_of_nothing_on_this_machine_is_told(service: Service):
    told = service.ask("GET", "/v1/datasets/clinic").body.decode()
    assert "csv" not in told
    assert str(service.folder) not in told


def asked_while_killed(service: Service, sql: str, key: str, after: float) -> Answer:
    """Ask a question, kill its worker at some moment with a signal that nothing can catch, and return."""
    (worker,) = living(service)
    answers: list[Answer] = []

    def ask() -> None:
        answers.append(service.query(sql, "0.01", Idempotency_Key=key))

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(after)
    os.kill(worker, signal.SIGKILL)
    asking.join()
    return answers[0]


def living(service: Service) -> list[int]:
    """Return the workers once there is one that answers."""
    while service.ask("GET", "/v1/datasets/clinic").status != 200:
        time.sleep(0.2)
    return service.workers()


def kill_and_ask_again(service: Service, number: int, seed: str) -> None:
    sql, key = f"{COUNT} WHERE stay > {number % 30} AND cost > {number}", f"{seed}-{number}"
    before = service.spent()
    answer = asked_while_killed(service, sql, key, random.random() * 0.06)
    assert answer.status in (200, 500)
    if answer.status == 500:
        assert answer.json()["type"] == "/problems/failed"
        assert CANARY not in answer.body.decode()
    living(service)
    again = service.query(sql, "0.01", Idempotency_Key=key)
    assert again.status == 200
    once = service.query(sql, "0.01", Idempotency_Key=key)
    assert (once.json()["drawn"], once.json()["receipt"]) == (again.json()["drawn"], again.json()["receipt"])
    if answer.status == 200:
        assert answer.json()["drawn"] == again.json()["drawn"]
    paid = [entry for entry in newest(service, before[0]) if entry["event"] == "reserved"]
    assert len(paid) == 1


def newest(service: Service, after: int) -> list[dict[str, object]]:
    entries = service.ask("GET", "/v1/datasets/clinic/history?last=1000", who="auditor").json()["entries"]
    return [entry for entry in entries if entry["number"] > after]


def test_a_worker_killed_at_any_moment_is_paid_once_and_answered_when_asked_again(service: Service):
    for number in range(3):
        kill_and_ask_again(service, number, "kill")


@pytest.mark.fuzz
def test_many_workers_killed_at_any_moment_are_paid_once(service: Service):
    for number in range(200):
        kill_and_ask_again(service, number, "fuzz")


def test_a_worker_that_hangs_is_one_problem_like_any_other(service: Service):
    """A stopped process neither answers nor dies; here it is killed by hand, as its limit would kill it."""
    (worker,) = living(service)
    halt(worker)
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(service.query(f"{COUNT} WHERE stay > 29")))
    asking.start()
    time.sleep(0.3)
    assert service.ask("GET", "/health", who=None).status == 200
    os.kill(worker, signal.SIGKILL)
    asking.join()
    assert answers[0].json()["type"] == "/problems/failed"
    assert living(service) != [worker]
