"""A clinic that never was: people, their visits and the wards, generated to try questions on.

Nothing here is anybody's data.  Visits per person are long-tailed, costs are skewed and differ by ward, and
a few people come very often, as in life.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.coins import source

REGIONS = ("Coast", "Delta", "Forest", "Hills", "Lakes", "Meadow", "Moor", "Plain", "Ridge", "Valley")
WARDS = (
    ("Cardiology", "North", 0.18, 420.0),
    ("Dermatology", "South", 0.10, 110.0),
    ("Emergency", "North", 0.27, 260.0),
    ("Neurology", "East", 0.08, 540.0),
    ("Oncology", "East", 0.07, 980.0),
    ("Orthopedics", "South", 0.15, 380.0),
    ("Pediatrics", "South", 0.12, 150.0),
    ("Psychiatry", "East", 0.03, 210.0),
)
MANIFEST = """\
[dataset]
name = "clinic"
ledger = "clinic.ledger"

[budget]                        # everything that anybody will ever learn about one patient
epsilon = 3

[tables.patients]
source = "patients.parquet"
unit = "person_id"
rows_per_unit = 1
[tables.patients.columns]
age    = { type = "integer", low = 0, high = 110 }
region = { type = "text", values = [REGIONS] }
smoker = { type = "boolean" }

[tables.visits]
source = "visits.parquet"
unit = "person_id"              # privacy is for people, however many rows they have
rows_per_unit = 10
[tables.visits.columns]
ward    = { type = "text", values = [WARDS] }
day     = { type = "date", low = 2025-01-01, high = 2025-12-31 }
cost    = { type = "decimal", low = 0, high = 2000, step = "0.01" }
waited  = { type = "integer", low = 0, high = 240 }

[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward     = { type = "text", unique = true, values = [WARDS] }
building = { type = "text", values = ["North", "South", "East"] }
"""


def generate(folder: Path, people: int = 200_000) -> Path:
    """Write patients, visits and wards into a folder and return the path of their manifest."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    age = np.clip(_uniform(people) * 70 + _uniform(people) * 45 - 8, 0, 104).astype(np.int64)
    region = np.array(REGIONS)[
        (np.minimum(_uniform(people), _uniform(people)) * len(REGIONS)).astype(np.int64)
    ]
    smoker = _uniform(people) < np.where((age > 17) & (age < 70), 0.24, 0.05)
    patients = {"person_id": np.arange(people), "age": age, "region": region, "smoker": smoker}
    # A long tail: most come a few times, one in a thousand comes dozens of times.
    often = 1 + (2.2 * -np.log(_uniform(people)) * (1 + age / 90)).astype(np.int64)
    often += np.where(_uniform(people) < 0.001, 60, 0)
    person = np.repeat(np.arange(people), often)
    rows = person.size
    shares = np.cumsum([share for *_, share, _ in WARDS])
    ward = np.minimum(np.searchsorted(shares, _uniform(rows)), len(WARDS) - 1)
    typical = np.array([cost for *_, cost in WARDS])[ward]
    cost = np.round(typical * (0.2 - np.log(_uniform(rows)) * 0.8), 2)
    waited = np.minimum(-np.log(_uniform(rows)) * np.where(ward == 2, 85, 30), 600).astype(np.int64)
    season = (_uniform(rows) + 0.12 * np.sin(2 * np.pi * _uniform(rows))) % 1
    day = np.datetime64("2025-01-01") + (season * 365).astype("timedelta64[D]")
    visits = {
        "person_id": person,
        "ward": np.array([name for name, *_ in WARDS])[ward],
        "day": day,
        "cost": cost,
        "waited": waited,
    }
    pyarrow.parquet.write_table(pyarrow.table(patients), folder / "patients.parquet")
    pyarrow.parquet.write_table(pyarrow.table(visits), folder / "visits.parquet")
    lines = ["ward,building", *(f"{name},{building}" for name, building, *_ in WARDS)]
    (folder / "wards.csv").write_text("\n".join(lines) + "\n")
    manifest = folder / "clinic.toml"
    manifest.write_text(_filled(MANIFEST))
    return manifest


def _filled(text: str) -> str:
    wards = ", ".join(f'"{name}"' for name, *_ in WARDS)
    regions = ", ".join(f'"{name}"' for name in REGIONS)
    return text.replace("WARDS", wards).replace("REGIONS", regions)


def _uniform(count: int) -> NDArray[Any]:
    """Return uniform floats strictly between 0 and 1; for made-up data only."""
    return (source().words(count, 32) + 0.5) * 2.0**-32
