"""What may be computed from released values: every formula has a kind, or is refused before it is paid.

A formula sees group keys and released numbers alone, so it costs no privacy; but one that compares a text
with a number would fail after the price was paid.  So kinds are inferred first.  A text beside a date is
read as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.kind import Day, Kind, Real, Text, Truth, Whole
from discreet.query.check.formula import (
    Combination,
    Constant,
    Formula,
    Key,
    Mean,
    NoisyTerm,
    Operation,
    Public,
    Variance,
    Windowed,
    has_windowed,
)
from discreet.query.check.function.agreement import moment_of
from discreet.query.check.measurement import Output
from discreet.query.plan import LISTED

NUMBERS = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "ratio", "absolute", "least", "greatest", "clamp", "sqrt"),
        *("round", "floor", "ceil", "power", "ln", "exp", "sign", "modulo", "quotient", "to_real"),
    )
)
COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "distinct": "IS DISTINCT"}
ALIKE = frozenset(("coalesce", "nullif", "among", *COMPARISONS))

NUMBER, TEXT, TRUTH, DAY, MOMENT = "a number", "text", "a condition", "a date", "a timestamp"

TEXTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("lower", "upper", "trim", "reverse", "initcap"), ()),
    **dict.fromkeys(("left", "right", "repeat"), (NUMBER,)),
    "substring": (NUMBER, NUMBER),
    **dict.fromkeys(("ltrim", "rtrim"), (TEXT,)),
    "replace": (TEXT, TEXT),
    "split_part": (TEXT, NUMBER),
    **dict.fromkeys(("lpad", "rpad"), (NUMBER, TEXT)),
    "starts_with": (TEXT,),
    **dict.fromkeys(("like", "ilike"), (TEXT, TEXT)),
}
"""Functions of text, and the kinds of what they take after it."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of a question's group keys and measurements; None is a kind that anything agrees with."""

    keys: Sequence[str | None]
    measured: Sequence[str | None]

    def sound(self, formula: Formula, clause: str) -> Formula:
        """Return a formula whose every part has a kind, or refuse it."""
        return self._typed(formula, clause)[0]

    def shown(self, output: Output) -> Output:
        """Return an output column whose formula has a kind, with it."""
        formula, kind = self._typed(output.formula, "SELECT")
        return replace(output, formula=formula, kind=kind)

    def condition(self, formula: Formula, clause: str) -> Formula:
        """Return a formula that is a condition."""
        found, kind = self._typed(formula, clause)
        if kind not in (TRUTH, None):
            raise QueryError(clause, f"needs a condition but got {kind}", "compare it with something")
        return found

    def _typed(self, formula: Formula, clause: str) -> tuple[Formula, str | None]:
        match formula:
            case Constant(value):
                return formula, kind_of(value)
            case Key(position):
                return formula, self.keys[position]
            case NoisyTerm(position):
                return formula, self.measured[position]
            case Combination() | Mean() | Variance():
                return formula, NUMBER
            case Operation(name, arguments):
                parts = [self._typed(part, clause) for part in arguments]
                return self._operation(name, parts, clause)
            case Windowed():
                return self._window(formula, clause)
        raise AssertionError("formulas are constants, keys, measurements, operations or windows")

    def _operation(
        self, name: str, parts: list[tuple[Formula, str | None]], clause: str
    ) -> tuple[Formula, str | None]:
        parts = _dated(name, parts, clause)
        formulas, kinds = tuple(part for part, _ in parts), [kind for _, kind in parts]
        found = Operation(name, formulas)
        if name in ("add", "subtract") and kinds[0] == DAY and kinds[1] in (DAY, NUMBER):
            return _moved(name, formulas, kinds[1], clause)
        if name in NUMBERS:
            _all(kinds, NUMBER, name, clause)
            if name == "round" and len(formulas) > 1 and not _few_digits(formulas[1]):
                raise QueryError(clause, "ROUND keeps a constant number of digits", "write ROUND(x, 2)")
            return found, NUMBER
        if name in TEXTS:
            for kind, wanted in zip(kinds, (TEXT, *TEXTS[name]), strict=False):
                _all([kind], wanted, name, clause)
            return found, TRUTH if name in ("starts_with", "like", "ilike") else TEXT
        if name in ("concat", "to_text"):
            # What is joined to a text is shown as one.
            return found, TEXT
        if name in ("and", "or", "not"):
            _all(kinds, TRUTH, name, clause)
            return found, TRUTH
        if name in ALIKE:
            kind = _alike(kinds, COMPARISONS.get(name, name.upper()), clause)
            if name in ("lt", "le", "gt", "ge") and kind == TRUTH:
                raise QueryError(clause, "conditions have no order", "compare them with =")
            return found, kind if name in ("coalesce", "nullif") else TRUTH
        match name:
            case "is_null":
                return found, TRUTH
            case "case":
                _all(kinds[:-1:2], TRUTH, "CASE WHEN", clause)
                return found, _alike([*kinds[1:-1:2], kinds[-1]], "CASE", clause)
            case "to_whole" if kinds[0] in (NUMBER, TRUTH, None):
                return found, NUMBER
            case "length":
                _all(kinds, TEXT, name, clause)
                return found, NUMBER
            case "day_at" | "moment_at":
                return found, DAY if name == "day_at" else MOMENT
            case "to_day" | "to_moment" if kinds[0] in (TEXT, DAY, MOMENT, None):
                return found, DAY if name == "to_day" else MOMENT
            case "shift" if kinds[1] in (DAY, None) and formulas[0] in _UNITS[:5]:
                return found, DAY
            case "difference" if set(kinds[1:]) <= {DAY, None} and formulas[0] in _UNITS[:5]:
                return found, NUMBER
            case "part" if kinds[1] == MOMENT and formulas[0] in (*_UNITS, *_HOURS):
                return found, NUMBER
            case "part" | "trunc" if kinds[1] in (DAY, None) and formulas[0] in _UNITS:
                return found, NUMBER if name == "part" else DAY
        raise QueryError(
            clause, f"{name.upper()} cannot be applied to released values so", "apply it to the answer"
        )

    def _window(self, window: Windowed, clause: str) -> tuple[Formula, str | None]:
        inside = [
            part
            for part in (*window.arguments, *window.partition, *(term for term, _, _ in window.order))
            if has_windowed(part)
        ]
        if inside:
            raise QueryError(clause, "has a window inside a window", "use a subquery for the inner one")
        arguments = [self._typed(part, clause) for part in window.arguments]
        found = replace(
            window,
            arguments=tuple(part for part, _ in arguments),
            partition=tuple(self.sound(part, clause) for part in window.partition),
            order=tuple((self.sound(part, clause), down, first) for part, down, first in window.order),
        )
        if window.function in ("sum", "avg", "median", "var_samp", "var_pop", "stddev_samp", "stddev_pop"):
            _all([kind for _, kind in arguments], NUMBER, window.function, clause)
        kinds = [kind for _, kind in arguments]
        if window.function in ("lag", "lead"):
            return found, _alike([kinds[0], kinds[2]], window.function.upper(), clause)
        if window.function == LISTED:
            return found, TEXT
        if window.function in ("min", "max", "first_value", "last_value", "nth_value"):
            return found, kinds[0]
        return found, NUMBER


_UNITS = tuple(
    Constant(unit) for unit in ("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear")
)


_HOURS = tuple(Constant(unit) for unit in ("hour", "minute", "second"))


def _moved(
    name: str, parts: tuple[Formula, ...], other: str | None, clause: str
) -> tuple[Formula, str | None]:
    """Return how many days lie between two dates, or a date so many days later or earlier."""
    day = Constant("day")
    if other == NUMBER:
        steps = parts[1] if name == "add" else Operation("subtract", (Constant(0), parts[1]))
        return Operation("shift", (day, parts[0], steps)), DAY
    if name == "add":
        raise QueryError(clause, "two dates have no sum", "subtract them, or add a number of days")
    return Operation("difference", (day, parts[1], parts[0])), NUMBER


def _few_digits(formula: Formula) -> bool:
    """Whether a number of digits is a small constant; rounding to a billion digits would take for ever."""
    match formula:
        case Constant(int(digits)):
            return -9 <= digits <= 9
        case Operation("subtract", (Constant(0), Constant(int(digits)))):
            return 0 <= digits <= 9
        case _:
            return False


def kind_of(value: Public) -> str | None:
    """Return the kind of a constant."""
    match value:
        case None:
            return None
        case bool():
            return TRUTH
        case int() | Fraction():
            return NUMBER
        case str():
            return TEXT
        case datetime():
            return MOMENT
        case date():
            return DAY


def kind_word(kind: Kind) -> str | None:
    """Return what a kind of rows is called here, if anything can be done with it."""
    match kind:
        case Whole() | Real():
            return NUMBER
        case Text():
            return TEXT
        case Truth():
            return TRUTH
        case Day():
            return DAY
        case _:
            return None


def _dated(
    name: str, parts: list[tuple[Formula, str | None]], clause: str
) -> list[tuple[Formula, str | None]]:
    """Return texts beside a date as dates, and those beside a time as times."""
    wanted = next((kind for _, kind in parts if kind in (DAY, MOMENT)), None)
    if name not in ALIKE or wanted is None:
        return parts
    read = date.fromisoformat if wanted == DAY else moment_of
    found: list[tuple[Formula, str | None]] = []
    for part, kind in parts:
        if isinstance(part, Constant) and isinstance(part.value, str):
            try:
                found.append((Constant(read(part.value)), wanted))
            except ValueError:
                raise QueryError(
                    clause, "compares a date with a text that is none", "write '2024-01-31'"
                ) from None
        else:
            found.append((part, kind))
    return found


def _all(kinds: Sequence[str | None], wanted: str, name: str, clause: str) -> None:
    for kind in kinds:
        if kind not in (wanted, None):
            raise QueryError(
                clause, f"{name.upper()} of released values needs {wanted} but got {kind}", "use CASE WHEN"
            )


def _alike(kinds: Sequence[str | None], name: str, clause: str) -> str | None:
    known = list(dict.fromkeys(kind for kind in kinds if kind is not None))
    if len(known) > 1:
        raise QueryError(clause, f"{name} mixes {known[0]} and {known[1]}", "compare what is of one kind")
    return known[0] if known else None
