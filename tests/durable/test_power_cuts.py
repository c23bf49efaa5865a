"""A power cut before any write or sync of the database leaves every acknowledged change.

The file system under SQLite drops what was not synced. Files appear and disappear at once, in the order of the calls;
the index, whose files have checksums, is not cut.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.durable.killing import first_loss
from tests.durable.test_crashes import ENGINE

CHANGES: Final = [
    ("put", 1, 1),
    ("put all", 3, 2),
    ("remove", 2, 0),
    ("rescore", 1, 3),
    ("put", 0, 0),
    ("remove", 0, 0),
]


def lost(folder: Path, sync: str, *, cut: bool) -> str | None:
    return first_loss(ENGINE, folder, CHANGES, sync, lambda change: change[0] == "remove", cut=cut)


def test_after_a_power_cut_every_acknowledged_change_is_there(tmp_path: Path) -> None:
    assert lost(tmp_path, "FULL", cut=True) is None


def test_without_syncs_a_power_cut_loses_changes(tmp_path: Path) -> None:
    """So that the test above can fail."""
    assert lost(tmp_path, "OFF", cut=True) is not None


def test_after_a_kill_every_acknowledged_change_is_there_even_without_syncs(tmp_path: Path) -> None:
    assert lost(tmp_path, "OFF", cut=False) is None
