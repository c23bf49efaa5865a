"""Texts of subscriptions that were changed on disk, with checksums that fit, are told of when they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.segment.samples import Damaged
from tocsin.segment.storage import segment_manifest

RECORD = {"id": "a", "where": "price > 5", "payload": {"to": "ann"}, "weights": {"price": 2}}


def edited(folder: Path, name: str, old: str, new: str) -> tocsin.Engine:
    """A saved engine whose text says something else."""
    engine = tocsin.Engine()
    engine.subscribe_many([RECORD])
    engine.save(folder)
    part = Damaged.__new__(Damaged)
    part.folder = next(folder.glob("version-*/part-00000"))
    part.manifest = segment_manifest(part.folder)
    data = part.array(f"{name}.data")
    data[:] = list(data.tobytes().replace(old.encode(), new.encode()))
    part.put(f"{name}.data", data)
    return tocsin.Engine.load(folder)


@pytest.mark.parametrize(
    ("name", "old", "new", "ask"),
    [
        ("sources", "price > 5", "price > (", lambda engine: engine.explain("a", {"price": 6})),
        ("payloads", '"to"', '"to ', lambda engine: engine.payload("a")),
        ("payloads", '"to"', '"to ', lambda engine: engine.get("a")),
        ("weights", "2", "}", lambda engine: engine.get("a")),
        ("weights", "2", "}", lambda engine: engine.match({"price": 6}, ranking=tocsin.Relaxed(1))),
        ("weights", '{"price": 2', '{"price":[]', lambda engine: engine.match({"price": 6}, ranking=tocsin.Relaxed(1))),
    ],
)
def test_a_text_that_was_changed_is_named(
    name: str, old: str, new: str, ask: Callable[[tocsin.Engine], Any], tmp_path: Path
) -> None:
    """The error shows it, and says what to do; questions that need none of it are answered."""
    engine = edited(tmp_path, name, old, new)

    with pytest.raises(tocsin.SegmentError, match=r"of a subscription was changed on disk: .*Compile it again\."):
        ask(engine)
    assert [match.subscription for match in engine.match({"price": 6})] == ["a"]


def test_an_export_of_a_changed_text_leaves_nothing(tmp_path: Path) -> None:
    """It fails as a whole, and names the text."""
    engine = edited(tmp_path / "engine", "payloads", '"to"', '"to ')

    with pytest.raises(tocsin.SegmentError, match="changed on disk"):
        engine.export(tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]
