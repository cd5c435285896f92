"""The source of randomness: secret, never shared, never replaced by something weaker."""

import ast
import os
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.errors import EntropyError
from discreet.exact import coins as coins_module
from discreet.exact.coins import REKEY_AFTER, Keystream, SystemCoins, source

PACKAGE = Path(discreet.__file__).parent


def test_forked_children_share_no_word_with_each_other_or_their_parent():
    coins = source()
    coins.bits(64)
    coins.words(10_000, 64)
    readers = []
    for _ in range(8):
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(read)
            with os.fdopen(write, "wb") as out:
                out.write(coins.words(10_000, 64).tobytes())
                out.write(np.array([coins.bits(64) for _ in range(100)], dtype=np.uint64).tobytes())
            os._exit(0)
        os.close(write)
        readers.append(read)
    drawn = [coins.words(10_000, 64)]
    for reader in readers:
        with os.fdopen(reader, "rb") as stream:
            drawn.append(np.frombuffer(stream.read(), dtype=np.uint64))
        os.wait()
    together = np.concatenate(drawn)
    assert together.size == 10_000 + 8 * 10_100
    assert np.unique(together).size == together.size


def test_a_twin_that_keeps_its_key_across_a_fork_is_caught():
    class Careless(SystemCoins):
        stream = Keystream()

        def _mine(self):
            return self.stream

    coins = Careless()
    coins.bits(8)
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, coins.words(4, 64).tobytes())
        os._exit(0)
    theirs = np.frombuffer(os.read(read, 32), dtype=np.uint64)
    os.wait()
    assert np.array_equal(theirs, coins.words(4, 64))


def test_nothing_is_drawn_when_the_operating_system_has_no_randomness(monkeypatch):
    def broken(_):
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", broken)
    coins = SystemCoins()
    with pytest.raises(EntropyError, match="no noise can be drawn"):
        coins.bits(1)
    with pytest.raises(EntropyError):
        coins.words(5000, 64)


def test_a_short_key_is_refused(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: b"\0" * (size - 1))
    with pytest.raises(EntropyError):
        SystemCoins().bits(1)


def test_the_key_is_replaced_after_a_gigabyte(monkeypatch):
    keys = []
    monkeypatch.setattr(coins_module, "_fresh_key", lambda: keys.append(1) or bytes([len(keys)] * 32))
    coins = SystemCoins()
    coins.words(5000, 64)
    coins._mine().drawn = REKEY_AFTER + 1
    coins.words(5000, 64)
    assert len(keys) == 2


@pytest.mark.parametrize("width", [1, 3, 8, 16, 48, 63, 64])
def test_words_fill_their_width_and_no_more(width):
    words = SystemCoins().words(4096, width)
    assert int(words.max()) < 2**width
    # Each of the width bits is set about half the time; 2**-100 would be the chance of none in 4096.
    for bit in range(width):
        share = np.mean((words >> np.uint8(bit)) & np.uint8(1))
        assert abs(share - 0.5) < 0.06


@pytest.mark.parametrize("width", [0, 1, 3, 8, 13, 64, 1000])
def test_bits_fill_their_width_and_no_more(width):
    drawn = [SystemCoins().bits(width) for _ in range(60)]
    assert max(drawn) < 2**width
    # Sixty draws that all leave the highest bit empty would be one chance in 2**60.
    assert width == 0 or max(drawn) >= 2 ** (width - 1)


def test_small_and_large_requests_come_from_one_stream_without_repeats():
    coins = SystemCoins()
    words = [int(w) for _ in range(300) for w in coins.words(3, 64)]
    words += [coins.bits(64) for _ in range(300)]
    words += [int(w) for w in coins.words(5000, 64)]
    assert len(set(words)) == len(words)


SEEDS = {"seed", "random_state", "rng"}


def modules_that_say(*words: str) -> set[Path]:
    """Return the modules whose text holds one of these words; no other can name a thing so."""
    return {path for path in PACKAGE.rglob("*.py") if any(word in path.read_text() for word in words)}


def test_no_module_of_the_package_imports_a_predictable_generator():
    """An audit gives a copy of somebody else's black box randomness of its own, and rows that nobody has are
    made up anew each time; nobody else touches one."""
    for path in modules_that_say("random") - {
        PACKAGE / "audit" / "fresh.py",
        PACKAGE / "console" / "madeup.py",
    }:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names):
                    modules = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module)):
                    modules = [module]
                case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                    modules = ["numpy.random"]
                case _:
                    continue
            forbidden = {"random", "numpy.random"} & set(modules)
            assert not forbidden, f"{path.name} uses {forbidden}"


def test_what_follows_from_released_values_is_used_for_made_up_records_and_nothing_else():
    """Records made up from released answers must be the same each time, so the order in which they are dealt
    out is expanded from a digest of those answers.  Anybody can compute it: it would be no noise at all."""
    assert modules_that_say("Expansion", "workload.expansion", "shake_1", "shake_2") == {
        PACKAGE / "workload" / "expansion.py",
        PACKAGE / "workload" / "swap.py",
        PACKAGE / "workload" / "__init__.py",
        PACKAGE / "release" / "made_up.py",
    }


def test_no_function_of_the_package_takes_a_seed():
    for path in modules_that_say(*SEEDS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = {a.arg for a in [*node.args.args, *node.args.kwonlyargs]}
                assert not names & SEEDS, f"{path.name}: {node.name}"
