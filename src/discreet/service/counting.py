"""What a worker does for streams: begin one, take steps, and read what was released."""

from collections.abc import Mapping
from typing import Any

from discreet.ledger.codec import write_cost
from discreet.release.session import Session
from discreet.release.stream import NamedStream, begun_streams
from discreet.service.role import Verb
from discreet.service.settings import MOST_STEPS
from discreet.show.save import specification
from discreet.workload.codec import encode_counter
from discreet.workload.stream import RunningCount

DRAWN = 2000
"""Of a longer stream the chart shows so many of the newest steps."""


def streamed(session: Session, verb: Verb, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a worker says of a stream."""
    match verb:
        case Verb.STREAM:
            price = {key: body[key] for key in ("length", "epsilon", "rho", "contribution")}
            return _shown(session.stream(body["name"], **price))
        case Verb.STREAMS:
            own = begun_streams(session.ledger, session.catalog.name, session.analyst)
            return {"streams": [_shown(stream) for stream in own]}
        case Verb.PICTURE:
            return specification(session.stream(body["stream"]).plot(last=DRAWN))
        case Verb.STEP:
            stream = session.stream(body["name"])
            return _counts(stream, stream.extend(body["increments"], first=body["first"]))
        case _:
            stream = session.stream(body["name"])
            last = min(stream.steps, body["last"] or stream.steps, body["first"] + MOST_STEPS - 1)
            return _counts(stream, stream.released(body["first"], last))


def _shown(stream: NamedStream) -> dict[str, Any]:
    return {
        "name": stream.name,
        "dataset": stream.dataset,
        "length": stream.length,
        "steps": stream.steps,
        "contribution": stream.contribution,
        "neighbours": stream.adjacency.value,
        "cost": write_cost(stream.cost),
        "counter": encode_counter(stream.counter),
        "card": stream.card(),
    }


def _counts(stream: NamedStream, counts: tuple[RunningCount, ...]) -> dict[str, Any]:
    rows = [[count.step, count.value, count.deviation] for count in counts]
    return {"name": stream.name, "steps": stream.steps, "counts": rows}
