"""Regions with keywords lie in a segment as they are matched: who opens it builds nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tocsin
from tests.segment.regions import message, region
from tests.segment.samples import Damaged, asked, build
from tocsin.errors import SegmentError
from tocsin.index.spatial_text.token_grid import index as token_grid
from tocsin.index.spatial_text.token_grid.layout import PREFIX
from tocsin.segment import Snapshots, open_segment, write_segment
from tocsin.segment.storage import segment_manifest

DICE = random.Random(2015)
SUBSCRIPTIONS = [{"id": f"s{number:04}", "where": region(DICE)} for number in range(1500)]
SUBSCRIPTIONS += [{"id": "never", "where": "FALSE"}]
MESSAGES = [message(DICE) for _ in range(40)]
OTHERS = [{"id": f"t{number:04}", "where": f"n = {number % 7} AND m IS NULL"} for number in range(600)]


class Saved(Damaged):
    """A segment of regions, whose numbers can be changed."""

    def __init__(self, folder: Path, index: str = "token_grid", more: list[dict[str, str]] | None = None) -> None:
        self.folder = folder
        write_segment(build([*SUBSCRIPTIONS, *(more or [])], index), folder)
        self.manifest = segment_manifest(folder)


def answers(folder: Path) -> list[tuple]:
    return asked(Snapshots.of([open_segment(folder)]), MESSAGES)


def refuse(*_: object) -> None:
    raise AssertionError("it is built anew")


@pytest.mark.parametrize("index", ["token_grid", "auto"])
def test_what_was_saved_is_mapped(index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself, and where other subscriptions are found by access keys; its answers are `scan`'s."""
    saved = Saved(tmp_path / "s", index, OTHERS if index == "auto" else None)
    assert any(PREFIX in name for name in saved.manifest["arrays"])
    records = [*SUBSCRIPTIONS, *(OTHERS if index == "auto" else [])]
    built = build(records, index)
    monkeypatch.setattr(token_grid, "build_grid", refuse)

    found = answers(saved.folder)

    assert len(found) > 500
    assert found == asked(Snapshots.of([build(records, "scan")]), MESSAGES)
    segment = open_segment(saved.folder)
    assert segment.matcher.sizes() == built.matcher.sizes()
    assert [segment.place(number) for number in range(50)] == [built.place(number) for number in range(50)]


def test_resembling_is_asked_of_what_was_saved(tmp_path: Path) -> None:
    """`Similar` is answered from the same regions."""
    saved = Saved(tmp_path / "s")
    engine = tocsin.Engine(index="token_grid")
    engine.subscribe_many(SUBSCRIPTIONS)
    engine.save(tmp_path / "engine")
    ranking = tocsin.Similar(0.4, 0.5)

    table = tocsin.Engine.load(tmp_path / "engine").match_batch(MESSAGES, ranking=ranking).table

    assert table.num_rows > 50
    assert table.equals(engine.match_batch(MESSAGES, ranking=ranking).table)
    assert answers(saved.folder)


def test_what_was_saved_before_is_built(tmp_path: Path) -> None:
    """Of an earlier version there are expressions alone."""
    saved = Saved(tmp_path / "s")
    expected = answers(saved.folder)
    saved.manifest["arrays"] = {name: entry for name, entry in saved.manifest["arrays"].items() if PREFIX not in name}
    saved.seal()

    assert answers(saved.folder) == expected


def test_each_array_is_needed(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "s")
    arrays = saved.manifest["arrays"]
    names = [name for name in arrays if PREFIX in name]
    assert len(names) > 20
    for name in names:
        entry = arrays.pop(name)
        saved.seal()

        with pytest.raises(SegmentError):
            open_segment(saved.folder)
        arrays[name] = entry


def test_alternatives_are_saved_as_rows(tmp_path: Path) -> None:
    """The rows are mapped as they were; changed ones are refused."""
    box, other = "S_INTERSECTS(p, BBOX(0, 0, 8, 8))", "S_INTERSECTS(q, BBOX(0, 0, 5, 8))"
    more = [
        {"id": f"u{number:04}", "where": f"{box} AND A_CONTAINS(l, ('w1', 'w{number}')) OR {other} AND {words}"}
        for number, words in enumerate([f"A_OVERLAPS(l, ('w3', 'w{number}'))" for number in range(9)])
    ]
    saved = Saved(tmp_path / "s", more=more)

    found = answers(saved.folder)

    assert found == asked(Snapshots.of([build([*SUBSCRIPTIONS, *more], "scan")]), MESSAGES)
    name = f"index.{PREFIX}rows"
    for spoil in (put(-1, 10**6), put(0, -1), put(0, 9), put(3, 1)):
        array = saved.array(name)
        kept = array.copy()
        spoil(array)
        saved.put(name, array)
        with pytest.raises(SegmentError):
            open_segment(saved.folder)
        saved.put(name, kept)
    assert answers(saved.folder) == found


def put(place: int, value: float) -> Callable[[np.ndarray], None]:
    return lambda array: array.reshape(-1).__setitem__(place, value)


def doubled(array: np.ndarray) -> None:
    array[0] = array[1]


WRONG: dict[str, tuple[str, Callable[[np.ndarray], None]]] = {
    "a field that is none": ("fields", lambda array: array.fill(90)),
    "a field twice": ("fields", lambda array: array.fill(0)),
    "keywords beyond the end": ("operand_starts", put(-1, 10**6)),
    "a keyword beyond the vocabulary": ("operands", lambda array: array.fill(2**40 + 1)),
    "keywords out of order": ("operands", lambda array: array.fill(1)),
    "a place that is none": ("regions.places", lambda array: array.fill(7)),
    "a region of no place": ("regions.owners", put(3, 2)),
    "keywords of a subscription beyond the end": ("regions.token_starts", put(-1, 10**7)),
    "a keyword of a subscription that is none": ("regions.tokens", put(0, 10**5)),
    "a negative keyword": ("regions.tokens", put(-1, -1)),
    "marks of further conditions": ("asks_more", put(0, 2)),
    "keywords that lists are of": ("found.lists.tokens", put(0, 3)),
    "blocks beyond the end": ("found.lists.starts", put(-1, 10**6)),
    "entries beyond the end": ("found.everyone.entry_starts", put(-1, 10**6)),
    "a block that is too long": ("found.everyone.entry_starts", lambda array: array[1:-1].fill(array[-1])),
    "an entry of nobody": ("found.lists.owners", put(5, 10**5)),
    "an entry twice": ("found.lists.owners", doubled),
    "everyone twice": ("found.everyone.owners", doubled),
    "a rarest keyword that is none": ("found.everyone.packed", put(0, 2**63)),
}


@pytest.mark.parametrize("what", WRONG)
def test_numbers_that_lead_elsewhere_are_refused(what: str, tmp_path: Path) -> None:
    name, spoil = WRONG[what]
    saved = Saved(tmp_path / "s")
    array = saved.array(f"index.{PREFIX}{name}")
    spoil(array)
    saved.put(f"index.{PREFIX}{name}", array)

    with pytest.raises(SegmentError):
        open_segment(saved.folder)
