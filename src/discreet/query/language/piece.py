"""Pieces of text as SQL writes them: trimmed, replaced, split and padded by constants."""

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields
from discreet.query.plan import Call, Literal, Scalar

Reader = Callable[[object], Scalar]


def _trim(node: exp.Expr, read: Reader) -> Scalar:
    """TRIM(BOTH '/' FROM x), LTRIM(x), RTRIM(x, '/')."""
    parts = fields(node, "this", "expression", "position")
    place = str(parts.get("position") or "BOTH").upper()
    text = read(parts["this"])
    if parts.get("expression") is None and place == "BOTH":
        return Call("trim", (text,))
    signs = Literal(" ") if parts.get("expression") is None else read(parts["expression"])
    if place in ("BOTH", "LEADING"):
        text = Call("ltrim", (text, signs))
    return Call("rtrim", (text, signs)) if place in ("BOTH", "TRAILING") else text


def _replace(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression", "replacement")
    new = Literal("") if parts.get("replacement") is None else read(parts["replacement"])
    return Call("replace", (read(parts["this"]), read(parts["expression"]), new))


def _split(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "delimiter", "part_index")
    if len(parts) != 3:
        raise QueryError(
            "SPLIT_PART", "takes a text, a separator and a number", "write SPLIT_PART(x, '/', 1)"
        )
    return Call("split_part", tuple(read(parts[key]) for key in ("this", "delimiter", "part_index")))


def _pad(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression", "fill_pattern", "is_left")
    fill = Literal(" ") if parts.get("fill_pattern") is None else read(parts["fill_pattern"])
    name = "lpad" if parts.get("is_left") else "rpad"
    return Call(name, (read(parts["this"]), read(parts["expression"]), fill))


def _side(name: str) -> Callable[[exp.Expr, Reader], Scalar]:
    def build(node: exp.Expr, read: Reader) -> Scalar:
        parts = fields(node, "this", "expression")
        return Call(name, (read(parts["this"]), read(parts["expression"])))

    return build


def _pipe(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "expression", "safe")
    return Call("concat", (read(parts["this"]), read(parts["expression"])))


PIECES: dict[type[exp.Expr], Callable[[exp.Expr, Reader], Scalar]] = {
    exp.Trim: _trim,
    exp.Replace: _replace,
    exp.SplitPart: _split,
    exp.Pad: _pad,
    exp.Left: _side("left"),
    exp.Right: _side("right"),
    exp.DPipe: _pipe,
}
