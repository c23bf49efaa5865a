"""The commands of docs/service.md answer what the page shows."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.pages import ROOT
from tests.service.served import Served

PAGE: Final = (ROOT / "docs" / "service.md").read_text("utf-8")
_BLOCK: Final = re.compile(
    r"^```sh no-run\n(.*?)^```\n(?:\n[^`\n]+\n)?(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
_OPTIONS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_page_shows_what_curl_prints(server: Served) -> None:
    address = urlsplit(str(server.client.base_url)).netloc
    compared = 0
    for commands, shown in _BLOCK.findall(PAGE):
        if "curl" not in commands or "-N" in commands:
            continue
        commands = re.sub(r"--json", "-H 'Content-Type: application/json' --data", commands)  # for older releases
        commands = commands.replace("localhost:8470", address).replace("curl", "curl -sS -w '\\n'")
        printed = subprocess.run(
            ["bash", "-ec", commands], capture_output=True, text=True, timeout=30, check=True
        ).stdout
        assert doctest.OutputChecker().check_output(shown, printed, _OPTIONS), f"{commands}\nprints\n{printed}"
        compared += 1

    assert compared == 4
