"""The parts of the PostgreSQL protocol that need no socket: frames, proofs, types, statements, settings."""

import base64
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import Transformer
from psycopg.pq import Format
from tests.service import wire_client as client

from discreet.service.people import FILE, People
from discreet.service.problem import FAILED, KINDS, ServiceProblem
from discreet.service.role import Role
from discreet.service.wire import fault, frame, scram, setting, types
from discreet.service.wire.statement import About, Asks, Assigns, Transacts, split

LETTERS = st.sampled_from([bytes([n]) for n in range(256)])


@given(LETTERS, st.binary(max_size=80))
def test_whatever_comes_is_a_message_or_garbled(letter: bytes, body: bytes):
    for read in (lambda: frame.message(letter, body), lambda: frame.first(body)):
        try:
            found = read()
        except frame.Garbled:
            continue
        assert type(found).__module__ == frame.__name__


def test_messages_are_read_as_clients_write_them():
    for written, meant in (
        (client.query("SELECT 1"), frame.PlainQuery("SELECT 1")),
        (client.parse("SELECT $1", "s", 23), frame.Parse("s", "SELECT $1", (23,))),
        (
            client.bind(b"7", None, portal="p", name="s", form=1),
            frame.Bind("p", "s", (1,), (b"7", None), (0,)),
        ),
        (client.describe("S", "s"), frame.Describe(False, "s")),
        (client.execute(9, "p"), frame.Execute("p", 9)),
        (client.SYNC, frame.Sync()),
    ):
        ((letter, body),) = client.split(written)
        assert frame.message(letter.encode(), body) == meant
        for wrong in (body + b"\0", body[:-1]):
            if body or wrong:
                with pytest.raises(frame.Garbled):
                    frame.message(letter.encode(), wrong)


TOKEN, SALT, POINT = "dsc_1_2", b"0123456789abcdef", b"the hash of a certificate"
BARE = "n=,r=fyko+d2lbbFgONRv9qkxdawL"


def asked(flag: str, mechanism: str = scram.PLAIN, point: bytes | None = None) -> scram.Challenge:
    return scram.challenge(mechanism, f"{flag},,{BARE}".encode(), SALT, point)


def test_whoever_has_the_token_proves_it_and_nobody_else_does():
    kept = scram.verifier(TOKEN, SALT)
    challenge = asked("n")
    proof = client.proof(TOKEN, BARE, challenge.first.decode())
    assert challenge.prove(proof, kept).startswith(b"v=")
    replayed = asked("n")
    for last, verifier, exchange in (
        (client.proof("dsc_1_3", BARE, challenge.first.decode()), kept, challenge),
        (proof, None, challenge),
        (proof, scram.verifier("dsc_1_3", SALT), challenge),
        (proof, kept, replayed),
        (proof[:-4] + b"AAA=", kept, challenge),
        (client.proof(TOKEN, BARE, challenge.first.decode(), b"y,,"), kept, challenge),
        (client.proof(TOKEN, BARE, challenge.first.decode(), nonce=replayed.nonce), kept, challenge),
        (b"", kept, challenge),
        (b"c=biws,r=x", kept, challenge),
    ):
        with pytest.raises(scram.Unproved):
            exchange.prove(last, verifier)


def test_nobody_can_prove_anything_with_what_is_kept():
    """A stolen verifier holds the hash of the client's key, and the key itself cannot be had from it."""
    kept = scram.verifier(TOKEN, SALT)
    challenge = asked("n")
    without = f"c=biws,r={challenge.nonce}"
    for secret in (kept.stored, kept.server):
        forged = f"{without},p={base64.b64encode(secret).decode()}".encode()
        with pytest.raises(scram.Unproved):
            challenge.prove(forged, kept)


def test_a_proof_is_bound_to_the_certificate_where_both_sides_can():
    kept = scram.verifier(TOKEN, SALT)
    flag = "p=tls-server-end-point"
    challenge = asked(flag, scram.BOUND, POINT)
    said = challenge.first.decode()
    assert challenge.prove(client.proof(TOKEN, BARE, said, f"{flag},,".encode() + POINT), kept)
    with pytest.raises(scram.Unproved):
        challenge.prove(client.proof(TOKEN, BARE, said, f"{flag},,".encode() + b"another one"), kept)
    for wrong in (
        ("y", scram.PLAIN, POINT),
        (flag, scram.PLAIN, POINT),
        (flag, scram.BOUND, None),
        ("n", scram.BOUND, POINT),
        ("p=tls-unique", scram.BOUND, POINT),
    ):
        with pytest.raises(scram.Unproved):
            asked(*wrong)
    assert asked("y", scram.PLAIN, None).binding == b"y,,"


@given(st.binary(max_size=60), st.binary(max_size=120))
def test_no_first_or_last_message_of_a_proof_breaks_anything(first: bytes, last: bytes):
    kept = scram.verifier(TOKEN, SALT)
    with pytest.raises(scram.Unproved):
        scram.challenge(scram.PLAIN, first, SALT, None).prove(last, kept)
    with pytest.raises(scram.Unproved):
        asked("n").prove(last, kept)


def test_a_register_tells_nobody_from_somebody_and_forgets_what_is_revoked(tmp_path: Path):
    people = People(tmp_path / FILE, lambda: datetime(2030, 1, 1, tzinfo=UTC))
    token = people.add("ada", Role.ANALYST, "clinic")
    door = people.door("ada")
    assert door.verifier == scram.verifier(token, door.salt)
    assert people.door("ben").verifier is None
    assert people.door("ben") == people.door("ben")
    assert len(people.door("ben").salt) == len(door.salt)
    assert people.door("ben").salt != door.salt
    found = people.current("ada", door.number)
    assert found is not None
    assert found.name == "ada"
    second = people.rotate("ada")
    assert people.current("ada", door.number) is None
    assert people.door("ada").salt == door.salt
    assert people.door("ada").verifier == scram.verifier(second, door.salt)
    people.revoke("ada")
    assert people.door("ada").verifier is None
    assert people.current("ada", people.door("ada").number) is None
    kept = people.path.read_bytes()
    assert second.encode() not in kept


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**25), max_value=10**25, places=6)
VALUES: dict[str, Any] = {
    "int8": st.integers(-(2**63), 2**63 - 1),
    "int4": st.integers(-(2**31), 2**31 - 1),
    "float8": st.floats(allow_nan=False),
    "numeric": NUMBERS | st.integers(-(10**30), 10**30).map(Decimal),
    "bool": st.booleans(),
    "text": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    "date": st.dates(),
    "timestamp": st.datetimes(),
}


def said(value: Any) -> str:
    if isinstance(value, bool):
        return "t" if value else "f"
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


@pytest.mark.parametrize("kind", VALUES)
def test_a_client_reads_the_value_that_was_written_in_both_formats(kind: str):
    """psycopg's own readers are the judges."""
    connection = None
    number = types.TYPES[kind].number

    @given(VALUES[kind])
    def check(value: Any) -> None:
        for form in (Format.TEXT, Format.BINARY):
            load = Transformer(connection).get_loader(number, form).load
            packed = types.written(said(value), kind, int(form))
            assert packed is not None
            assert load(packed) == value

    check()


@pytest.mark.parametrize("kind", [kind for kind in VALUES if kind != "timestamp"])
def test_a_parameter_is_read_as_a_client_wrote_it_in_both_formats(kind: str):
    number = types.TYPES[kind].number

    @given(VALUES[kind])
    def check(value: Any) -> None:
        for form in (Format.TEXT, Format.BINARY):
            dumper = Transformer(None).get_dumper(value, _dumped(form))
            written = dumper.dump(value)
            if written is None or (kind == "numeric" and not isinstance(value, Decimal)):
                continue
            try:
                _, told = types.given(bytes(written), dumper.oid or number, int(form))
            except types.Misfit:
                assert kind in ("numeric", "float8")
                continue
            assert told is not None
            assert _back(kind, told) == value

    check()


def _dumped(form: Format) -> Any:
    from psycopg.adapt import PyFormat

    return PyFormat.TEXT if form == Format.TEXT else PyFormat.BINARY


def _back(kind: str, told: str) -> Any:
    read = {"int8": int, "int4": int, "float8": float, "numeric": Decimal, "date": date.fromisoformat}
    return told == "true" if kind == "bool" else read.get(kind, str)(told)


@given(st.binary(max_size=40), st.sampled_from([*types.BY_NUMBER, 0, 705, 700, 3, 1184]), st.integers(0, 2))
def test_no_bytes_of_a_parameter_break_anything(value: bytes, number: int, form: int):
    try:
        word, told = types.given(value, number, form)
    except types.Misfit:
        return
    assert isinstance(told, str)
    assert word in ("whole", "number", "text", "truth", "date", "moment", "open")


def test_an_array_is_read_by_a_client_as_it_was_written():
    for cells in ([], ["a"], ["a b", None, 'q"\\', "NULL", ""]):
        for form in (Format.TEXT, Format.BINARY):
            load = Transformer(None).get_loader(types.TYPES["text[]"].number, form).load
            packed = types.written(list(cells), "text[]", int(form))
            assert packed is not None
            assert load(packed) == cells


def test_statements_end_where_they_end_and_are_what_they_are():
    text = "SELECT ';' AS a; /* ; /* ; */ */ SET discreet.epsilon = 0.1 ; BEGIN;; -- ;\n SELECT $$;$$ FROM t"
    found = split(text)
    assert [one.text.split()[0] for one in found] == ["SELECT", "SET", "BEGIN", "SELECT"]
    assert all(text[one.start :].startswith(one.text) for one in found)
    assert [type(one.meaning) for one in found] == [About, Assigns, Transacts, Asks]
    assert found[1].meaning == Assigns("discreet.epsilon", "0.1")
    assert split("SELECT COUNT(*) FROM visits WHERE a = $12 AND b = '$13'")[0].marks == 12
    assert split(" ; ;") == ()


@pytest.mark.parametrize(
    "sql", ["EXPLAIN ANALYZE SELECT 1", "EXPLAIN (VERBOSE, ANALYZE) SELECT 1", "DELETE FROM t"]
)
def test_what_would_do_more_than_ask_is_refused(sql: str):
    (found,) = split(sql)
    for _ in range(2):
        with pytest.raises(fault.Fault):
            assert found.meaning


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS pg_count FROM visits",
        'SELECT COUNT(*) AS "pg_count" FROM visits',
        "SELECT pg_v.ward, COUNT(*) AS n FROM visits pg_v GROUP BY pg_v.ward",
        "SELECT ward, COUNT(*) AS pg_n FROM visits GROUP BY ward ORDER BY pg_n",
        "SELECT COUNT(*) FROM visits WHERE EXTRACT(hour FROM pg_time) = 3",
        "SELECT COUNT(*) FROM visits WHERE ward IS DISTINCT FROM pg_ward",
        "WITH pg_a AS (SELECT * FROM visits) SELECT COUNT(*) FROM pg_a",
        "WITH pg_a AS NOT MATERIALIZED (SELECT 1 FROM visits) SELECT 1 FROM pg_a JOIN pg_a AS b ON true",
        "SELECT COUNT(information_schema) FROM visits WHERE note = 'FROM pg_class'",
        "SELECT COUNT(*) FROM visits -- FROM pg_class",
    ],
)
def test_a_name_that_somebody_chose_is_no_matter_of_the_catalogue(sql: str):
    assert type(split(sql)[0].meaning) is Asks


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT relname FROM pg_class",
        "SELECT relname FROM pg_class AS c",
        'SELECT relname FROM "pg_class"',
        "SELECT 1 FROM (pg_class c JOIN visits ON true)",
        "SELECT 1 FROM visits v LEFT JOIN pg_type t ON true",
        "SELECT 1 FROM visits WHERE EXISTS (SELECT FROM ONLY pg_class)",
        "SELECT table_name FROM information_schema.tables",
        "SELECT n::pg_catalog.text FROM visits",
        "SELECT pg_get_userbyid(1) FROM visits",
        "TABLE pg_class",
        "WITH a AS (SELECT 1 FROM pg_class) SELECT * FROM a",
        "SELECT current_schema()",
    ],
)
def test_relations_and_functions_of_the_catalogue_are(sql: str):
    assert type(split(sql)[0].meaning) is About


@pytest.mark.parametrize(
    "value",
    ["0.00 1", "0.1'0'", "'0.1' 0", "1 . 5", "0.1 /* */ 2", "- 1", "1 e5", "1 / 2", "a b", "0.1, 2 3"],
)
def test_what_stands_apart_is_not_glued_to_a_price(value: str):
    with pytest.raises(fault.Fault):
        assert split(f"SET discreet.epsilon = {value}")[0].meaning


def test_lists_and_signs_are_values_of_settings():
    for said, meant in (("ISO, MDY", "ISO,MDY"), ("-1", "-1"), ("'a b'", "a b"), ("Europe/Berlin",) * 2):
        assert split(f"SET datestyle TO {said}")[0].meaning == Assigns("datestyle", meant)


@given(st.text(max_size=80))
def test_any_text_is_split_or_refused(text: str):
    try:
        found = split(text)
    except fault.Fault:
        return
    for one in found:
        assert text[one.start :].startswith(one.text)


def test_a_setting_lives_as_long_as_it_was_said_to():
    settings = setting.SessionSettings({"discreet.epsilon": "0.5"})
    settings.set("discreet.epsilon", "1")
    settings.begin()
    settings.set("discreet.epsilon", "2")
    settings.set("discreet.confidence", "0.9", local=True)
    assert settings.price["confidence"] == "0.9"
    settings.end(kept=False)
    assert (settings.price["epsilon"], settings.price["confidence"]) == ("1", "0.95")
    settings.begin()
    settings.set("discreet.within", "50", local=True)
    assert (settings.price["epsilon"], settings.price["within"]) == (None, "50")
    settings.end(kept=True)
    assert (settings.price["epsilon"], settings.price["within"]) == ("1", None)
    settings.reset()
    assert settings.price["epsilon"] == "0.5"


def test_options_of_a_connection_are_settings_and_nothing_else():
    found, unheard = setting.startup(
        {"user": "ada", "options": "-c discreet.epsilon=0.1 --discreet.intervals=on", "_pq_.x": "1"}
    )
    assert (found["discreet.epsilon"], found["discreet.intervals"], unheard) == ("0.1", "on", ["_pq_.x"])
    for wrong in ("-c discreet.seed=1", "-x", "-c session=1", "-c client_encoding=latin1"):
        with pytest.raises(fault.Fault):
            setting.startup({"options": wrong})


def test_every_problem_has_a_state_and_what_is_secret_has_one_text():
    for kind in KINDS:
        told = fault.of(ServiceProblem(kind, "why"))
        assert len(told.state) == 5
        assert psycopg.errors.lookup(told.state) is not None
    ((letter, body),) = client.split(fault.of(FAILED).told())
    assert letter == "E"
    assert client.fields(body)["C"] == "XX000"
    assert struct.unpack("!I", fault.of(FAILED).told()[1:5])[0] == len(body) + 4
