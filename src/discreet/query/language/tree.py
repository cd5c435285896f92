"""Nodes of a parser's tree, all at once: a question's tree is looked through many times, and is small."""

from typing import TypeVar

from sqlglot import exp

Node = TypeVar("Node", bound=exp.Expr)


def every(tree: exp.Expr, *kinds: type[Node]) -> list[Node]:
    """Return the nodes of some kinds as they are now, the outermost first, in the order of sqlglot's walk."""
    nodes: list[exp.Expr] = [tree]
    for node in nodes:
        for part in node.args.values():
            # Most parts that a node could have are not there.
            if part is None:
                continue
            if isinstance(part, exp.Expr):
                nodes.append(part)
            elif isinstance(part, list):
                nodes += [one for one in part if isinstance(one, exp.Expr)]
    return [node for node in nodes if isinstance(node, kinds)]
