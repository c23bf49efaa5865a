"""The Python that `tests.fork_server.python` names: it lets the server run a program, and waits for the end of it.

    python -IS tests/fork_client.py SOCKET ARGUMENT...    as `python ARGUMENT...`

A signal that ends it kills the program. It imports only what is quick to import.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterable, Mapping
from typing import Final

REFUSED: Final = b"refused\n"
_STREAMS: Final = (0, 1, 2)
_BOUND: Final = ("PYTHON", "NUMBA", "TOCSIN_", "OMP_", "XDG_CACHE")


def bound(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that Python, Numba or tocsin reads when it starts. The server cannot set them afterwards."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_BOUND) and name != "PYTHONUNBUFFERED"  # the server opens streams anew
    }


def are_open(descriptors: Iterable[int]) -> bool:
    try:
        for descriptor in descriptors:
            os.fstat(descriptor)
    except OSError:
        return False
    return True


def main(address: str, arguments: list[str]) -> int:
    """Let the server run a program. Returns its exit status, or ends by the signal that the program ended by."""
    if not are_open(_STREAMS):  # there is nothing to hand over
        os.execv(sys.executable, [sys.executable, *arguments])
    request = {
        "arguments": arguments,
        "folder": os.getcwd(),  # noqa: PTH109 - pathlib takes longer to import than the rest
        "environment": dict(os.environ),
        "bound": bound(os.environ),
        "ignores_interrupts": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    }
    text = json.dumps(request).encode()
    server = socket.socket(socket.AF_UNIX)
    server.connect(address)
    socket.send_fds(server, [len(text).to_bytes(4, "big")], _STREAMS)
    server.sendall(text)
    with server.makefile("rb") as answers:
        answer = answers.readline()
    if answer == REFUSED:
        os.execv(sys.executable, [sys.executable, *arguments])
    status = int(answer or b"1")
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
