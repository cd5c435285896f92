"""The members of requests: what each may be, and what is said where it is something else."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

LONGEST_SQL = 8192
LARGEST_BATCH = 100


def _spelt(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("expected", "valid Unicode, without surrogates") from None
    return text


def _expected(words: str) -> WrapValidator:
    """Say what is expected in words, instead of why each of several forms does not fit."""

    def validated(value: Any, validate: Callable[[Any], Any]) -> Any:
        try:
            return validate(value)
        except ValidationError:
            raise PydanticCustomError("expected", words) from None

    return WrapValidator(validated)


Spelt = Annotated[str, AfterValidator(_spelt)]
Whole = Annotated[int, Field(strict=True)]
Number = Annotated[
    Whole
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[Spelt, Field(max_length=256)],
    _expected("a number, or one as text of at most 256 characters"),
    Field(description='A number; as text it is exact: "0.1" and "1/10" are the same.'),
]
Value = (
    Annotated[bool, Field(strict=True)]
    | Whole
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[Spelt, Field(max_length=4096)]
    | None
)
Values = Annotated[
    Annotated[list[Value], Field(max_length=LARGEST_BATCH)]
    | Annotated[dict[Spelt, Value], Field(max_length=LARGEST_BATCH)]
    | None,
    _expected(
        f"a list or an object of at most {LARGEST_BATCH} values: numbers, texts of at most 4096 characters, "
        "true, false or null"
    ),
    Field(description="The values of `?` in the order of the text, or of `:name` by name."),
]
Sql = Annotated[Spelt, Field(min_length=1, max_length=LONGEST_SQL)]
Sqls = Annotated[
    Sql | Annotated[list[Sql], Field(min_length=1, max_length=LARGEST_BATCH)],
    _expected(f"SQL of 1 to {LONGEST_SQL} characters, or a list of 1 to {LARGEST_BATCH} such texts"),
]
Columns = Annotated[dict[str, Number], Field(max_length=256)]
Reason = Annotated[
    Spelt, Field(min_length=1, max_length=400, description="It stands in the ledger for ever.")
]
Days = Annotated[Whole, Field(ge=1, le=3660, description="For how many days the token is good.")]
