"""What the tests of the commands share: subscriptions and events, files of them, and a call of a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tocsin.cli.main import main

SUBSCRIPTIONS = [
    {"id": "a", "where": "n = 1", "score": 2},
    {"id": "b", "where": "n >= 1 AND s = 'x'"},
    {"id": "c", "where": "z IS NULL", "score": -1},
]
EVENTS = [{"n": 1, "s": "x"}, {"n": 3, "s": "x"}, {"z": 1}]


def lines(path: Path, records: list[Any]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def records(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def run(capfd: Any, *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    return status, *capfd.readouterr()
