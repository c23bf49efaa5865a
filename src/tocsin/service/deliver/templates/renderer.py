"""The service's side of the process that renders templates."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from struct import Struct
from typing import Any, Final

from tocsin.errors import missing_extra
from tocsin.service.deliver.protocols import Message

_WORKER: Final = Path(__file__).with_name("worker.py")
_LENGTH: Final = Struct(">I")
_WALL_S: Final = 10.0
"""The most time of a rendering on a busy machine. The process itself ends after a second of the processor's time."""


class TemplateError(Exception):
    """Why a template cannot be parsed or rendered. `part` and `line` are its place, if it has one."""

    def __init__(self, reason: str, part: str | None = None, line: int | None = None, *, is_late: bool = False) -> None:
        place = "" if part is None else f"{part}: " if line is None else f"{part}, line {line}: "
        super().__init__(place + reason)
        self.part, self.line, self.is_late = part, line, is_late


class Renderer:
    """Renders templates in a process, one after the other. The process starts with the first one.

    It gets nothing of the environment but the path of modules. A template that takes too long ends it, and the next
    one starts another.
    """

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def check(self, template: Mapping[str, Any]) -> None:
        """Raise `TemplateError` if a part of a template cannot be parsed, and `MissingExtra`."""
        await self._asked({"template": template}, b"")

    async def rendered(self, template: Mapping[str, Any], message: Message) -> dict[str, Any]:
        """The parts of a message by a template; raises `TemplateError` and `MissingExtra`.

        Each costs about a millisecond and what the template takes, and waits for those before it.
        """
        more = {"key": message.key, "destination": message.destination}
        answer = await self._asked({"template": template, "more": more}, message.body)
        parts: dict[str, Any] = answer["parts"]
        return parts

    async def _asked(self, request: Mapping[str, Any], document: bytes) -> dict[str, Any]:
        if self._process is None and find_spec("liquid") is None:
            raise missing_extra("templates", "python-liquid is not installed")
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "tocsin-templates")
        text = json.dumps(request).encode()
        answer = await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, text, document)
        if "error" in answer:
            raise TemplateError(answer["error"], answer["part"], answer["line"])
        return answer

    def _answer(self, request: bytes, document: bytes) -> dict[str, Any]:
        """The answer of the process. In the thread."""
        if self._process is None or self._process.poll() is not None:
            self._process = _started()
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        late = threading.Timer(_WALL_S, process.kill)
        late.start()
        try:
            for part in (request, document):
                process.stdin.write(_LENGTH.pack(len(part)) + part)
            process.stdin.flush()
            head = process.stdout.read(_LENGTH.size)
            text = process.stdout.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
        except OSError:
            text = b""
        finally:
            late.cancel()
        if not text:
            self._end()
            raise TemplateError("it takes longer than a second, or more memory than it may", is_late=True)
        answer: dict[str, Any] = json.loads(text)
        return answer

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError):
                process.communicate()

    def close(self) -> None:
        """End the process and the thread."""
        thread, self._thread = self._thread, None
        if self._process is not None:
            self._process.kill()
        if thread is not None:
            thread.submit(self._end)
            thread.shutdown()


def _started() -> subprocess.Popen[bytes]:
    """A new process, which finds the modules that this one finds."""
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TZ": "UTC", "PYTHONUTF8": "1"}
    return subprocess.Popen(
        [sys.executable, "-P", str(_WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=os.sep,
    )
