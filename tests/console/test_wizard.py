"""The wizard: a manifest from a schema and somebody's decisions, and nothing from any cell."""

import itertools
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from tests.console.world import IMAGE, SCRIPT, Browser, Console, Shown

import discreet as dp
from discreet.console import decisions
from discreet.errors import ParameterError
from discreet.query.catalog.written import written
from discreet.query.price.words import lines
from discreet.service.settings import refuse_source

HERE = "/console/wizard"
CANARY = "CANARY-51c0"
DECIDED = {
    "unit": "column:person_id",
    "rows_per_unit": "4",
    "groups_per_unit": "2",
    "epsilon": "2",
    "c0.type": "integer",
    "c0.low": "0",
    "c0.high": "110",
    "c1.type": "text",
    "c1.values": "North\nSouth",
    "c2.type": "decimal",
    "c2.low": "0",
    "c2.high": "99.5",
    "c2.step": "0.5",
}
"""About the columns person_id, age, ward and cost, of which the first is the person."""


def describe(browser: Browser, file: str, place: str = "0", **fields: str) -> Shown:
    form = browser.get(HERE).form(do="columns")
    return browser.submit(form, place=place, file=file, **fields)


def decided(page: Shown, **fields: str) -> dict[str, str]:
    """Return the form of decisions, filled in; columns are counted without the person."""
    form = next(form for form in page.forms() if "epsilon" in form)
    shift = {f"c{int(key[1]) + 1}{key[2:]}" if re.match(r"c\d\.", key) else key: key for key in DECIDED}
    return form | {key: DECIDED[known] for key, known in shift.items()} | fields


def people(folder: Path, name: str, cells: Mapping[str, list[object]]) -> None:
    rows = dict(cells)
    pyarrow.parquet.write_table(pyarrow.table(rows), folder / f"{name}.parquet")
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def without_seal(page: Shown) -> str:
    return re.sub(r'name="seal" value="[0-9a-f]{64}"', "", page.text)


def columns(*, secret: bool) -> dict[str, list[object]]:
    rows = 7 if secret else 2
    text = CANARY if secret else "North"
    return {
        "person_id": list(range(rows)),
        "age": [99 if secret else 3] * rows,
        "ward": [text] * rows,
        "cost": [1.25] * rows,
    }


def test_a_draft_is_a_function_of_the_schema_and_of_no_cell(site: Console):
    curator, pages = site.browser("curator"), []
    for secret in (False, True):
        people(site.folder, "same", columns(secret=secret))
        for file in ("same.csv", "same.parquet"):
            page = describe(curator, file)
            look = curator.submit(decided(page, do="look"))
            assert (page.status, look.status) == (200, 200)
            assert CANARY not in page.text + look.text
            pages.append((without_seal(page), without_seal(look)))
    assert pages[:2] == pages[2:]


def test_decisions_become_a_new_manifest_that_opens_and_errs_as_it_was_shown(site: Console):
    curator = site.browser("curator")
    people(site.folder, "trial", columns(secret=False))
    page = curator.submit(decided(describe(curator, "trial.csv"), name="trial-one", do="look"))
    assert page.status == 200
    preview = tomllib.loads(re.search(r"(\[dataset\].*?)</pre>", page.text, re.S)[1].replace("&#34;", '"'))
    led = curator.submit(decided(page, name="trial-one", do="save"))
    assert (led.status, led.where) == (303, HERE)
    assert "trial-one.toml is saved" in curator.get(HERE).text
    saved = site.folder / "trial-one.toml"
    made = tomllib.loads(saved.read_text())
    assert made == preview
    table = made["tables"]["trial"]
    assert (table["source"], table["unit"], table["rows_per_unit"]) == ("trial.csv", "person_id", 4)
    assert table["columns"]["ward"] == {"type": "text", "values": ["North", "South"]}
    assert table["columns"]["cost"] == {"type": "decimal", "low": 0, "high": "99.5", "step": "0.5"}
    shown = decisions.weighed(made)
    with dp.open(saved) as session:
        for told, sql, _ in decisions._samples(made):
            (error,) = [one["error"] for one in shown["samples"] if one["question"] == told]
            assert error == lines(session.quote(sql, epsilon="0.2"))[-1][1]
            assert error in page.text
    before = saved.read_bytes()
    again = curator.submit(decided(page, name="trial-one", epsilon="9", do="save"))
    assert again.status == 422
    assert "nothing is overwritten" in again.text
    assert saved.read_bytes() == before


def error(text: str) -> float:
    return float(text.replace(",", "").lstrip("± "))


def test_doubling_a_decision_shows_what_it_does_to_the_error():
    columns = {
        "age": {"type": "integer", "low": 0, "high": 50},
        "ward": {"type": "text", "values": ["A", "B", "C", "D"]},
    }
    table = {
        "source": "t.csv",
        "unit": "person",
        "rows_per_unit": 4,
        "groups_per_unit": 2,
        "columns": columns,
    }
    made = {"dataset": {"name": "t"}, "budget": {"epsilon": 1}, "tables": {"t": table}}
    found = {one["word"]: one for one in decisions.weighed(made)["effects"]}
    assert set(found) == {"rows_per_unit", "groups_per_unit", "bounds", "epsilon"}
    number = {word: (error(one["before"]), error(one["after"])) for word, one in found.items()}
    for word in ("rows_per_unit", "groups_per_unit", "bounds"):
        assert number[word][1] == pytest.approx(2 * number[word][0], rel=0.1)
    assert number["epsilon"][1] == pytest.approx(number["epsilon"][0] / 2, rel=0.1)
    row = {**made, "tables": {"t": {**table, "unit": "row"}}}
    del row["tables"]["t"]["rows_per_unit"], row["tables"]["t"]["groups_per_unit"]
    assert [one["word"] for one in decisions.weighed(row)["effects"]] == ["bounds", "epsilon"]
    assert made["tables"]["t"] is table
    assert table["rows_per_unit"] == 4


REFUSED = (
    {"unit": ""},
    {"unit": "public"},
    {"epsilon": ""},
    {"epsilon": "-1"},
    {"epsilon": "1e999999999"},
    {"delta": "0.5"},
    {"rows_per_unit": "0"},
    {"c1.high": ""},
    {"c1.low": "111"},
    {"c1.low": CANARY},
    {"c1.type": "function"},
    {"table": ""},
)
NAMES = ("", "../evil", "a/b", ".hidden", "UPPER", "a" * 61, "nul\0", "x.toml")


def test_what_cannot_be_declared_is_refused_in_words_and_saved_nowhere(site: Console):
    curator = site.browser("curator")
    people(site.folder, "odd", columns(secret=False))
    page = describe(curator, "odd.csv")
    held = set(site.folder.rglob("*"))
    for fields in REFUSED:
        for do in ("look", "save"):
            refused = curator.submit(decided(page, do=do, **fields))
            assert refused.status == 422
            assert 'role="alert"' in refused.text
    for name in NAMES:
        assert curator.submit(decided(page, name=name, do="save")).status == 422
    assert set(site.folder.rglob("*")) == held
    assert not (site.folder.parent / "evil.toml").exists()


def test_nothing_outside_of_the_allowed_places_is_opened(site: Console, tmp_path: Path):
    curator = site.browser("curator")
    people(tmp_path, "outside", {CANARY: [1]})
    link, folder = site.folder / "link.csv", site.folder / "leads"
    link.symlink_to(tmp_path / "outside.csv")
    folder.symlink_to(tmp_path)
    (site.folder / "notes.md").write_text(CANARY)
    try:
        missing = describe(curator, "nothing.csv")
        assert missing.status == 422
        for file in (
            *("link.csv", "leads/outside.csv", str(tmp_path / "outside.csv"), "../outside.csv", "notes.md"),
            *("leads/../outside.csv", "\0", "", ".", "clinic.toml", "discreet.people", "x" * 390),
        ):
            page = describe(curator, file)
            assert page.status == 422
            assert CANARY not in page.text
            assert re.sub(r'value="[^"]*"', "", page.text) == re.sub(r'value="[^"]*"', "", missing.text)
        for place in ("1", "-1", "x", "", "99999999"):
            assert describe(curator, "clinic.parquet", place=place).status == 422
        listed = curator.get(HERE).text
        assert "clinic.parquet" in listed
        assert "link.csv" not in listed
        assert "outside" not in listed
    finally:
        link.unlink()
        folder.unlink()


def test_a_file_without_a_header_shows_nobody(site: Console):
    curator = site.browser("curator")
    (site.folder / "bare.csv").write_text(f"17,{CANARY},3.5\n18,x,4\n")
    page = describe(curator, "bare.csv")
    assert page.status == 422
    assert CANARY not in page.text
    assert "does not read like names" in page.text
    named = describe(curator, "bare.csv", header="none", names="id\nward\ncost")
    assert named.status == 200
    assert CANARY not in named.text
    form = next(form for form in named.forms() if "epsilon" in form)
    look = curator.submit(form, do="look")
    assert "= { header = [&#34;id&#34;, &#34;ward&#34;, &#34;cost&#34;] }" in look.text


def test_hostile_names_and_values_are_words_on_the_page_and_in_the_manifest(site: Console):
    curator = site.browser("curator")
    names = ["person_id", SCRIPT, IMAGE, '"quote"', "a\\b", "é", "[tables.x]"]
    pyarrow.parquet.write_table(pyarrow.table({name: [1] for name in names}), site.folder / "hostile.parquet")
    page = describe(curator, "hostile.parquet")
    form = next(form for form in page.forms() if "epsilon" in form)
    bounds = {f"c{number}.{word}": "7" for number in range(1, len(names)) for word in ("low", "high")}
    table = '"]\n[budget]\nepsilon = 99'
    for sent in ({**form, **bounds}, {**form, **bounds, "unit": f"column:{IMAGE}", "table": table}):
        look = curator.submit(sent, do="look")
        assert [tag for tag, _ in look.tags()].count("img") == 1
        assert all("src" in said for tag, said in look.tags() if tag == "script")
        assert SCRIPT not in look.text
    led = curator.submit({**form, **bounds}, do="save", name="hostile-one")
    assert led.status == 303
    made = tomllib.loads((site.folder / "hostile-one.toml").read_text())
    assert list(made["tables"]["hostile"]["columns"]) == names[1:]
    assert made["budget"] == {"epsilon": 1}
    with dp.open(site.folder / "hostile-one.toml") as session:
        assert session.catalog.tables[0].unit == "person_id"


ODD = [
    '"',
    "\\",
    "]",
    "a.b",
    "#",
    "\n[x]",
    "=",
    "",
    "'",
    '"""',
    "\0\x1f\x7f",
    "\u2028",
    "é",
    "\\u0041",
    " a ",
]
PLAIN = [True, 0, -7, date(2024, 2, 29), [], ODD, "plain"]


def test_a_manifest_reads_back_as_what_was_written():
    inner = dict(zip(ODD, itertools.cycle(PLAIN)))
    for name in ODD:
        document = {"dataset": inner, "tables": {name: {**inner, "columns": {name: inner, "b": {}}}}}
        assert tomllib.loads(written(document)) == document


def test_the_wizard_is_for_curators_and_its_forms_cannot_be_forged(site: Console):
    held = set(site.folder.iterdir())
    curator = site.browser("curator")
    form = curator.get(HERE).form(do="columns")
    for who in ("analyst", "auditor"):
        browser = site.browser(who)
        seal = browser.get("/console/").forms()[0]["seal"]
        assert browser.get(HERE).status == 403
        assert HERE not in browser.get("/console/").text
        for do in ("columns", "look", "save"):
            assert browser.submit(form, seal=seal, do=do, file="clinic.parquet").status == 403
    for seal in ("", "0" * 64, site.browser("second").get("/console/").forms()[0]["seal"]):
        assert curator.submit(form, seal=seal, file="clinic.parquet").status == 403
    assert curator.submit(form, do="other").status == 400
    assert HERE in curator.get("/console/").text
    assert site.browser().get(HERE).status == 303
    assert set(site.folder.iterdir()) == held


def test_a_file_of_tables_is_asked_for_one_of_them(site: Console):
    curator = site.browser("curator")
    with duckdb.connect(str(site.folder / "several.duckdb")) as connection:
        connection.execute("CREATE TABLE stays (patient_id INTEGER, kind ENUM('x', 'y'), parts INTEGER[])")
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.stays (a INTEGER)")
    asked = describe(curator, "several.duckdb")
    assert asked.status == 422
    assert "this file has stays, old.stays" in asked.text or "this file has old.stays, stays" in asked.text
    page = describe(curator, "several.duckdb#stays")
    assert page.status == 200
    form = next(form for form in page.forms() if "epsilon" in form)
    assert (form["unit"], form["c1.name"], form["c1.type"], form["left_out"]) == (
        "column:patient_id",
        "kind",
        "text",
        "1",
    )
    assert describe(curator, "several.duckdb#nothing").status == 422


def test_a_view_in_a_file_of_tables_leads_to_no_other_file(site: Console, tmp_path: Path):
    curator = site.browser("curator")
    (tmp_path / "secret.csv").write_text(f"{CANARY},b\n1,2\n")
    with duckdb.connect(str(site.folder / "views.duckdb")) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
        connection.execute("CREATE TABLE t (id INTEGER, a INTEGER)")
        connection.execute("CREATE VIEW own AS SELECT id, a + 1 AS a FROM t")
    page = describe(curator, "views.duckdb#v")
    assert page.status == 422
    assert CANARY not in page.text
    assert describe(curator, "views.duckdb#own").status == 200


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://u:s3cret@h/d",
        "postgresql://h/d?password=s3cret",
        "postgresql://h/d#public.visits",
        "mysql://s3cret/d",
        "https://[s3cret",
        "/nowhere-s3cret-at-all",
    ],
)
def test_a_place_that_holds_a_secret_or_is_none_is_refused_before_anything_is_served(source: str):
    with pytest.raises(ParameterError, match="sources") as refused:
        refuse_source(source)
    assert "s3cret" not in str(refused.value) or "folder" in str(refused.value)
