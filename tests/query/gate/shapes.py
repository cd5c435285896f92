"""Random questions by shape: relations made of relations, with names that collide on purpose.

Where `tests.query.questions.Wider` draws from a list of subqueries, here a relation is a table, a filter, a
projection, a grouping by the person or a join of smaller relations, to any depth, in FROM or in WITH.
"""

from dataclasses import dataclass
from random import Random

NAMES = ("x", "X", "k", "n", "r", '"c0"', '"u"', '"K"', "w")


@dataclass(frozen=True)
class Made:
    """A relation as text, with its columns: the person first, then names with their types."""

    text: str
    person: str
    columns: tuple[tuple[str, str], ...]


VISITS = Made(
    "visits",
    "person",
    (
        ("ward", "text"),
        ("city", "text"),
        ("age", "number"),
        ("score", "number"),
        ("huge", "number"),
        ("cost", "number"),
        ("flag", "truth"),
    ),
)
PEOPLE = Made("people", "person", (("born", "number"),))


def _of(made: Made, kind: str) -> list[str]:
    """Return the columns of a type."""
    return [name for name, own in made.columns if own == kind]


class Shapes:
    """Draws questions; `unit` says whether people are told apart."""

    def __init__(self, random: Random, *, unit: bool = True) -> None:
        self.random, self.unit = random, unit
        self.fresh = 0
        self.tables: list[str] = []

    def question(self) -> str:
        """Return one question."""
        self.tables = []
        made = self.relation(self.random.choice((1, 1, 2, 2))) if self.unit else VISITS
        source, columns = self._public(made)
        keys = [self._key(columns) for _ in range(self.random.choice((0, 0, 1, 1, 2)))]
        values = [self._value(columns, made.person) for _ in range(self.random.choice((1, 1, 2)))]
        where = f" WHERE {self._condition(columns)}" if self.random.random() < 0.3 else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        tables = f"WITH {', '.join(self.tables)} " if self.tables else ""
        return f"{tables}SELECT {', '.join((*keys, *values))} FROM {source}{where}{group}"

    def _name(self) -> str:
        self.fresh += 1
        return f"{self.random.choice(('t', 'r', 'T', 'p'))}{self.fresh}"

    def relation(self, depth: int) -> Made:
        """Return a relation about people."""
        if depth == 0:
            return PEOPLE if self.random.random() < 0.15 else VISITS
        make = self.random.choice(
            (
                *(self._selected, self._grouped, self._grouped, self._distinct, self._joined, self._joined),
                *(self._numbered, self._united, self._beside),
            )
        )
        made = make(depth)
        if self.random.random() < 0.2 and made.text.startswith("(SELECT"):
            name = self._name()
            self.tables.append(f"{name} AS {made.text}")
            return Made(name, made.person, made.columns)
        return made

    def _named(self, columns: list[tuple[str, str]]) -> list[str]:
        """Return new names for columns, no two of which an engine could confuse."""
        found: list[str] = []
        for _ in columns:
            free = [n for n in NAMES if n.strip('"').lower() not in {f.strip('"').lower() for f in found}]
            found.append(self.random.choice(free))
        return found

    def _selected(self, depth: int) -> Made:
        made = self.relation(depth - 1)
        chosen = self._some(made.columns, 3)
        exprs = [self._expression(column) for column in chosen]
        return self._select(made, exprs, "")

    def _select(self, made: Made, exprs: list[tuple[str, str]], group: str, distinct: str = "") -> Made:
        names = self._named(exprs)
        person = self.random.choice(("person", "Person", "who"))
        items = [
            f"{made.person} AS {person}",
            *(f"{e} AS {n}" for (e, _), n in zip(exprs, names, strict=True)),
        ]
        where = f" WHERE {self._condition(made.columns)}" if self.random.random() < 0.3 else ""
        text = f"(SELECT {distinct}{', '.join(items)} FROM {made.text}{where}{group})"
        return Made(text, person, tuple((n, kind) for n, (_, kind) in zip(names, exprs, strict=True)))

    def _grouped(self, depth: int) -> Made:
        made = self.relation(depth - 1)
        keys = [
            self._expression(column) for column in self._some(made.columns, self.random.choice((0, 0, 1, 2)))
        ]
        values = [self._aggregate(made.columns) for _ in range(self.random.choice((1, 1, 2)))]
        having = self.random.choice(("", "", " HAVING COUNT(*) > 1", " HAVING COUNT(*) <= 2"))
        grouped = ", ".join((made.person, *(text for text, _ in keys)))
        return self._select(made, [*keys, *values], f" GROUP BY {grouped}{having}")

    def _distinct(self, depth: int) -> Made:
        made = self.relation(depth - 1)
        chosen = [self._expression(column) for column in self._some(made.columns, 2)]
        return self._select(made, chosen, "", "DISTINCT ")

    def _numbered(self, depth: int) -> Made:
        """Return the first rows of each person in some order, or all with their numbers."""
        made = self.relation(depth - 1)
        chosen = [self._expression(column) for column in self._some(made.columns, 2)]
        order, _ = self.random.choice(made.columns) if made.columns else ("1", "number")
        way = self.random.choice(("", " DESC"))
        number = f"ROW_NUMBER() OVER (PARTITION BY {made.person} ORDER BY {order}{way})"
        found = self._select(made, [*chosen, (number, "number")], "")
        if self.random.random() < 0.3:
            return found
        last, kept = found.columns[-1][0], self.random.choice(("= 1", "<= 2", "IN (1, 3)", "= 2"))
        text = f"(SELECT * FROM {found.text} WHERE {last} {kept})"
        return Made(text, found.person, found.columns)

    def _united(self, depth: int) -> Made:
        """Return rows below others: a union of relations, of which columns of one type agree in place."""
        parts = [
            self.relation(self.random.randint(0, depth - 1)) for _ in range(self.random.choice((2, 2, 3)))
        ]
        kinds = [kind for kind in ("text", "number", "truth") if all(_of(part, kind) for part in parts)]
        names = self._named([("", kind) for kind in kinds])
        person = self.random.choice(("person", "Person", "who"))
        texts = []
        for part in parts:
            chosen = [self.random.choice(_of(part, kind)) for kind in kinds]
            items = [
                f"{part.person} AS {person}",
                *(f"{c} AS {n}" for c, n in zip(chosen, names, strict=True)),
            ]
            where = f" WHERE {self._condition(part.columns)}" if self.random.random() < 0.2 else ""
            texts.append(f"SELECT {', '.join(items)} FROM {part.text}{where}")
        word = self.random.choice((" UNION ALL ", " UNION ALL ", " UNION "))
        return Made(f"({word.join(texts)})", person, tuple(zip(names, kinds, strict=True)))

    def _beside(self, depth: int) -> Made:
        """Return rows with windows over those of the same person."""
        made = self.relation(depth - 1)
        chosen = [self._expression(column) for column in self._some(made.columns, 1)]
        order, _ = self.random.choice(made.columns) if made.columns else ("1", "number")
        seen, kind = self.random.choice(made.columns) if made.columns else ("1", "number")
        way = self.random.choice(("", " DESC", " NULLS FIRST"))
        also = self.random.choice(("", "", f", {seen}"))
        frame = self.random.choice(("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"))
        plain, framed = f"(PARTITION BY {made.person}{also} ORDER BY {order}{way}", f"{frame})"
        windows = [
            (f"LAG({seen}) OVER {plain})", kind),
            (f"LEAD({seen}, 2) OVER {plain})", kind),
            (f"FIRST_VALUE({seen}) OVER {plain}{framed}", kind),
            (f"NTH_VALUE({seen}, 2) OVER {plain}{framed}", kind),
            (f"RANK() OVER {plain})", "number"),
            (f"COUNT({seen}) OVER {plain}{framed}", "number"),
            (f"COUNT(*) OVER (PARTITION BY {made.person})", "number"),
        ]
        if kind == "number":
            windows.append((f"SUM(CLAMP({seen}, -2, 5)) OVER {plain}{framed}", "number"))
        picked = self.random.sample(windows, self.random.choice((1, 2)))
        return self._select(made, [*chosen, *picked], "")

    def _joined(self, depth: int) -> Made:
        left, right = self.relation(depth - 1), self.relation(self.random.randint(0, depth - 1))
        one, two = self._name(), self._name()
        on = [f"{one}.{left.person} = {two}.{right.person}"]
        pairs = [(a, b) for a, k in left.columns for b, other in right.columns if k == other]
        if pairs and self.random.random() < 0.5:
            a, b = self.random.choice(pairs)
            on.append(f"{one}.{a} = {two}.{b}")
        if self.random.random() < 0.15:
            on.append(self.random.choice((f"{one}.{left.person} IS NOT NULL", "1 = 1")))
        self.random.shuffle(on)
        kind = self.random.choice(("JOIN", "LEFT JOIN", "JOIN", "FULL JOIN"))
        source = f"{left.text} AS {one} {kind} {right.text} AS {two} ON {' AND '.join(on)}"
        both = [(f"{one}.{n}", k) for n, k in left.columns] + [(f"{two}.{n}", k) for n, k in right.columns]
        chosen = [self._expression(column) for column in self._some(tuple(both), 3)]
        owner = f"{one}.{left.person}" if self.random.random() < 0.8 else f"{two}.{right.person}"
        return self._select(Made(source, owner, tuple(both)), chosen, "")

    def _public(self, made: Made) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the source of the outer block, perhaps with a public table beside it."""
        name = self._name()
        source = f"{made.text} AS {name}"
        columns = tuple((f"{name}.{column}", kind) for column, kind in made.columns)
        texts = [column for column, kind in columns if kind == "text"]
        if not texts or self.random.random() < 0.75:
            return source, made.columns if made.text != "visits" else columns
        on = self.random.choice((f"w.ward = {self.random.choice(texts)}", "w.ward = 'A'", "w.floor > 1"))
        join = self.random.choice(("JOIN", "LEFT JOIN"))
        return f"{source} {join} wards AS w ON {on}", (*columns, ("w.head", "text"))

    def _some(self, columns: tuple[tuple[str, str], ...], count: int) -> list[tuple[str, str]]:
        return self.random.sample(columns, min(count, len(columns)))

    def _expression(self, column: tuple[str, str]) -> tuple[str, str]:
        name, kind = column
        choose = self.random.choice
        match kind:
            case "text":
                return choose(
                    (
                        (name, kind),
                        (f"COALESCE({name}, 'A')", kind),
                        (f"{name} IN ('A', 'B')", "truth"),
                        (f"CONCAT(LEFT({name}, 1), {name} = 'A')", kind),
                    )
                )
            case "truth":
                return choose(((name, kind), (f"CASE WHEN {name} THEN 'A' ELSE 'Z' END", "text")))
            case _:
                return choose(
                    (
                        (name, kind),
                        (f"CLAMP({name}, 0, 3)", kind),
                        (f"CLAMP(FLOOR({name}), -1, 4)", kind),
                        (f"CASE WHEN {name} > 3 THEN 2 WHEN {name} < 0 THEN 1 END", kind),
                        (f"{name} > 2", "truth"),
                        (f"NULLIF(CLAMP({name}, 0, 2), 1)", kind),
                    )
                )

    def _aggregate(self, columns: tuple[tuple[str, str], ...]) -> tuple[str, str]:
        name, kind = self.random.choice(columns) if columns else ("1", "number")
        plain = [
            "COUNT(*)",
            f"COUNT({name})",
            f"COUNT(DISTINCT {name})",
            f"COUNT(*) FILTER (WHERE {name} IS NULL)",
        ]
        if kind == "number":
            plain += [
                f"MAX({name})",
                f"MIN({name})",
                f"SUM(CLAMP({name}, -2, 5))",
                f"AVG(CLAMP({name}, 0, 9))",
            ]
        found = self.random.choice(plain)
        return found, "number"

    def _condition(self, columns: tuple[tuple[str, str], ...]) -> str:
        if not columns:
            return "1 = 1"
        name, kind = self.random.choice(columns)
        choose = self.random.choice
        match kind:
            case "text":
                return choose((f"{name} IN ('A', 'C')", f"{name} IS NULL", f"{name} = 'B'", f"{name} <> 'A'"))
            case "truth":
                return choose((name, f"NOT {name}", f"{name} IS NOT NULL"))
            case _:
                return choose(
                    (f"{name} > 1", f"{name} BETWEEN 0 AND 2", f"{name} = 1", f"{name} IN (0, 1, 7)")
                )

    def _key(self, columns: tuple[tuple[str, str], ...]) -> str:
        name, kind = self.random.choice(columns) if columns else ("1", "number")
        if kind == "number":
            return self.random.choice(
                (
                    f"CLAMP(FLOOR({name}), 0, 2)",
                    f"({name} > 1)",
                    f"ROUND(CLAMP({name}, 0, 1), 1)",
                    f"CONCAT('n', CLAMP(FLOOR({name}), 0, 2))",
                )
            )
        if kind == "truth":
            return name
        return self.random.choice(
            (
                f"CASE WHEN {name} = 'A' THEN 'A' ELSE 'other' END",
                f"({name} IN ('A', 'B'))",
                f"({name} ~ '^A|b$')",
            )
        )

    def _value(self, columns: tuple[tuple[str, str], ...], person: str) -> str:
        numbers = [name for name, kind in columns if kind == "number"]
        plain = ["COUNT(*)", "COUNT(*)"]
        if columns:
            plain.append(f"COUNT({self.random.choice(columns)[0]})")
        if self.unit and " JOIN " not in person:
            plain.append(f"COUNT(DISTINCT {person})")
        if numbers:
            n = self.random.choice(numbers)
            plain += [f"SUM(CLAMP({n}, -3, 7))", f"AVG(CLAMP({n}, 0, 4))", f"MEDIAN(CLAMP({n}, 0, 9))"]
            plain += [f"COUNT(DISTINCT CLAMP(FLOOR({n}), 0, 3))", f"MODE(CLAMP(FLOOR({n}), 0, 3))"]
        return self.random.choice(plain)
