"""Charts drawn in a process of their own: a drawing library that fails takes nothing with it but its picture.

    python -m discreet.console.drawing

The process gets specifications through a pipe and gives back pictures.  It knows no data, no token and no
visit; it is started when the first picture is wanted, and again when it has died.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from discreet.service import pipe

PATIENCE = 20.0
"""For so many seconds a page waits for its picture."""

INLINE, FILE, PNG = "inline", "svg", "png"


class Drawer:
    """The process that draws, and the pipes to it; one picture at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def draw(self, specification: Mapping[str, Any], form: str) -> bytes | None:
        """Return a picture, None where it could not be drawn."""
        async with self._turn:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await self._exchange({"form": form, "chart": specification})
            except (EOFError, OSError, TimeoutError):
                await self._end()
                return None
            except BaseException:
                await self._end()
                raise

    async def _exchange(self, head: Mapping[str, Any]) -> bytes | None:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "discreet.console.drawing"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        incoming, outgoing = self._process.stdout, self._process.stdin
        if incoming is None or outgoing is None:
            raise EOFError("the process has no pipes")
        outgoing.write(pipe.write(head))
        await outgoing.drain()
        sizes = pipe.lengths(await incoming.readexactly(pipe.LENGTHS.size))
        whole = await incoming.readexactly(sum(sizes))
        return whole[sizes[0] :] if pipe.head_of(whole[: sizes[0]])["drawn"] else None

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def drawn(specification: Mapping[str, Any], form: str) -> bytes:
    """Return the picture of a specification."""
    import vl_convert

    from discreet.show.save import in_colours_of_the_page

    if form == PNG:
        return bytes(vl_convert.vegalite_to_png(dict(specification), scale=2.0))
    svg = str(vl_convert.vegalite_to_svg(dict(specification)))
    return (in_colours_of_the_page(svg) if form == INLINE else svg).encode()


def main() -> None:
    """Draw until the pipe closes; whatever the library prints goes nowhere."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    with suppress(EOFError, BrokenPipeError):
        while True:
            head, _ = pipe.read(incoming)
            try:
                reply = pipe.write({"drawn": True}, drawn(head["chart"], head["form"]))
            except Exception:
                reply = pipe.write({"drawn": False})
            outgoing.write(reply)


if __name__ == "__main__":
    main()
