"""A Python that starts at once: a server that has imported tocsin forks for each command that tests start.

`[*python(), "-m", "tocsin", ...]` stands for `[sys.executable, "-m", "tocsin", ...]`. The command runs in a process of
its own with the arguments, folder, environment and files of its caller, and dies with it. A start of Python itself
takes more than a second, so tests start it only where they are about the start, or about signals.
"""

from __future__ import annotations

import atexit
import contextlib
import doctest  # noqa: F401 - as `tests.pages` does, which runs in a fork
import gc
import io
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.fork_client import REFUSED, bound

_ADDRESS: Final = "TESTS_FORK_SERVER"
_ROOT: Final = Path(__file__).parents[1]


def python() -> list[str]:
    """The beginning of a command: a Python that starts at once. The first call starts the server."""
    if _ADDRESS not in os.environ:
        _start()
    return [sys.executable, "-IS", str(_ROOT / "tests" / "fork_client.py"), os.environ[_ADDRESS]]


def shell(code: str) -> str:
    """Code of a shell, in which `tocsin` and `python` start at once."""
    command = shlex.join(python())
    return f'tocsin() {{ {command} -m tocsin "$@"; }}\npython() {{ {command} "$@"; }}\n{code}'


def _start() -> None:
    folder = tempfile.TemporaryDirectory()
    address = f"{folder.name}/socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        command = [sys.executable, "-m", "tests.fork_server", str(listening.fileno())]
        # The server ends with its input, so it does not outlive this process, however that ends.
        server = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=_ROOT, pass_fds=[listening.fileno()])
    os.environ[_ADDRESS] = address

    def stop() -> None:
        assert server.stdin is not None
        server.stdin.close()
        server.wait()
        folder.cleanup()

    atexit.register(stop)


class _Server:
    """Forks for each client, and tells it how the process ended."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._clients: dict[int, socket.socket] = {}  # by process

    def serve(self) -> Callable[[], None] | None:
        """Serve until the input ends. In a forked process, returns what it is to run."""
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to everybody
        while True:
            processes = {client.fileno(): process for process, client in self._clients.items()}
            ready, _, _ = select.select([0, woken, self._listening, *processes], [], [])
            if 0 in ready:
                return None
            if woken in ready:
                os.read(woken, 4096)
                self._reap()
            for descriptor in processes.keys() & set(ready):
                self._kill(processes[descriptor])
            if self._listening in ready:
                program = self._accept()
                if program is not None:
                    signal.set_wakeup_fd(-1)
                    os.close(woken)
                    os.close(waking)
                    return program

    def _accept(self) -> Callable[[], None] | None:
        client, _ = self._listening.accept()
        head, descriptors, _, _ = socket.recv_fds(client, 4, 3)
        with client.makefile("rb") as stream:
            request = json.loads(stream.read(int.from_bytes(head, "big")))
        if request["bound"] != bound(os.environ):
            client.sendall(REFUSED)
            client.close()
        elif (process := os.fork()) > 0:
            self._clients[process] = client
        else:
            for connection in (client, *self._clients.values(), self._listening):
                connection.close()
            return lambda: _become(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return None

    def _reap(self) -> None:
        """Tell clients of processes that ended."""
        while self._clients:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            # A client that was killed hears nothing.
            with self._clients.pop(process) as client, contextlib.suppress(OSError):
                client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))

    def _kill(self, process: int) -> None:
        """Kill the process of a client that is gone: clients that live send nothing."""
        if process in self._clients:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            self._clients.pop(process).close()


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Run a program as a Python would that was started with its arguments, folder, environment and files."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN if request["ignores_interrupts"] else signal.default_int_handler)
    _open_streams()
    kind, *arguments = request["arguments"]
    if kind == "-m":
        module, *arguments = arguments
        sys.path.insert(0, request["folder"])
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif kind == "-c":
        code, *arguments = arguments
        sys.path.insert(0, "")
        sys.argv = ["-c", *arguments]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path.insert(0, str(Path(kind).resolve().parent))
        sys.argv = [kind, *arguments]
        runpy.run_path(kind, run_name="__main__")


def _open_streams() -> None:
    """Replace the streams of the server, which have their own buffers and do not know where they lead."""
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        is_output = number > 0
        binary = open(  # noqa: SIM115 - open as long as the process
            number, "wb" if is_output else "rb", buffering=0 if at_once and is_output else -1, closefd=False
        )
        stream = io.TextIOWrapper(
            binary,
            "utf-8",
            "backslashreplace" if name == "stderr" else "strict",
            line_buffering=not at_once and (name == "stderr" or os.isatty(number)),
            write_through=at_once and is_output,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _warm() -> None:
    """Import what commands import, and load the kernels that most of them call."""
    from tocsin.__main__ import _keep_pandas_out

    _keep_pandas_out()
    del sys.modules["tocsin.__main__"]  # else each start of it warns
    from tocsin.cli.main import main

    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        Path("s.jsonl").write_text('{"id": "a", "where": "n = 1"}\n')
        Path("e.jsonl").write_text('{"n": 1}\n')
        with Path("said").open("w") as said, contextlib.redirect_stderr(said):
            main(["match", "s.jsonl", "e.jsonl", "--out", "m.jsonl"])
            main(["fences", "s.jsonl", "e.jsonl", "--key", "n", "--out", "f.jsonl"])


def _serve(descriptor: int) -> None:
    """Serve, and in each forked process run a program, which ends as Python ends."""
    del sys.path[0]  # the folder of the project, which commands do not have
    _warm()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as listening:
        program = _Server(listening).serve()
    if program is not None:
        program()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
