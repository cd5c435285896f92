"""Drafts of manifests for the curator to complete, from what a source says of itself.

Bounds, key values and contribution limits are decisions: they are left as commented lines, because a bound
read from the data would itself reveal it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.engines.survey import Survey, survey
from discreet.query.catalog.manifest import declare
from discreet.query.catalog.written import escaped, key
from discreet.query.name import same
from discreet.release.sources import kind_of

IDENTIFIERS = (
    "person",
    "patient",
    "user",
    "customer",
    "client",
    "member",
    "subject",
    "participant",
    "employee",
)

GUESSED = "# These types were guessed by looking at the cells; check them."


def draft(sources: list[str], folder: Path = Path()) -> str:
    """Return the text of a manifest for these sources, with everything that needs a decision left open."""
    first = Path(sources[0].partition("#")[0]).stem
    parts = [
        f'[dataset]\nname = "{escaped(first)}"\nledger = "{escaped(first)}.ledger"\n',
        "[budget]\n"
        "epsilon = 1            # the most that all answers together may cost\n"
        '# delta = "1e-9"       # allows group keys found in the data, and less noise for many questions\n',
    ]
    parts += [_table(source, survey(source, folder)) for source in sources]
    return "\n".join(parts)


def _table(source: str, found: Survey) -> str:
    place, _, inside = source.partition("#")
    name = inside.rpartition(".")[2] or Path(place).stem
    columns = [column for column, _ in found.columns]
    fit = [column for column in columns if declarable(column, columns)]
    known = [(column, found.guessed.get(column) or kind_of(physical)) for column, physical in found.columns]
    units = candidates(fit)
    lines = [f"[tables.{key(name)}]", f'source = "{escaped(source)}"', *_written(found.csv)]
    if units:
        lines.append(f'unit = "{escaped(units[0])}"       # who is protected; check that this is right')
        if units[1:]:
            lines.append(f"# other candidates: {', '.join(map(key, units[1:]))}")
        lines.append("rows_per_unit = 8      # a person with more rows counts as this many")
        lines.append("groups_per_unit = 4    # ... and in counts of people, in at most this many groups")
    else:
        lines.append(
            '# unit = "..."         # the column that identifies a person; "row": each row is a person'
        )
    lines += ['# neighbours = "replace"   # if the number of people is public', ""]
    if found.guessed:
        lines.append(GUESSED)
    lines.append(f"[tables.{key(name)}.columns]")
    width = max((len(key(column)) for column, kind in known if kind and column in fit), default=0)
    for column, kind in known:
        if column not in fit:
            lines.append(f"# {key(column)}: a name that cannot be declared; rename it in the source")
        elif kind is None or column in units[:1]:
            lines.append(
                f"# {key(column)}: "
                + ("the unit" if column in units[:1] else "a type that cannot be asked about")
            )
        else:
            lines.append(f"{key(column):<{width}} = {_HINTS[kind]}")
    return "\n".join(lines) + "\n"


def _written(csv: Mapping[str, str]) -> list[str]:
    """Return how a text file seems to be written, where that is not RFC 4180 in UTF-8."""
    if not csv:
        return []
    settings = ", ".join(f'{key} = "{escaped(value)}"' for key, value in csv.items())
    return [f"csv = {{ {settings} }}    # guessed by looking at the file; check it"]


def declarable(name: str, names: Sequence[str]) -> bool:
    """Whether a manifest can declare a column of this name, as the only one but for case."""
    try:
        declare({"tables": {"t": {"columns": {name: "text"}}}})
    except ValueError:
        return False
    return sum(same(name, other) for other in names) == 1


_HINTS = {
    "integer": '{ type = "integer" }     # add low = ..., high = ... to sum or average it',
    "decimal": '{ type = "decimal" }     # add low = ..., high = ..., step = "0.01"',
    "text": '{ type = "text" }        # add values = ["...", "..."] to group by it',
    "boolean": '{ type = "boolean" }',
    "date": '{ type = "date" }        # add low = 2024-01-01, high = 2024-12-31 to group by it',
    "timestamp": '{ type = "timestamp" }',
}


def candidates(columns: Sequence[str]) -> list[str]:
    """Return the columns whose names look like identifiers of people, the likeliest first."""

    def likeness(name: str) -> int:
        folded = name.lower().replace(" ", "_")
        words = any(word in folded for word in IDENTIFIERS)
        identifier = folded == "id" or folded.endswith(("_id", "_no", "_number", "uuid"))
        return 3 if words and identifier else 2 if folded in IDENTIFIERS else 1 if identifier else 0

    found = [name for name in columns if likeness(name)]
    return sorted(found, key=lambda name: -likeness(name))
