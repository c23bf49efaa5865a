"""The example pipeline, which runs at once: a commented file with a few subscriptions and events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from tocsin.errors import InvalidInput

_SUBSCRIPTIONS: Final = [
    {"id": "cheap", "where": "price < 10"},
    {"id": "tea", "where": "A_CONTAINS(words, ('tea'))", "score": 2.0},
    {"id": "near", "where": "S_INTERSECTS(place, BBOX(2, 48, 3, 49))"},
]
_EVENTS: Final = [
    {"key": "e1", "price": 4.5, "words": ["green", "tea"], "place": [2.3, 48.9]},
    {"key": "e2", "price": 80, "words": ["tea", "pot"]},
    {"key": "e3", "price": 12, "words": ["cup"]},
]
_CHANGES: Final = [
    {"id": "cups", "change": "insert", "version": 1, "where": "A_CONTAINS(words, ('cup'))"},
    {"id": "cheap", "change": "update", "version": 1, "where": "price < 5"},
]


def write_example(path: Path) -> list[Path]:
    """Write a commented pipeline and the files that it reads, beside it; returns the files.

    Raises `InvalidInput` if one of them exists: no file is overwritten.
    """
    folder = path.parent
    text = files("tocsin.pipeline").joinpath("example.toml").read_text(encoding="utf-8")
    contents = {
        path: text.replace("NAME.toml", path.name),
        folder / "subscriptions.jsonl": _lines(_SUBSCRIPTIONS),
        folder / "events" / "0001.json": _lines(_EVENTS),
        folder / "changes" / "0001.json": _lines(_CHANGES),
    }
    there = [str(one) for one in contents if one.exists()]
    if there:
        raise InvalidInput(f"{there[0]} is there already; name a file in another folder")
    for one, content in contents.items():
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text(content, encoding="utf-8")
    return list(contents)


def _lines(records: Sequence[object]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)
