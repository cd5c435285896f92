"""Counts for monitoring, in the text format of Prometheus, and a port of their own for them.

They count requests, workers and connections; nothing in them comes from data or ledger.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from discreet.service.gate import Gate
from discreet.service.pool import Pool

MEDIA_TYPE = "text/plain; version=0.0.4"
LONGEST = 4096


def measured(gate: Gate, pool: Pool) -> str:
    """Return all counts as text."""
    return "\n".join(_lines(gate, pool)) + "\n"


def _lines(gate: Gate, pool: Pool) -> Iterable[str]:
    yield "# TYPE discreet_requests_total counter"
    for (route, status), count in sorted(gate.counts.items()):
        yield f'discreet_requests_total{{route="{route}",status="{status}"}} {count}'
    gauges = {"workers": len(pool.numbers), "workers_idle": pool.idle, "waiting": pool.waiting}
    counters = {"workers_replaced": pool.replaced}
    if gate.door is not None:
        gauges |= {"postgres_connections": gate.door.connections, "postgres_strangers": gate.door.strangers}
        counters |= {"postgres_logins": gate.door.entered, "postgres_refusals": gate.door.refused}
    for name, value in gauges.items():
        yield f"# TYPE discreet_{name} gauge"
        yield f"discreet_{name} {value}"
    for name, value in counters.items():
        yield f"# TYPE discreet_{name}_total counter"
        yield f"discreet_{name}_total {value}"


async def tell(
    gate: Gate,
    pool: Pool,
    patience: float,
    incoming: asyncio.StreamReader,
    outgoing: asyncio.StreamWriter,
) -> None:
    """Answer one request for the counts, on the port that has nothing else; anything else is not found."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(patience):
            head = await incoming.readuntil(b"\r\n\r\n")
            found = head.split(b"\r\n")[0].split(b" ")[:2] == [b"GET", b"/metrics"]
            body = measured(gate, pool).encode() if found else b""
            status = "200 OK" if found else "404 Not Found"
            said = f"HTTP/1.1 {status}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n"
            outgoing.write(f"{said}Connection: close\r\n\r\n".encode() + body)
            await outgoing.drain()
    outgoing.close()
