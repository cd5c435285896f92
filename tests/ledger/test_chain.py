"""The seal and the key."""

import hashlib
import hmac
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import LedgerError
from discreet.ledger.chain import key_name, load_key, seal, sealed

parts = st.tuples(
    st.text(max_size=6),
    st.text(max_size=6),
    st.integers(1, 300),
    st.binary(max_size=6),
    st.text(max_size=6),
)


def test_the_seal_is_hmac_sha256_over_parts_with_their_lengths():
    """Computed here from the definition of HMAC, so that the stored seals stay readable for ever."""
    key = bytes(range(32))
    framed = b""
    for part in (b"discreet ledger entry", b"abcd", "clinïc".encode(), b"12", b"\1\2", b'{"x":1}'):
        framed += len(part).to_bytes(8, "big") + part
    padded = key + bytes(32)
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in padded) + framed).digest()
    expected = hashlib.sha256(bytes(b ^ 0x5C for b in padded) + inner).digest()
    assert seal(key, "abcd", "clinïc", 12, b"\1\2", '{"x":1}') == expected


@settings(deadline=None)
@given(parts, parts)
def test_different_entries_never_share_the_input_of_the_seal(one, other):
    key = bytes(32)
    assert (seal(key, *one) == seal(key, *other)) == (one == other)


@settings(deadline=None)
@given(parts, st.integers(0, 255))
def test_one_flipped_bit_breaks_a_seal(entry, bit: int):
    key = bytes(32)
    mac = bytearray(seal(key, *entry))
    assert sealed(key, *entry, bytes(mac))
    mac[bit // 8] ^= 1 << bit % 8
    assert not sealed(key, *entry, bytes(mac))
    assert not sealed(b"\1" + bytes(31), *entry, seal(key, *entry))


def test_a_naive_concatenation_would_be_fooled():
    """The twin: without lengths, moving a character from one part to the next goes unnoticed."""

    def naive(key: bytes, ledger: str, dataset: str, number: int, previous: bytes, body: str) -> bytes:
        return hmac.digest(key, f"{ledger}{dataset}{number}".encode() + previous + body.encode(), "sha256")

    moved = ("ab", "c", 1, b"", "x"), ("a", "bc", 1, b"", "x")
    assert naive(bytes(32), *moved[0]) == naive(bytes(32), *moved[1])
    assert seal(bytes(32), *moved[0]) != seal(bytes(32), *moved[1])


def test_keys_come_from_bytes_files_or_the_environment(tmp_path: Path, monkeypatch):
    key = os.urandom(32)
    assert load_key(key, create=False) == key
    monkeypatch.setenv("DISCREET_LEDGER_KEY", key.hex())
    assert load_key(None, create=False) == key
    made = load_key(tmp_path / "key", create=True)
    assert load_key(tmp_path / "key", create=True) == made
    assert load_key(tmp_path / "key", create=False) == made
    assert key_name(made) != key_name(key)
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, "ab" * 31])
def test_short_or_garbled_keys_are_refused(text: str, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER_KEY", text)
    with pytest.raises(LedgerError, match="64 hexadecimal digits"):
        load_key(None, create=False)
    file = tmp_path / "key"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(LedgerError, match="64 hexadecimal digits"):
        load_key(file, create=True)
    with pytest.raises(LedgerError, match="at least 32 bytes"):
        load_key(b"short", create=False)


def test_a_missing_key_is_not_invented_for_an_old_ledger(tmp_path: Path):
    with pytest.raises(LedgerError, match="bring the key"):
        load_key(tmp_path / "key", create=False)
    assert not (tmp_path / "key").exists()
    with pytest.raises(LedgerError, match="cannot be created"):
        load_key(tmp_path / "nowhere" / "key", create=True)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int):
    load_key(tmp_path / "key", create=True)
    (tmp_path / "key").chmod(mode)
    with pytest.raises(LedgerError, match="chmod 600"):
        load_key(tmp_path / "key", create=False)
