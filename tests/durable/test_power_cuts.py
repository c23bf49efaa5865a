"""A power cut before any write or sync of the database leaves every acknowledged change.

The file system under SQLite drops what was not synced. Files appear and disappear at once, in the order of the calls;
the index, whose files have checksums, is not cut.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any, Final

import tocsin
from tests.durable import vfs
from tests.durable.test_crashes import FORK, KILLED, after, held_in, made
from tocsin.store import connections

CHANGES: Final = [
    ("put", 1, 1),
    ("put all", 3, 2),
    ("remove", 2, 0),
    ("rescore", 1, 3),
    ("put", 0, 0),
    ("remove", 0, 0),
]


def living(folder: Path, step: int, acknowledged: Any, has_happened: Any, sync: str) -> None:
    """In a child: make changes through a file system that dies before a step."""
    steps = vfs.Steps(step, has_happened, KILLED)
    mortal = vfs.Mortal("mortal", steps)
    connections.connect = vfs.connect(mortal.name)
    engine = tocsin.Engine.open(folder)
    if sync != "FULL":
        engine._database._connection.execute(f"PRAGMA synchronous = {sync}")
    for change in CHANGES:
        made(engine, change)
        acknowledged.value += 1
        if change[0] == "remove":
            engine._database.fold_log()
    os._exit(0)


def first_loss(folder: Path, sync: str, *, cut: bool) -> str | None:
    """The first step after which a state is left that is neither all that was acknowledged nor that and one more."""
    states = list(itertools.accumulate(CHANGES, after, initial={}))
    has_happened, step = FORK.Value("b", True), -1
    while has_happened.value:
        step += 1
        place = folder / str(step)
        with tocsin.Engine.open(place):
            pass  # `test_crashes` is about the making of a store
        for one in place.glob("store.db*"):
            (place / (one.name + vfs.SYNCED)).write_bytes(one.read_bytes())
        acknowledged, has_happened = FORK.Value("i", 0), FORK.Value("b", False)
        child = FORK.Process(target=living, args=(place, step, acknowledged, has_happened, sync))
        child.start()
        child.join(60)
        assert child.exitcode == (KILLED if has_happened.value else 0)
        if cut:
            vfs.cut_power(place)
        done = acknowledged.value
        if what_is_left(place) not in states[done : done + 2]:
            return f"before step {step}, {done} changes acknowledged"
    assert step > 20
    return None


def what_is_left(folder: Path) -> Any:
    try:
        with tocsin.Engine.open(folder) as engine:
            return held_in(engine)
    except tocsin.StoreError as error:
        return str(error)


def test_after_a_power_cut_every_acknowledged_change_is_there(tmp_path: Path) -> None:
    assert first_loss(tmp_path, "FULL", cut=True) is None


def test_without_syncs_a_power_cut_loses_changes(tmp_path: Path) -> None:
    """So that the test above can fail."""
    assert first_loss(tmp_path, "OFF", cut=True) is not None


def test_after_a_kill_every_acknowledged_change_is_there_even_without_syncs(tmp_path: Path) -> None:
    assert first_loss(tmp_path, "OFF", cut=False) is None
