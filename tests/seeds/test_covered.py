"""Every item of the lectures is covered by a test, and every test of the lectures names its items."""

from importlib import import_module

import pytest
from tests.seeds.covered import ITEMS, KINDS, LECTURES, as_markdown, covers, modules, table


def test_every_item_of_the_lectures_is_covered():
    rows = table()
    print(as_markdown(rows))
    assert [row.item for row in rows] == list(ITEMS)
    assert [row.item for row in rows if not row.tests] == []


def test_every_test_of_a_lecture_names_items_of_that_lecture():
    for number, module in modules().items():
        tests = {n: t for n, t in vars(import_module(module)).items() if n.startswith("test_")}
        assert tests
        for name, test in tests.items():
            named = getattr(test, "lecture_items", ())
            assert named, f"{module}.{name} names no item"
            assert all(item.startswith(number) for item in named)


def test_items_are_numbered_by_lecture_and_kind_and_slips_throughout():
    assert all(item[:3] in LECTURES and item[4] in KINDS and item[5:].isdigit() for item in ITEMS)
    slips = [int(item[5:]) for item in ITEMS if item[4] == "S"]
    assert slips == list(range(1, 29))


def test_the_table_has_one_line_per_item():
    lines = as_markdown().splitlines()
    assert len(lines) == len(ITEMS) + 2
    assert lines[2].startswith("| 000-D1 | definition |")


@pytest.mark.parametrize("items", [(), ("000-Z9",)])
def test_a_test_cannot_claim_to_cover_what_is_not_an_item(items):
    with pytest.raises(ValueError, match="not an item"):
        covers(*items)


def test_an_item_without_a_test_would_be_found(monkeypatch):
    monkeypatch.setitem(ITEMS, "004-X8", "an exercise that nobody solved")
    assert [row.item for row in table() if not row.tests] == ["004-X8"]
