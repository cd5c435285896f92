"""Moments at the ends of what their types can hold: one cell fails no question and moves no other."""

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb.engine import open_tables
from discreet.engines.exact import EngineRequest
from discreet.engines.protocol import Origin
from discreet.errors import CatalogError

ENDS = (2**62, 2**63 - 1, -(2**63) + 5, -(2**62), 9_223_372_036_854_775, 253_402_300_800, -62_135_596_801)
KINDS = ("timestamp", "date", "text", "integer", "decimal", "boolean")
COUNT = "SELECT count(*) AS m0 FROM v"
SEEN = "SELECT person, count(d) AS m0 FROM v GROUP BY person"


def column(raw: tuple[int, ...], unit: str, zone: str | None) -> pa.Array:
    return pa.array(raw, pa.int64()).view(pa.timestamp(unit, zone))


def frame(raw: tuple[int, ...], unit: str, zone: str | None) -> pa.Table:
    return pa.table({"person": [f"p{place}" for place in range(len(raw))], "d": column(raw, unit, zone)})


def sources(table: pa.Table, folder: Path) -> dict[str, Any]:
    pq.write_table(table, folder / "v.parquet", coerce_timestamps=None)
    found: dict[str, Any] = {"arrow": table, "parquet": folder / "v.parquet"}
    if table.schema.field("d").type.unit != "s":
        found["polars"] = pl.from_arrow(table)
    return found


UNITS, ZONES = ("s", "ms", "us", "ns"), (None, "UTC", "Europe/Zurich")
FEW = {("s", None), ("ms", "UTC"), ("us", "Europe/Zurich"), ("ns", None)}
"""Pairs in which each unit and each zone occurs; the long form tries all."""


@pytest.mark.parametrize(
    ("unit", "zone"),
    [
        pytest.param(*pair, marks=() if pair in FEW else pytest.mark.fuzz)
        for pair in ((unit, zone) for unit in UNITS for zone in ZONES)
    ],
)
def test_no_moment_fails_a_question_or_moves_another_row(unit: str, zone: str | None, tmp_path: Path) -> None:
    ends = tuple(end for end in ENDS if unit != "s" or abs(end) < 2**53)
    table = frame((0, 1_000, *ends), unit, zone)
    for name, rows in sources(table, tmp_path).items():
        origins = {kind: Origin(rows, (("person", "identifier"), ("d", kind))) for kind in KINDS}
        with open_tables(origins, folder=tmp_path, threads=1) as engine:
            for kind in KINDS:
                asked = [
                    EngineRequest(COUNT.replace(" v", f' "{kind}"'), 0, ("m0",)),
                    EngineRequest(SEEN.replace("m0", "m1").replace(" v ", f' "{kind}" '), 1, ("m1",)),
                ]
                exact = engine._exact(asked, 1)
                assert exact._totals["m0"][()] == len(table), (name, kind)
                if kind in ("timestamp", "date", "text"):
                    assert exact._totals["m1"][("p0",)] == exact._totals["m1"][("p1",)] == 1, (name, kind)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Zurich"])
def test_moments_mean_the_same_in_every_unit_and_source(unit: str, zone: str | None, tmp_path: Path) -> None:
    """The second before 1970 is the last of 1969, not the first of 1970."""
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    table = frame((-1, 0, 1_700_000_000 * per), unit, zone)
    before = {"s": "1969-12-31 23:59:59", "ms": "1969-12-31 23:59:59.999"}.get(
        unit, "1969-12-31 23:59:59.999999"
    )
    wanted = [datetime.fromisoformat(text) for text in (before, "1970-01-01", "2023-11-14 22:13:20")]
    for name, rows in sources(table, tmp_path).items():
        origin = Origin(rows, (("person", "identifier"), ("d", "timestamp")))
        with open_tables({"v": origin}, folder=tmp_path) as engine:
            held = engine.connection.execute("SELECT d FROM v ORDER BY person").fetchall()
        assert [cell for (cell,) in held] == wanted, name


@pytest.mark.parametrize("kind", ["identifier", "text"])
def test_a_moment_before_all_others_in_a_file_fails_no_question_about_the_rest(
    kind: str, tmp_path: Path
) -> None:
    """What is made of the rows that a filter keeps is computed for everything that is stored beside them."""
    table = frame((0, 0, -(2**63)), "us", None)
    pq.write_table(table, tmp_path / "v.parquet")
    origin = Origin("v.parquet", (("person", "identifier"), ("d", kind)))
    asked = EngineRequest("SELECT d, count(*) AS m0 FROM v WHERE d IS NOT NULL GROUP BY d", 1, ("m0",))
    with open_tables({"v": origin}, folder=tmp_path) as engine:
        assert dict(engine._exact([asked], 1)._totals["m0"]) == {("1970-01-01 00:00:00",): 2}


@pytest.mark.parametrize("end", [0, -(2**63)])
def test_what_lies_inside_of_another_cell_of_a_file_is_refused_whatever_it_is(
    end: int, tmp_path: Path
) -> None:
    moments = column((0, end), "us", None)
    nested = {
        "s": pa.StructArray.from_arrays([moments], ["f"]),
        "l": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), moments),
    }
    pq.write_table(pa.table({"person": ["a", "b"], **nested}), tmp_path / "v.parquet")
    for name in nested:
        origin = Origin("v.parquet", (("person", "identifier"), (name, "text")))
        with pytest.raises(CatalogError, match="tells nobody apart"):
            open_tables({"v": origin}, folder=tmp_path)
    with open_tables({"v": Origin("v.parquet", (("person", "identifier"),))}, folder=tmp_path) as engine:
        assert engine._exact([EngineRequest(COUNT, 0, ("m0",))], 1)._totals["m0"][()] == 2
