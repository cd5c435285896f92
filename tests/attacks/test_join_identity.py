"""Two people whose identifiers agree in floating point must not meet in a join."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import CatalogError, QueryError
from discreet.release.opening import open as open_session

MANIFEST = """
[budget]
epsilon = 1
[tables.a]
source = "a.parquet"
unit = "person"
rows_per_unit = 1
[tables.a.columns]
person = { type = "integer" }
[tables.b]
source = "b.parquet"
unit = "person"
rows_per_unit = 1
[tables.b.columns]
person = { type = "KIND" }
"""
QUESTION = "SELECT COUNT(*) AS n FROM a JOIN b ON a.person = b.person"


def opened(tmp_path, kind):
    pd.DataFrame({"person": [2**53 + 1]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"person": [2**53]}).to_parquet(tmp_path / "b.parquet")
    (tmp_path / "m.toml").write_text(MANIFEST.replace("KIND", kind))
    return open_session(tmp_path / "m.toml")


def test_identifiers_that_are_rounded_are_refused(tmp_path):
    with pytest.raises(CatalogError, match="cannot be a decimal"):
        opened(tmp_path, "decimal")


def test_identifiers_are_not_joined_after_rounding(tmp_path):
    question = "SELECT COUNT(*) AS n FROM a JOIN b ON a.person + 0.0 = b.person + 0.0"
    with opened(tmp_path, "integer") as session, pytest.raises(QueryError, match="joined on the person"):
        session.quote(question, epsilon=1)


def people(tmp_path, question, kinds=("", ""), **ids):
    """Return the exact integer of a question about tables of identifiers, stored as Parquet."""
    tmp_path = tmp_path / "-".join(("kinds", *kinds))
    tmp_path.mkdir()
    lines = ["[budget]", "epsilon = 1"]
    for (name, stored), kind in zip(ids.items(), kinds, strict=False):
        pq.write_table(pa.table({"person": stored}), tmp_path / f"{name}.parquet")
        lines += [f"[tables.{name}]", f'source = "{name}.parquet"', 'unit = "person"', "rows_per_unit = 1"]
        lines += [f"[tables.{name}.columns]", f'person = "{kind}"'] if kind else []
    (tmp_path / "m.toml").write_text("\n".join(lines))
    with open_session(tmp_path / "m.toml") as session:
        seen, exact = [], session.engine.run
        session.engine.run = lambda requests, choice: seen.append(exact(requests, choice)) or seen[-1]
        session.query(question, epsilon=1)
    (value,) = seen[0].integers("m0", [()])
    return value


WHOLE = [1, 2, 3, 2**53 - 1]
FLOATS = pa.array([1.0, 2.0, 3.0, float(2**53 - 1), None, float("nan")], pa.float64())


@pytest.mark.parametrize(
    "kinds", [("", ""), ("integer", ""), ("", "integer"), ("text", "text"), ("integer", "integer")]
)
def test_identifiers_that_a_missing_one_made_floats_are_still_the_same_people(tmp_path, kinds):
    """One missing identifier makes floating-point numbers of a whole column in many tools."""
    question = "SELECT COUNT(*) AS n FROM a JOIN b ON a.person = b.person"
    assert people(tmp_path, question, kinds, a=pa.array(WHOLE), b=FLOATS) == 4


@pytest.mark.parametrize("kind", ["", "text", "integer"])
@pytest.mark.parametrize("stored", [pa.float64(), pa.float32()])
def test_what_is_no_number_identifies_nobody(tmp_path, kind, stored):
    odd = pa.array([float("nan"), float("inf"), float("-inf"), None, 1.0, -0.0, 0.0], stored)
    assert people(tmp_path, "SELECT COUNT(DISTINCT person) AS n FROM a", (kind,), a=odd) == 2


def test_identifiers_declared_integer_are_one_person_where_they_are_one_integer(tmp_path):
    """Said in the manual: whoever writes one person's number in two ways wants them to be one."""
    spelt = pa.array(["1", "01", "+1", "2", "two"])
    assert people(tmp_path, "SELECT COUNT(DISTINCT person) AS n FROM a", ("integer",), a=spelt) == 2
    assert people(tmp_path, "SELECT COUNT(DISTINCT person) AS n FROM a", ("",), a=spelt) == 5


def test_identifiers_of_one_type_are_compared_exactly(tmp_path):
    with opened(tmp_path, "integer") as session:
        exact = session.engine.run
        seen = []
        session.engine.run = lambda requests, choice: seen.append(exact(requests, choice)) or seen[-1]
        session.query(QUESTION, epsilon=1)
    assert seen[0].integers("m0", [()]) == [0]
