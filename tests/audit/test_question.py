"""A whole question, from SQL to released numbers, audited on invented neighbours."""

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.audit.seeded import seeded
from typer import Typer
from typer.testing import CliRunner

from discreet.audit import audit, replay
from discreet.cli.audit import audit as audit_command
from discreet.cli.audit import load
from discreet.cli.worst_case import Rehearsal, neighbours
from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric
from discreet.query.catalog.manifest import declare

MANIFEST = """
[dataset]
name = "clinic"
[budget]
epsilon = 3
[tables.visits]
source = "absent.parquet"
unit = "patient"
rows_per_unit = 3
[tables.visits.columns]
age  = { type = "integer", low = 0, high = 120 }
ward = { type = "text", values = ["A", "B"] }
"""


@pytest.fixture(scope="module")
def catalog():
    import tomllib

    return declare(tomllib.loads(MANIFEST))


@pytest.fixture
def way(catalog):
    opened = Rehearsal.of(catalog, "SELECT COUNT(DISTINCT patient) FROM visits", epsilon=1)
    yield opened
    opened.close()


def test_neighbours_differ_in_one_person_only(catalog):
    for pair in neighbours(catalog):
        left, right = (frames["visits"].to_pylist() for frames in (pair.left, pair.right))
        assert [row for row in right if row["patient"] != 90] == left
        assert any(row["patient"] == 90 for row in right)


def test_the_path_moves_by_no_more_than_its_declared_sensitivity(catalog):
    for sql in ("SELECT SUM(age) FROM visits", "SELECT ward, COUNT(*) FROM visits GROUP BY ward"):
        way = Rehearsal.of(catalog, sql, epsilon=1)
        for pair in neighbours(catalog):
            for position, share in enumerate(way.priced.shares):
                moves = share.measured.sensitivity
                found = replay(
                    way.measured(position), pair.left, pair.right, l1=moves.l1, linf=moves.linf, runs=2
                )
                assert found.clean, (sql, pair.name, found)
        way.close()


def test_some_neighbour_reaches_the_declared_sensitivity(catalog):
    """Otherwise the invented data would be too tame to find anything."""
    way = Rehearsal.of(catalog, "SELECT SUM(age) FROM visits", epsilon=1)
    moves = way.priced.shares[0].measured.sensitivity
    reached = max(replay(way.measured(0), pair.left, pair.right, runs=1).l1 for pair in neighbours(catalog))
    assert reached == moves.l1
    way.close()


def test_an_honest_question_is_not_accused_and_its_twin_with_too_little_noise_is(catalog, way):
    pair = neighbours(catalog)[0]
    (share,) = way.priced.shares
    loud = replace(way.priced, shares=(replace(share, mechanism=Geometric(Fraction(1, 100))),))
    with seeded(200):
        assert not audit(way, pair.left, pair.right, epsilon=1, runs=300).violated
        twin = Rehearsal(way.catalog, loud)
        assert audit(twin, pair.left, pair.right, epsilon=1, runs=200).violated
        twin.close()


def test_the_command_audits_a_question_without_its_data(tmp_path):
    manifest = tmp_path / "clinic.toml"
    manifest.write_text(MANIFEST)
    app = Typer()
    app.command()(audit_command)
    done = CliRunner().invoke(
        app, ["SELECT COUNT(DISTINCT patient) FROM visits", "--manifest", str(manifest), "--runs", "100"]
    )
    assert done.exit_code == 0, done.output
    assert "no deterministic leak" in done.output
    assert "cannot show that something is private" in done.output
    assert list(tmp_path.iterdir()) == [manifest]


def test_the_command_audits_functions_and_exits_with_one_on_violations(tmp_path, monkeypatch):
    (tmp_path / "careless_module.py").write_text("def leak(rows):\n    return len(rows)\n")
    monkeypatch.chdir(tmp_path)
    app = Typer()
    app.command()(audit_command)
    arguments = ["careless_module:leak", "--left", "[1]", "--right", "[1, 2]", "--runs", "400"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1, done.output
    assert "VIOLATED" in done.output
    assert CliRunner().invoke(app, [*arguments, "--sequential"]).exit_code == 1


def test_the_command_searches_pairs_of_vectors(tmp_path, monkeypatch):
    (tmp_path / "largest_module.py").write_text("def leak(answers):\n    return max(answers)\n")
    monkeypatch.chdir(tmp_path)
    app = Typer()
    app.command()(audit_command)
    done = CliRunner().invoke(app, ["largest_module:leak", "--length", "3", "--steps", "1", "--runs", "400"])
    assert done.exit_code == 1, done.output
    assert "VIOLATED" in done.output


def test_what_cannot_be_loaded_is_explained():
    with pytest.raises(ParameterError, match="module:function"):
        load("nothing")
    with pytest.raises(ParameterError, match="cannot load"):
        load("no_such_module_anywhere:function")
