"""The way from a page to a worker and back: the same calls and checks as over HTTP."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from discreet.service import problem
from discreet.service.kind import PAGE
from discreet.service.mistake import mistaken
from discreet.service.people import Person
from discreet.service.problem import ServiceProblem
from discreet.service.role import Verb
from discreet.service.way import Asking


class Refused(Exception):  # noqa: N818 - a refusal is an outcome here, and has its own page
    """Something is refused; what is said about it is a problem as over HTTP."""

    def __init__(self, status: int, said: Mapping[str, Any]) -> None:
        self.status = status
        self.said = said
        super().__init__(status)

    @property
    def kind(self) -> str:
        """Return which kind of problem it is."""
        return str(self.said.get("type", "")).removeprefix(problem.PLACE)


def refusal(stated: ServiceProblem) -> Refused:
    """Return a problem as a refusal."""
    return Refused(stated.status, json.loads(stated.body()))


@dataclass(frozen=True, slots=True)
class Desk:
    """Where pages bring what somebody wants to know."""

    asking: Asking

    def known_to(self, person: Person) -> list[str]:
        """Return the datasets that somebody may see."""
        return sorted(person.datasets & self.asking.pool.datasets)

    async def ask(
        self,
        person: Person,
        verb: Verb,
        dataset: str,
        sent: Mapping[str, Any] | None = None,
        *,
        kind: str = PAGE,
        key: str | None = None,
    ) -> Any:
        """Return what a worker says, read; raise Refused where it refuses."""
        return json.loads(await self.fetch(person, verb, dataset, sent, kind=kind, key=key))

    async def fetch(
        self,
        person: Person,
        verb: Verb,
        dataset: str,
        sent: Mapping[str, Any] | None = None,
        *,
        kind: str = PAGE,
        key: str | None = None,
    ) -> bytes:
        """Return what a worker says, as it is."""
        response = await self.asking.reply(person, verb, dataset, sent or {}, kind=kind, key=key)
        body = bytes(response.body)
        if response.status_code != 200:
            raise Refused(response.status_code, json.loads(body))
        return body


def checked(model: type[BaseModel], **given: Any) -> dict[str, Any]:
    """Return what a form says, in the shape that the service takes; refuse what has none."""
    try:
        return model(**given).model_dump(mode="json")
    except ValidationError as error:
        found = [{**one, "loc": ("form", *one["loc"])} for one in error.errors()]
        raise refusal(mistaken(found)) from None
