"""The output columns of a SELECT, and what they are called."""

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.expression import expression
from discreet.query.language.named import plain_name
from discreet.query.language.refusal import fields, refusal
from discreet.query.language.text import WrittenDialect
from discreet.query.name import same
from discreet.query.plan import STAR, Item


def read_items(nodes: list[exp.Expr], level: int) -> tuple[Item, ...]:
    """Return the output columns; those of the answer get names of their own where they would have one."""
    if len(nodes) == 1 and isinstance(nodes[0], exp.Star):
        fields(nodes[0])
        return ()
    items: list[Item] = []
    for node in nodes:
        match node:
            case exp.Alias():
                parts = fields(node, "this", "alias")
                name, inner = name_of(parts["alias"], label=not level), parts["this"]
            case exp.Column():
                name, inner = name_of(node.this), node
            case exp.Star() if level:
                fields(node)
                name, inner = STAR, exp.column(STAR)
            case exp.Star():
                raise QueryError("*", "a private row cannot be released", "list aggregates such as COUNT(*)")
            case _:
                name, inner = _default_name(node), node
        free = name if level else _free(name, [item.name for item in items])
        items.append(Item(free, expression(inner)))
    return tuple(items)


def _default_name(node: exp.Expr) -> str:
    text = node.sql(dialect=WrittenDialect, normalize_functions="lower").lower()
    return text if len(text) <= 60 else text[:57] + "..."


def _free(name: str, taken: list[str]) -> str:
    candidate, count = name, 1
    while any(same(candidate, other) for other in taken):
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def with_name(node: exp.Expr) -> exp.Expr:
    """Return an output column under the name that it has as it was written, before subqueries leave it."""
    if isinstance(node, exp.Alias) or not node.find(exp.Subquery):
        return node
    return exp.Alias(this=node.copy(), alias=exp.to_identifier(_default_name(node), quoted=True))


def name_of(node: exp.Expr, *, label: bool = False) -> str:
    """Return an identifier's text, refusing what could be mistaken for another name; a label may be any."""
    if not isinstance(node, exp.Identifier):
        raise refusal(node)
    name = str(fields(node, "this", "quoted").get("this", ""))
    return plain_name(name, reserved=not label)
