"""What a curator decides over HTTP: people and their tokens, limits, the cap, and whether the ledger holds.

Every decision about a budget is an entry of the ledger with its reason and who took it.  Tokens of curators
are made and changed at the command line only, here as in the console: whoever gets hold of one token must not
be able to make another, or to lock the others out.
"""

from typing import Annotated, Any

from fastapi import FastAPI, Path, Request, Response

from discreet.errors import AccessError, ConflictError, DiscreetError
from discreet.service import problem, schema
from discreet.service.people import People, Person, person_name
from discreet.service.problem import ServiceProblem
from discreet.service.role import PROJECT, Role, Verb, may
from discreet.service.way import Asking, described, person_of, shown, told

ENTERED = (Role.ANALYST, Role.AUDITOR)
"""What somebody can be made through the wall."""

Named = Annotated[str, Path(max_length=63, description="Somebody who was entered for this dataset.")]
_DECIDING = ("budget", "conflict")
_WHY = {
    "curator": "the tokens of curators are changed at the command line",
    "elsewhere": "they also know datasets that you do not; change their token at the command line",
}


def somebody(people: People, dataset: str, name: str) -> Person:
    """Return a person who knows of a dataset, or raise AccessError: others do not exist here."""
    found = next((one for one in people.all() if one.name == name and dataset in one.datasets), None)
    if found is None:
        raise AccessError("nothing of that name")
    return found


def barred(curator: Person, person: Person) -> str | None:
    """Return why a curator may not change somebody's token through the wall, in one word, or None."""
    if person.role is Role.CURATOR:
        return "curator"
    return None if person.datasets <= curator.datasets else "elsewhere"


def enter(people: People, name: str, role: Role, dataset: str, *, days: int, project: str = PROJECT) -> str:
    """Enter somebody and return their token, or refuse the name as `unfree` does."""
    try:
        return people.add(name, role, dataset, days=days, project=project)
    except ConflictError:
        raise unfree(name) from None


def unfree(name: str) -> ConflictError:
    """Return the refusal of a name that somebody has, in the same words whether they are known here or not.

    That it is refused tells that there is somebody, here or for another dataset: names and tokens belong to
    people, of whom there is one register.
    """
    return ConflictError(
        f"the name {name} cannot be entered: choose another one, or ask whoever runs the service"
    )


def routes(api: FastAPI, ask: Asking, people: People) -> None:
    """Add the addresses."""
    one = "/v1/datasets/{dataset}"
    _people(api, ask, people, f"{one}/people")

    @api.post(
        f"{one}/limit",
        summary="Limit a project, or what one question and one day of everybody together may cost",
        responses=described(schema.LimitsSet, *_DECIDING),
    )
    async def limit(request: Request, dataset: str, body: schema.ToBound) -> Response:
        return await ask(request, Verb.LIMIT, dataset, body)

    @api.post(
        f"{one}/cap",
        summary="Raise the cap of the whole dataset, in the ledger and in the manifest",
        responses=described(schema.Capped, *_DECIDING),
    )
    async def cap(request: Request, dataset: str, body: schema.ToCap) -> Response:
        return await ask(request, Verb.CAP, dataset, body)

    @api.post(
        f"{one}/verify",
        summary="Check every entry of the ledger",
        responses=described(schema.Verified),
    )
    async def verify(request: Request, dataset: str) -> Response:
        return await ask(request, Verb.VERIFY, dataset)

    @api.get(
        f"{one}/head",
        summary="The signed receipt of the newest entry, to be kept with a backup",
        responses=described(schema.HeadShown),
    )
    async def head(request: Request, dataset: str) -> Response:
        return await ask(request, Verb.HEAD, dataset)


def _admitted(ask: Asking, request: Request, dataset: str) -> Response | None:
    """Return the refusal of whoever may not look after the people of a dataset."""
    person = person_of(request)
    if not may(person.role, Verb.PEOPLE):
        return told(problem.FORBIDDEN)
    known = dataset in person.datasets and dataset in ask.pool.datasets
    return None if known else told(problem.NOTHING)


async def _limited(ask: Asking, request: Request, dataset: str, name: str, body: schema.ToLimit) -> Response:
    sent = body.model_dump(mode="json", include={"epsilon", "per_question", "per_day", "reason"})
    return await ask.reply(person_of(request), Verb.LIMIT, dataset, sent | {"analyst": name})


def _people(api: FastAPI, ask: Asking, people: People, place: str) -> None:
    @api.get(place, summary="Who was entered for the dataset", responses=described(schema.PeopleShown))
    async def entered(request: Request, dataset: str) -> Response:
        refused = _admitted(ask, request, dataset)
        if refused is not None:
            return refused
        known = [one for one in people.all() if dataset in one.datasets]
        return shown({"people": [_shown(one, one.standing(people.clock())) for one in known]})

    @api.post(
        place,
        summary="Enter somebody, with limits of their own, and get their token, once",
        responses=described(schema.TokenShown, *_DECIDING),
    )
    async def entering(request: Request, dataset: str, body: schema.ToEnter) -> Response:
        refused = _admitted(ask, request, dataset)
        if refused is not None:
            return refused
        try:
            name = person_name(body.name)
            if people.knows(name):
                raise unfree(name)
            # Limited before they exist: nobody asks without the limit they were meant to have.
            said = await _limited(ask, request, dataset, name, body)
            if said.status_code != 200:
                return said
            token = enter(people, name, Role(body.role), dataset, days=body.days)
        except DiscreetError as error:
            return told(problem.of(error))
        return shown({"name": name, "token": token})

    @api.post(
        f"{place}/{{name}}/limit",
        summary="Limit what somebody may spend: in all, with one question, in one day",
        responses=described(schema.LimitsSet, *_DECIDING),
    )
    async def limit(request: Request, dataset: str, name: Named, body: schema.ToLimit) -> Response:
        refused = _admitted(ask, request, dataset)
        if refused is not None:
            return refused
        try:
            somebody(people, dataset, name)
        except AccessError:
            return told(problem.NOTHING)
        return await _limited(ask, request, dataset, name, body)

    _tokens(api, ask, people, place)


def _tokens(api: FastAPI, ask: Asking, people: People, place: str) -> None:
    def changed(request: Request, dataset: str, name: str) -> Response | None:
        """Return the refusal of whoever may not change somebody's token."""
        refused = _admitted(ask, request, dataset)
        if refused is not None:
            return refused
        try:
            why = barred(person_of(request), somebody(people, dataset, name))
        except AccessError:
            return told(problem.NOTHING)
        return None if why is None else told(ServiceProblem("role", _WHY[why]))

    @api.post(
        f"{place}/{{name}}/rotate",
        summary="Get a new token for somebody, once; the old one is worth nothing from now on",
        responses=described(schema.TokenShown),
    )
    async def rotate(request: Request, dataset: str, name: Named, body: schema.ToRotate) -> Response:
        refused = changed(request, dataset, name)
        return refused or shown({"name": name, "token": people.rotate(name, days=body.days)})

    @api.post(
        f"{place}/{{name}}/revoke",
        summary="Make somebody's token worth nothing from now on",
        responses=described(schema.PersonShown),
    )
    async def revoke(request: Request, dataset: str, name: Named) -> Response:
        refused = changed(request, dataset, name)
        if refused is not None:
            return refused
        people.revoke(name)
        return shown(_shown(somebody(people, dataset, name), "revoked"))


def _shown(person: Person, standing: str) -> dict[str, Any]:
    return {
        "name": person.name,
        "role": person.role.value,
        "token": standing,
        "expires": person.expires.isoformat(),
    }
