"""SEMI JOIN and ANTI JOIN: whether a row has a partner is what EXISTS asks."""

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields


def without_semi(select: exp.Select) -> exp.Select:
    """Return a selection, changed in place, in which EXISTS stands for every SEMI or ANTI JOIN."""
    joins = select.args.get("joins") or []
    kept = [join for join in joins if _kind(join) not in ("SEMI", "ANTI")]
    if len(kept) == len(joins):
        return select
    conditions = [_condition(select, join) for join in joins if _kind(join) in ("SEMI", "ANTI")]
    where = select.args.get("where")
    whole = exp.and_(*([] if where is None else [where.this]), *conditions, copy=False)
    select.set("where", exp.Where(this=whole))
    select.set("joins", kept)
    return select


def _kind(join: exp.Expr) -> str:
    return str(join.args.get("kind") or "").upper()


def _condition(select: exp.Select, join: exp.Expr) -> exp.Expr:
    parts = fields(join, "this", "side", "kind", "on", "using")
    kind, side = _kind(join), str(parts.get("side") or "").upper()
    on = parts.get("on")
    if parts.get("using"):
        left, right = (node.alias_or_name for node in (select.args["from_"].this, parts["this"]))
        pairs = [
            exp.EQ(this=exp.column(c.copy(), left), expression=exp.column(c.copy(), right))
            for c in parts["using"]
        ]
        on = exp.and_(*pairs, copy=False)
    if side not in ("", "LEFT") or on is None:
        raise QueryError(
            f"{side} {kind} JOIN".strip(),
            "asks whether a row of the left side has a partner",
            f"write a {kind} JOIN b ON a.person = b.person",
        )
    inner = exp.Select(
        expressions=[exp.Literal.number(1)], from_=exp.From(this=parts["this"]), where=exp.Where(this=on)
    )
    found = exp.Exists(this=inner)
    return exp.Not(this=found) if kind == "ANTI" else found
