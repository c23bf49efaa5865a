"""The commands of docs/service.md answer what the page shows."""

from __future__ import annotations

import doctest
import re
import shutil
import socket
import subprocess
import sys
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.pages import ROOT
from tests.service.receivers import hook
from tests.service.served import Served
from tests.waiting import HANG_S, awaited

PAGE: Final = (ROOT / "docs" / "service.md").read_text("utf-8")
_BLOCK: Final = re.compile(
    r"^```sh no-run\n(.*?)^```\n(?:\n[^`\n]+\n)?(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
_OF_ANOTHER_STORE: Final = ("attempts?failed", "user = 'ann'", "/diagnosis?event=12")
"""What is asked of a store with a failed attempt, subscriptions of ann and a paused one, as this one has not."""
_OPTIONS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_page_shows_what_curl_prints(server: Served) -> None:
    address = urlsplit(str(server.client.base_url)).netloc
    compared = 0
    for commands, shown in _BLOCK.findall(PAGE):
        if "curl" not in commands or "-N" in commands:
            continue
        if any(one in commands for one in _OF_ANOTHER_STORE):
            continue
        commands = re.sub(r"--json", "-H 'Content-Type: application/json' --data", commands)  # for older releases
        commands = commands.replace("localhost:8470", address).replace("curl", "curl -sS -w '\\n'")
        printed = subprocess.run(
            ["bash", "-ec", commands], capture_output=True, text=True, timeout=HANG_S, check=True
        ).stdout
        assert doctest.OutputChecker().check_output(shown, printed, _OPTIONS), f"{commands}\nprints\n{printed}"
        compared += 1

    assert compared == 9


def test_the_receiver_of_the_page_verifies_what_is_posted(server: Served) -> None:
    (program,) = re.findall(r"^```python no-run\n(from http.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secret = "whsec_" + "A" * 32
    program = program.replace("whsec_...", secret).replace("8000", str(port))
    process = subprocess.Popen([sys.executable, "-uc", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        awaited(lambda: _listens(port))
        hook(server, f"http://127.0.0.1:{port}/", secret=secret)
        for number in range(2):
            server.publish({"n": number})
        assert process.stdout is not None
        printed = [process.stdout.readline().decode() for _ in range(2)]
    finally:
        process.kill()
        process.communicate()

    assert [line.split(" ", 1)[1] for line in printed] == ["{'n': 0} ['s-w']\n", "{'n': 1} ['s-w']\n"]


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
