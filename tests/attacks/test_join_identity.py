"""Two people whose identifiers agree in floating point must not meet in a join."""

import pandas as pd
import pytest

from discreet.errors import CatalogError, QueryError
from discreet.release.session import open as open_session

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


def test_identifiers_of_one_type_are_compared_exactly(tmp_path):
    with opened(tmp_path, "integer") as session:
        exact = session.engine.run
        seen = []
        session.engine.run = lambda requests, choice: seen.append(exact(requests, choice)) or seen[-1]
        session.query(QUESTION, epsilon=1)
    assert seen[0].integers("m0", [()]) == [0]
