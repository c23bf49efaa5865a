"""What the release before wrote is opened by this one, and answers as if it had been written today."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import tocsin
from tests.saved.kept import ASKED, EVENTS, FOLDER, LATER_REFUSED, MEANT, MESSAGES, TEXTS, records, window
from tocsin.language.strings import FOLDING


def anew() -> tocsin.Engine:
    engine = tocsin.Engine(index="scan")
    engine.subscribe_many(
        [{**one, "where": MEANT if one["where"] == LATER_REFUSED else one["where"]} for one in records()], strict=True
    )
    return engine


def test_an_engine_answers_as_one_of_today() -> None:
    with pytest.warns(UserWarning, match=f"3 of {len(TEXTS) + 1} subscriptions fold text as an older tocsin did"):
        kept = tocsin.Engine.load(FOLDER / "engine")
    new = anew()
    found = [kept.match(event, payload=True) for event in EVENTS]
    assert found == [new.match(event, payload=True) for event in EVENTS]
    assert {match.subscription for one in found for match in one} == set(range(len(TEXTS) + 1))
    assert kept.match_batch(EVENTS).table == new.match_batch(EVENTS).table


def test_what_is_saved_again_is_of_today(tmp_path: Path) -> None:
    """The old folder is compiled once more at most; deletions and scores since go with it."""
    with pytest.warns(UserWarning, match="compile the index again"):
        kept = tocsin.Engine.load(FOLDER / "engine")
    kept.unsubscribe(0)
    kept.rescore(15, 7.0)
    kept.save(tmp_path / "again")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = tocsin.Engine.load(tmp_path / "again")
    assert again.match(EVENTS[3]) == kept.match(EVENTS[3])
    assert 0 not in [one.subscription for one in again.match(EVENTS[0])]
    text = next((tmp_path / "again").rglob("part-*/manifest.json")).read_text()
    assert FOLDING in text


def test_a_window_goes_on_as_one_of_today() -> None:
    kept, new = tocsin.Window.load(FOLDER / "window"), window()
    assert [kept.results(one["id"]) for one in ASKED] == [new.results(one["id"]) for one in ASKED]
    assert kept.push_batch(MESSAGES[40:]).table.to_pylist() == new.push_batch(MESSAGES[40:]).table.to_pylist()
    assert kept.results_table().to_pylist() == new.results_table().to_pylist()
