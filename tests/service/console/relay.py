"""Stands between Playwright and an installed Firefox, and answers the commands that this Firefox does not have yet.

Playwright speaks WebDriver BiDi with a Firefox that is not built for it, and sets media features for each page. Firefox
153 has no such command. Its settings say the same, so the answer is that it is done.

    python relay.py FIREFOX ARGUMENT ...
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any, Final

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

LISTENING: Final = "WebDriver BiDi listening on "
_MISSING: Final = frozenset(("emulation.setMediaFeaturesOverride",))


async def lines_of(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    while line := await stream.readline():
        yield line.decode(errors="replace").rstrip()


async def relay(client: ServerConnection, target: str) -> None:
    """Pass messages on, both ways, until one side ends."""
    assert client.request is not None
    async with connect(target + client.request.path, max_size=None, proxy=None) as browser:

        async def answers() -> None:
            async for message in browser:
                await client.send(message)

        task = asyncio.create_task(answers())
        async for message in client:
            asked: Any = json.loads(message)
            if asked["method"] in _MISSING:
                await client.send(json.dumps({"type": "success", "id": asked["id"], "result": {}}))
            else:
                await browser.send(message)
        task.cancel()


async def run(command: list[str]) -> int:
    """Run Firefox. Where it says that it listens, the relay says so for itself."""
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, process.terminate)
    assert process.stderr is not None
    async for line in lines_of(process.stderr):
        if found := re.search(f"{LISTENING}(ws://.*)$", line):
            server = await serve(lambda client, target=found[1]: relay(client, target), "127.0.0.1", 0, max_size=None)
            port = next(iter(server.sockets)).getsockname()[1]
            line = f"{LISTENING}ws://127.0.0.1:{port}"
        print(line, file=sys.stderr, flush=True)
    return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1:])))
