"""A manifest that was edited, its checksum mended, is refused with its path and what to do, whatever it says."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin.segment.storage import write_manifest

RECORDS = [{"id": f"s{n}", "where": f"a = {n} OR b LIKE 'x{n}%'", "payload": n, "score": n} for n in range(40)]
ODD: list[Any] = [
    *(None, True, -1, 0, 1, 5, 2**40, 2**63, 2**70, 1.5, "", "S0", "<i8", "part-00000", "../x", "\u0000", [], [5]),
    *([[]], {}, {"a": 1}, ["part-00000", "part-00000"], [2**40], [2**40, 0], [-1], [2**62, 4], "x" * 300),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "index"
    with tocsin.Engine() as engine:
        engine.subscribe_many(RECORDS)
        engine.save(folder)
    return folder


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """Where anything is in a manifest."""
    if not isinstance(value, dict | list):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(place for key, inner in items for place in places(inner, (*path, key)))]


def changed(manifest: Any, path: tuple, odd: Any) -> Any:
    if not path:
        return odd
    copied = copy.deepcopy(manifest)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return copied


def manifests(folder: Path) -> list[Path]:
    return [folder / "manifest.json", *folder.glob("version-*/part-*/manifest.json")]


def ask(folder: Path) -> list:
    with tocsin.Engine.load(folder) as engine:
        return [list(engine.match({"a": 3, "b": "x7y"})), len(engine), engine.get("s5"), list(engine)]


@pytest.mark.parametrize("which", [0, 1])
def test_anything_odd_anywhere(saved: Path, which: int) -> None:
    """Each value of a manifest replaced by each odd one: an error of tocsin's, or the same answers."""
    path = manifests(saved)[which]
    original = path.read_text("utf-8")
    manifest = json.loads(original)
    manifest.pop("crc32")
    expected = ask(saved)
    dice = random.Random(which)
    refused = 0
    try:
        for place in places(manifest)[1:]:
            for odd in dice.sample(ODD, 2):
                write_manifest(path, changed(manifest, place, odd))
                try:
                    assert ask(saved) == expected, (place, odd)
                except tocsin.TocsinError as error:
                    refused += 1
                    assert str(saved) in str(error), (place, odd)
    finally:
        path.write_text(original, "utf-8")
    assert refused > 10
    assert ask(saved) == expected


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, '{"crc32": ' + "[" * 5000])
def test_what_is_no_manifest(saved: Path, which: int, text: str) -> None:
    path = manifests(saved)[which]
    original = path.read_text("utf-8")
    try:
        path.write_text(text, "utf-8")
        with pytest.raises(tocsin.SegmentError, match="is damaged: "):
            ask(saved)
    finally:
        path.write_text(original, "utf-8")


def test_a_part_twice_or_a_count_that_is_another(saved: Path) -> None:
    path = saved / "manifest.json"
    original = path.read_text("utf-8")
    manifest = json.loads(original)
    manifest.pop("crc32")
    try:
        for name, value in (("parts", manifest["parts"] * 2), ("subscriptions", 41), ("ids", "int64")):
            write_manifest(path, {**manifest, name: value})
            with pytest.raises(tocsin.SegmentError, match="Compile the index again"):
                tocsin.match(saved, [{"a": 1}])
    finally:
        path.write_text(original, "utf-8")
