"""A saved engine is a state that stays as it was, and a loaded one goes on from there."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

import tocsin
from tests.engine.samples import OTHER_KIND

EVENTS: Final = ({"n": 1, "words": ["a", "b"]}, {"n": 25, "s": "é"}, {"n": 7}, {})
PAYLOADS: Final = (None, 0, "", "é\x00😀", 1.5, True, [], {"to": [{"a": None}], "": 2**53}, ["x"] * 300)


def filled(ids: Sequence[Any] = range(40), index: str = "auto") -> Any:
    """An engine that has lived: segments, a delta, removed and rescored subscriptions, payloads of every kind."""
    engine = tocsin.Engine(index, delta_limit=8)
    for place, name in enumerate(ids):
        where = f"n > {place} OR A_CONTAINS(words, ('a')) AND n = 1 OR s = 'é'"
        engine.subscribe(name, where, score=place % 5, payload=PAYLOADS[place % len(PAYLOADS)])
    for name in ids[::6]:
        engine.unsubscribe(name)
    engine.subscribe_many([{"id": name, "where": "n IS NULL", "payload": "new"} for name in ids[:3]], replace=True)
    engine.rescore(ids[5], -2.5)
    return engine


def state(engine: Any, ids: Sequence[Any] = range(40)) -> tuple[Any, ...]:
    """Answers with all scores, the ids, their payloads and explanations."""
    known = [name for name in ids if name in engine]
    ranked = engine.match_batch(EVENTS, ranking=tocsin.Top(1000)).table.to_pylist()
    told = [str(engine.explain(name, EVENTS[0])) for name in known]
    return ranked, known, [engine.payload(name) for name in known], told, len(engine)


@pytest.mark.parametrize("ids", [range(40), [f"s{n}" for n in range(40)], [2**62 - n for n in range(40)]])
@pytest.mark.parametrize("index", ["auto", "scan", "access"])
@pytest.mark.parametrize("merged", [False, True])
def test_a_loaded_engine_is_the_one_that_was_saved(
    ids: Sequence[Any], index: str, merged: bool, tmp_path: Path
) -> None:
    """Answers, scores, ids, payloads and explanations come back, and the index; the saved one goes on unharmed."""
    engine = filled(ids, index)
    expected = state(engine, ids)
    if merged:
        engine.merge()

    engine.save(str(tmp_path / "new" / "folder"))
    loaded = tocsin.Engine.load(str(tmp_path / "new" / "folder"))

    assert state(loaded, ids) == state(engine, ids) == expected
    loaded.merge()
    assert state(loaded, ids) == expected
    assert loaded.stats.plan.index == engine.stats.plan.index


def test_a_loaded_engine_can_be_changed_like_any(tmp_path: Path) -> None:
    """What is done to it gives the answers that it gives on the one that was saved."""
    engine = filled()
    engine.save(tmp_path)
    loaded = tocsin.Engine.load(tmp_path)

    for one in (engine, loaded):
        one.unsubscribe(7)
        one.rescore(8, 99)
        one.subscribe(9, "n = 25", score=3, payload="replaced", replace=True)
        one.subscribe(500, "n = 7")
        with pytest.raises(tocsin.DuplicateSubscription):
            one.subscribe(10, "TRUE")
        with pytest.raises(tocsin.UnknownSubscription):
            one.unsubscribe(7)
        with pytest.raises(tocsin.InvalidInput, match=OTHER_KIND):
            one.subscribe("text", "TRUE")

    assert state(loaded, range(600)) == state(engine, range(600))
    assert loaded.match({"n": 7})[-1] == tocsin.Match(500, 1.0)


def test_changes_after_saving_do_not_reach_the_folder(tmp_path: Path) -> None:
    """Neither those of the engine that was saved, nor those of one that was loaded; two that are loaded are apart."""
    engine = filled()
    expected = state(engine)
    engine.save(tmp_path)
    first, second = tocsin.Engine.load(tmp_path), tocsin.Engine.load(tmp_path)

    for one in (engine, first):
        one.subscribe_many([{"id": name, "where": "TRUE"} for name in range(30)], replace=True)
        one.unsubscribe(31)
        one.rescore(32, -7)
        one.merge()

    assert state(second) == state(tocsin.Engine.load(tmp_path)) == expected
    assert state(first) == state(engine) != expected


def test_saving_again_replaces_what_was_saved(tmp_path: Path) -> None:
    """Who loads sees the new state and nothing of the old; who had loaded the old one still answers from it."""
    old = filled()
    old.save(tmp_path)
    reader, expected = tocsin.Engine.load(tmp_path), state(old)
    new = tocsin.Engine()
    new.subscribe("only", "n = 1", payload="p")

    new.save(tmp_path)

    loaded = tocsin.Engine.load(tmp_path)
    assert (len(loaded), loaded.payload("only")) == (1, "p")
    assert [match.subscription for match in loaded.match({"n": 1})] == ["only"]
    assert state(reader) == expected


def test_an_engine_can_be_saved_where_it_was_loaded_from(tmp_path: Path) -> None:
    """Again and again, changed in between, merged or not."""
    filled().save(tmp_path)
    for turn in range(6):
        engine = tocsin.Engine.load(tmp_path)
        engine.unsubscribe(7 + turn if turn < 5 else 13)
        engine.subscribe(100 + turn, "TRUE", payload=turn)
        if turn % 2:
            engine.merge()
        expected = state(engine, range(200))

        engine.save(tmp_path)

        assert state(engine, range(200)) == expected
        assert state(tocsin.Engine.load(tmp_path), range(200)) == expected


@pytest.mark.parametrize("emptied", [False, True])
def test_an_empty_engine_can_be_saved(emptied: bool, tmp_path: Path) -> None:
    """One that never held anything, or holds nothing any more, comes back empty and can be filled."""
    engine = tocsin.Engine(delta_limit=2)
    for number in range(9 if emptied else 0):
        engine.subscribe(number, "TRUE")
    for number in range(9 if emptied else 0):
        engine.unsubscribe(number)

    engine.save(tmp_path)
    loaded = tocsin.Engine.load(tmp_path)

    assert (len(loaded), list(loaded.match({})), 0 in loaded) == (0, [], False)
    loaded.subscribe(0, "TRUE")
    assert list(loaded.match({})) == [tocsin.Match(0, 1.0)]


@pytest.mark.parametrize("what", ["missing", "empty", "file", "other", "other manifest"])
def test_what_is_no_engine_is_refused(what: str, tmp_path: Path) -> None:
    """The message names the path."""
    path = tmp_path / "none"
    if what == "file":
        path.write_text("{}")
    elif what != "missing":
        path.mkdir()
    if what.startswith("other"):
        (path / ("manifest.json" if what == "other manifest" else "other.txt")).write_text('{"format": "other"}')

    with pytest.raises(tocsin.SegmentError, match="none"):
        tocsin.Engine.load(path)


def test_an_engine_is_not_saved_over_a_file(tmp_path: Path) -> None:
    """It is an error, the file stays, and so does the engine."""
    (tmp_path / "file").write_text("precious")
    engine = filled()
    expected = state(engine)

    with pytest.raises((tocsin.TocsinError, OSError)):
        engine.save(tmp_path / "file")

    assert (tmp_path / "file").read_text() == "precious"
    assert state(engine) == expected


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing"])
def test_damage_is_found_or_does_no_harm(damage: str, tmp_path: Path) -> None:
    """Whichever file of a saved engine is spoilt: it is refused, or everything is what it was."""
    engine = filled()
    engine.save(tmp_path / "whole")
    expected, dice, refused = state(engine), random.Random(damage), 0
    files = [path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*") if path.is_file()]
    turns = 40 // len(files) + 1 if damage == "flipped" else 1

    for name in files * turns:
        shutil.rmtree(tmp_path / "spoilt", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "spoilt")
        spoil(tmp_path / "spoilt" / name, damage, dice)
        try:
            seen = state(tocsin.Engine.load(tmp_path / "spoilt"))
        except tocsin.SegmentError:
            refused += 1
            continue
        assert seen == expected, f"{name} {damage}"

    assert refused >= turns


def spoil(path: Path, damage: str, dice: random.Random) -> None:
    """Remove a file, cut it in the middle, or flip one of its bits."""
    content = bytearray(path.read_bytes())
    path.unlink()
    if damage == "flipped" and content:
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    if damage != "missing":
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else content)
