"""Tables of Delta: the files that their log names now and no others, or a refusal that says why."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.engines.test_postgres import integers
from tests.engines.world import frame, open_reference, run_reference

import discreet as dp
from discreet.engines import spark
from discreet.engines.delta import newest
from discreet.engines.opening import describe, open_engine
from discreet.engines.protocol import Origin
from discreet.engines.spark import folder as folders
from discreet.engines.survey import survey
from discreet.errors import CatalogError, ExtraError
from discreet.query.plan import Call, Column
from discreet.query.statement import Query, Statement, StoredTable

Row = dict[str, Any]

COLUMNS = (
    *(("id", "integer"), ("ward", "text"), ("day", "date"), ("flag", "boolean"), ("x", "decimal")),
    *(("at", "timestamp"), ("late", "integer")),
)
WARDS = ("A", "a b/c", "\u00fc=x:y", "[q]*?{z}\\'\"#%41", "\U0001f642", None)
DAYS = (date(2024, 2, 29), date(1, 1, 1), None)


def rows(random: Random, count: int, *, late: bool = False) -> list[Row]:
    """Return rows; those of older files have nothing in the column that came later."""
    return [
        {
            "id": random.randrange(1000),
            "ward": random.choice(WARDS),
            "day": random.choice(DAYS),
            "flag": random.choice((True, False)),
            "x": random.choice((0.5, -2.0, None)),
            "at": random.choice((datetime(2024, 1, 1, 12), None)),
            "late": random.randrange(9) if late else None,
        }
        for _ in range(count)
    ]


def held(given: list[Row], *, late: bool = True) -> pyarrow.Table:
    return frame(given, COLUMNS if late else COLUMNS[:-1])


class Model:
    """A table of Delta beside the rows that it should have, kept by nothing but lists."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.folder, self.random = folder, random
        self.rows = rows(random, 8)
        write_deltalake(folder, held(self.rows, late=False), partition_by=["ward", "day", "flag"])

    def append(self) -> None:
        new = rows(self.random, 5, late=True)
        write_deltalake(self.folder, held(new), mode="append", schema_mode="merge")
        self.rows += new

    def overwrite(self, **cells: Any) -> None:
        self.rows = [row | cells for row in rows(self.random, 6, late=True)]
        write_deltalake(self.folder, held(self.rows), mode="overwrite", schema_mode="merge")

    def delete(self, above: int | None = None) -> None:
        above = self.random.randrange(1000) if above is None else above
        DeltaTable(self.folder).delete(f"id > {above}")
        self.rows = [row for row in self.rows if row["id"] <= above]

    def delete_partition(self) -> None:
        DeltaTable(self.folder).delete("flag = true")
        self.rows = [row for row in self.rows if not row["flag"]]

    def checkpoint(self) -> None:
        DeltaTable(self.folder).create_checkpoint()

    def compact(self) -> None:
        DeltaTable(self.folder).optimize.compact()

    def vacuum(self) -> None:
        DeltaTable(self.folder).vacuum(0, dry_run=False, enforce_retention_duration=False)

    def history(self, steps: int) -> "Model":
        every = (self.append, self.append, self.overwrite, self.delete, self.delete_partition)
        for _ in range(steps):
            self.random.choice((*every, self.checkpoint, self.compact, self.vacuum))()
        return self

    @property
    def stored(self) -> int:
        """How many rows there are in all files, whatever became of them."""
        return sum(pyarrow.parquet.read_metadata(file).num_rows for file in self.files)

    @property
    def files(self) -> list[Path]:
        return [file for file in self.folder.rglob("*.parquet") if "_delta_log" not in file.parts]


def counted(given: list[Row]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name, _ in COLUMNS) for row in given)


def read(folder: Path) -> Counter[tuple[Any, ...]]:
    """Return the rows of the files that the log names, with what it says of each file."""
    found = newest(folder)
    every: list[Row] = []
    for place, values in found.files.items():
        said = dict(zip(found.apart, values, strict=True))
        # By its own handle: a reader of folders takes their names for columns.
        every += [
            {"late": None, **row, **said} for row in pyarrow.parquet.ParquetFile(place).read().to_pylist()
        ]
    return counted(every)


def test_whatever_was_done_to_a_table_its_rows_are_those_that_are_left(tmp_path: Path) -> None:
    differed = 0
    for seed in range(12):
        model = Model(tmp_path / str(seed), Random(seed)).history(6)
        assert read(model.folder) == counted(model.rows), seed
        differed += model.stored != len(model.rows)
    # All files of a folder are another table.
    assert differed > 3


def every_cell(name: str) -> Statement:
    """Return the statement that counts rows by all their cells."""
    keys = tuple(Column("t0", column) for column, _ in COLUMNS)
    items = tuple((f"k{number}", key) for number, key in enumerate(keys))
    counts = (*items, ("m0", Call("count_rows", ())))
    return Statement((), Query(counts, StoredTable(name, "t0"), None, keys), len(keys), ("m0",))


MANIFEST = """
[dataset]
name = "clinic"
ledger = "clinic.ledger"
[budget]
epsilon = 100
[tables.visits]
source = "visits"
engine = "spark"
unit = "id"
rows_per_unit = 50
[tables.visits.columns]
ward = {type = "text", values = ["A", "a b/c"]}
"""


@pytest.mark.spark
def test_spark_reads_what_a_table_of_delta_holds_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(tmp_path / "visits", Random(14))
    model.append()
    model.delete(700)
    model.checkpoint()
    model.append()
    model.delete_partition()
    # Some files are older than a column, and every ward is there.
    names = [pyarrow.parquet.ParquetFile(place).schema.names for place in newest(model.folder).files]
    assert {"late" in own for own in names} == {True, False}
    assert {row["ward"] for row in model.rows} == set(WARDS)
    asked, source = every_cell("visits"), f"spark:{model.folder}"
    engine = spark.open_tables({"visits": Origin(source, COLUMNS)})
    judge = open_reference({"visits": held(model.rows)}, {"visits": COLUMNS})
    assert engine._exact([asked], 1)._totals == run_reference(judge, [asked], 1)._totals
    # Read as a folder of Parquet files, the table has rows that were deleted.
    with monkeypatch.context() as other:
        other.setattr(folders, "is_delta", lambda place: False)
        plain = spark.open_tables({"visits": Origin(source, (("id", "integer"),))})
        number = Query((("m0", Call("count_rows", ())),), StoredTable("visits", "t0"))
        assert plain._exact([Statement((), number, 0, ("m0",))], 1)._totals == {"m0": {(): model.stored}}
        assert model.stored > len(model.rows)
    (tmp_path / "clinic.toml").write_text(MANIFEST)
    question = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    with dp.open(tmp_path / "clinic.toml") as data:
        model.overwrite(ward="A")
        # The next question reads the next version, in either session.
        assert {key for key, count in integers(data, question)[0]["m0"].items() if count} == {("A",)}
    judge = open_reference({"visits": held(model.rows)}, {"visits": COLUMNS})
    assert engine._exact([asked], 1)._totals == run_reference(judge, [asked], 1)._totals
    model.rows, _ = [], DeltaTable(model.folder).delete()
    assert engine._exact([asked], 1)._totals == {"m0": {}}
    assert dict(describe(source)) == {
        "id": "BIGINT",
        "x": "DOUBLE",
        "at": "TIMESTAMP",
        "late": "BIGINT",
        "ward": "VARCHAR",
        "day": "DATE",
        "flag": "BOOLEAN",
    }


@pytest.mark.spark
def test_spark_refuses_what_the_log_does_not_cover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(tmp_path / "visits", Random(2))
    inside = next(file.parent for file in model.files)
    for source, said in ((inside, "inside of a folder of Delta"), (model.folder / "nothing", "inside of")):
        with pytest.raises(CatalogError, match=said):
            open_engine({"visits": Origin(f"spark:{source}", (("id", "integer"),))})
    with pytest.raises(CatalogError, match=r"tables\.visits\.source.*where this process sees it"):
        open_engine({"visits": Origin(f"spark:file:{model.folder}", (("id", "integer"),))})
    engine = spark.open_tables({"visits": Origin(f"spark:{model.folder}", (("id", "integer"),))})
    seen = newest(model.folder)
    other = replace(seen, files=hidden(seen.files))
    monkeypatch.setattr(folders, "newest", lambda place: other)
    with pytest.raises(CatalogError, match="other files"):
        engine._exact([every_cell("visits")], 1)
    engine.close()


def hidden(files: Any) -> dict[str, Any]:
    """Return files of which one is called as Spark overlooks it."""
    first, *others = files
    place = Path(first)
    return {str(place.rename(place.with_name("_overlooked.parquet"))): files[first]} | {
        other: files[other] for other in others
    }


Change = Callable[[list[dict[str, Any]]], None]


def changed(folder: Path, change: Change, given: pyarrow.Table | None = None, **how: Any) -> Path:
    """Return a folder with a table of one version, whose log was changed."""
    write_deltalake(folder, pyarrow.table({"id": [1, 2]}) if given is None else given, **how)
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    change(actions)
    log.write_text("\n".join(map(json.dumps, actions)))
    return folder


def demanding(*features: str) -> Change:
    def change(actions: list[dict[str, Any]]) -> None:
        own = {"minReaderVersion": 3, "minWriterVersion": 7}
        own |= {"readerFeatures": list(features), "writerFeatures": list(features)}
        next(action for action in actions if "protocol" in action)["protocol"] = own

    return change


def adding(**own: Any) -> Change:
    return lambda actions: next(action["add"] for action in actions if "add" in action).update(own)


def twice(actions: list[dict[str, Any]]) -> None:
    (own,) = (action["add"] for action in actions if "add" in action)
    actions.append({"add": {**own, "path": f"./{own['path']}"}})


VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg0rr91",
    "cardinality": 1,
}
"""The second row is deleted."""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (demanding("typeWidening"), "typeWidening.*spark:catalog.table"),
        (demanding("variantType", "vacuumProtocolCheck"), "vacuumProtocolCheck, variantType"),
        (demanding("catalogManaged"), "could not be read"),
        (demanding("somethingNew"), "has somethingNew of Delta"),
        (adding(deletionVector={**VECTOR, "sizeInBytes": 36}), "deletionVectors.*PURGE"),
        (adding(deletionVector={**VECTOR, "pathOrInlineDv": "", "sizeInBytes": 0}), "could not be read"),
        (adding(path="../s3cret.parquet"), "outside"),
        (adding(path="%2e%2e/s3cret.parquet"), "outside"),
        (adding(path="/s3cret.parquet"), "outside"),
        (adding(path="file:///s3cret.parquet"), "not there"),
        (adding(path="s3://s3cret/x.parquet"), "not there"),
        (adding(path="s3cret\x00.parquet"), "could not be read"),
        (adding(path="s3cret%ff.parquet"), "could not be read"),
        (adding(path=7), "not there"),
        (twice, "twice"),
        (lambda actions: actions.clear(), "could not be read"),
        (lambda actions: actions.append("s3cret"), "could not be read"),  # type: ignore[arg-type]
    ],
)
def test_what_would_be_read_wrongly_is_refused(change: Change, said: str, tmp_path: Path) -> None:
    (tmp_path / "s3cret.parquet").write_bytes(b"of somebody else")
    with pytest.raises(CatalogError, match=said) as refused:
        newest(changed(tmp_path / "t", change))
    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


def test_other_columns_of_files_and_values_without_a_zone_are_refused(tmp_path: Path) -> None:
    mapped = changed(tmp_path / "m", len, configuration={"delta.columnMapping.mode": "name"})  # type: ignore[arg-type]
    with pytest.raises(CatalogError, match="columnMapping"):
        newest(mapped)
    moments = pyarrow.table({"id": [1], "at": pyarrow.array([0], pyarrow.timestamp("us", "UTC"))})
    apart = changed(tmp_path / "z", len, moments, partition_by=["at"])  # type: ignore[arg-type]
    with pytest.raises(CatalogError, match="of type timestamp"):
        newest(apart)


def test_files_that_are_gone_are_missed_and_links_out_of_the_folder_refused(tmp_path: Path) -> None:
    model = Model(tmp_path / "t", Random(3))
    first = model.files[0]
    first.rename(tmp_path / "elsewhere.parquet")
    with pytest.raises(CatalogError, match="not there"):
        newest(model.folder)
    first.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(CatalogError, match="outside"):
        newest(model.folder)


def test_a_log_that_begins_with_a_checkpoint_of_the_second_form_is_read(tmp_path: Path) -> None:
    folder = changed(tmp_path / "t", demanding("v2Checkpoint", "deletionVectors"))
    log = folder / "_delta_log"
    first = log / f"{0:020}.json"
    kept = [line for line in first.read_text().splitlines() if "commitInfo" not in line]
    named = log / f"{0:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    named.write_text("\n".join((json.dumps({"checkpointMetadata": {"version": 0}}), *kept)))
    first.unlink()
    assert len(newest(folder).files) == 1


def mutated(random: Random, value: Any) -> Any:
    odd = (
        None,
        "",
        -1,
        10**30,
        "..",
        "/etc/passwd",
        "%zz",
        "\x00",
        [],
        {},
        True,
        1.5,
        "decimal(50,2)",
        [None],
    )
    if isinstance(value, dict) and value and random.random() < 0.8:
        name = random.choice(list(value))
        return {**value, name: mutated(random, value[name])}
    if isinstance(value, str) and value.startswith("{") and random.random() < 0.8:
        return json.dumps(mutated(random, json.loads(value)))
    return random.choice(odd)


def test_a_log_of_any_content_is_read_inside_of_its_folder_or_refused(tmp_path: Path) -> None:
    model = Model(tmp_path / "t", Random(4)).history(3)
    logs = {file: file.read_text() for file in sorted((model.folder / "_delta_log").glob("*.json"))}
    refusals = []
    for seed in range(150):
        random = Random(seed)
        file, text = random.choice(list(logs.items()))
        actions = [json.loads(line) for line in text.splitlines()]
        place = random.randrange(len(actions))
        actions[place] = mutated(random, actions[place])
        file.write_text("\n".join(map(json.dumps, actions))[: random.choice((None, None, 400))])
        try:
            assert all(Path(found).is_relative_to(model.folder) for found in newest(model.folder).files)
        except CatalogError as refusal:
            refusals.append(str(refusal))
        file.write_text(text)
    assert len(refusals) > 50
    assert not any("etc" in refusal for refusal in refusals)
    assert read(model.folder) == counted(model.rows)


def test_without_spark_a_folder_is_refused_with_what_reads_it(tmp_path: Path) -> None:
    model = Model(tmp_path / "visits", Random(5))
    (tmp_path / "plain").mkdir()
    (tmp_path / "clinic.toml").write_text(MANIFEST.replace('engine = "spark"\n', ""))
    for refused in (
        lambda: dp.open(tmp_path / "clinic.toml"),
        lambda: open_engine({"visits": Origin(str(model.folder), COLUMNS)}),
        lambda: dp.open(visits=str(model.folder), epsilon=1),
        lambda: survey(str(model.folder)),
    ):
        with pytest.raises(CatalogError, match=r'Delta.*engine = "spark"'):
            refused()
    with pytest.raises(CatalogError, match=r'a folder.*engine = "spark"'):
        survey(str(tmp_path / "plain"))


def test_the_library_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Model(tmp_path / "t", Random(6))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ExtraError, match=r"discreet\[delta\]"):
        newest(tmp_path / "t")
