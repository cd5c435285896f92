"""Questions however they are asked: SQL, a question of the dataframe face, a plan, or an Ibis expression."""

from typing import Any

from discreet.errors import ParameterError, QueryError
from discreet.query.language import ibis
from discreet.query.language.flat import flat
from discreet.query.language.frame import Frame, Posed
from discreet.query.language.sql import read
from discreet.query.language.written import written
from discreet.query.plan import Block


def stated(question: Any, views: tuple[tuple[str, str], ...] = ()) -> str | Block:
    """Return a question as its text, where it came as one, and as a plan otherwise."""
    match question:
        case str() | Block():
            return question
        case Posed(block):
            return block
        case Frame():
            raise QueryError(
                "a table", "asks for nothing yet", "end with what is asked for: .count(), or .agg(n=count())"
            )
        case _ if ibis.is_expression(question):
            return _compiled(ibis.sql_of(question), views)
    raise ParameterError(
        "a question is SQL text, a question of data.table(...), or an Ibis expression, "
        f"got {type(question).__name__}"
    )


def _compiled(text: str, views: tuple[tuple[str, str], ...]) -> Block:
    try:
        return flat(read(text, (), views))
    except QueryError as refused:
        # Nobody wrote the text, so a place in it tells nothing.
        raise QueryError(refused.clause, refused.reason, refused.instead) from None


def text_of(question: str | Block) -> str:
    """Return a question as text that means the same."""
    return question if isinstance(question, str) else written(question)
