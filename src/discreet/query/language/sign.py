"""Signs and words of SQL that are said with others: bits, XOR, GROUPING, INITCAP and parts of an AGE."""

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields
from discreet.query.language.said import bitwise, exclusive, taken, years
from discreet.query.language.text import WrittenDialect
from discreet.query.plan import Call, Literal, Scalar

Reader = Callable[[object], Scalar]


def is_age(node: object) -> bool:
    """Whether an expression is AGE(later, earlier)."""
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == "AGE"


def age_part(unit: Literal, age: exp.Expr, read: Reader) -> Scalar:
    """EXTRACT(YEAR FROM AGE(later, earlier)): whole years."""
    if unit != Literal("year"):
        raise QueryError(
            "AGE", "has whole years only", "write EXTRACT(YEAR FROM AGE(b, a)), or DATE_DIFF('month', a, b)"
        )
    return years(*taken("age", [read(one) for one in age.expressions], 2))


def _mask(sign: str) -> Callable[[exp.Expr, Reader], Scalar]:
    def build(node: exp.Expr, read: Reader) -> Scalar:
        parts = fields(node, "this", "expression")
        return bitwise(sign, read(parts["this"]), read(parts["expression"]))

    return build


def _xor(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression")
    if any(isinstance(parts[key], exp.Or) for key in ("this", "expression")):
        raise QueryError("XOR", "beside OR can be read in two ways", "write (a OR b) XOR c")
    return exclusive(read(parts["this"]), read(parts["expression"]))


def _initcap(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression")
    usual = WrittenDialect.INITCAP_DEFAULT_DELIMITER_CHARS
    if isinstance(parts.get("expression"), exp.Literal) and str(parts["expression"].this) != usual:
        raise QueryError("INITCAP", "knows no other signs between words", "write INITCAP(x)")
    return Call("initcap", (read(parts["this"]),))


def _grouping(node: exp.Expr, read: Reader) -> Scalar:
    columns = fields(node, "expressions").get("expressions", ())
    if not 1 <= len(columns) <= 10:
        raise QueryError("GROUPING", "takes from 1 to 10 columns", "write GROUPING(a)")
    return Call("grouping", tuple(map(read, columns)))


SIGNS: dict[type[exp.Expr], Callable[[exp.Expr, Reader], Scalar]] = {
    exp.BitwiseAnd: _mask("&"),
    exp.BitwiseOr: _mask("|"),
    exp.Xor: _xor,
    exp.Initcap: _initcap,
    **dict.fromkeys((exp.Grouping, exp.GroupingId), _grouping),
}
