"""The year hour by hour: alerts come and go as they are said to, what rings is right, and a stop is clean."""

from __future__ import annotations

import datetime as dt
import io
import json
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.demo.test_progress import Terminal
from tocsin.cli.main import main
from tocsin.demo import stream
from tocsin.demo.alerts import Alert
from tocsin.demo.checking import differing
from tocsin.demo.replay import Played, Replay
from tocsin.demo.ringing import Rung, Shown
from tocsin.demo.turnover import CLOCK, OF_AN_HOUR, Turnover
from tocsin.errors import InvalidInput

FIRST = dt.datetime(2013, 2, 4)


def alerts(count: int, name: str = "a") -> list[Alert]:
    return [Alert(id=f"{name}{number}", where=f"arr_delay >= {number}", score=1.0) for number in range(count)]


def flight(key: str, hour: int, **more: Any) -> dict[str, Any]:
    return {"id": key, "scheduled": FIRST + dt.timedelta(hours=hour), "dest": "BOS", "month": 2, **more}


def test_alerts_come_and_go_and_nobody_goes_twice() -> None:
    """Each hour has so many changes of each kind, of alerts that are there, with versions that rise."""
    turnover = Turnover(alerts(100), alerts(100, "b"), 7)
    there = {alert["id"] for alert in alerts(100)}
    for hour in range(1, 4):
        *changes, clock = turnover.hour()
        kinds = [change["change"] for change in changes]
        gone = {change["id"] for change in changes if change["change"] == "delete"}
        came = {change["id"] for change in changes if change["change"] == "insert"}

        assert {kind: kinds.count(kind) for kind in set(kinds)} == (
            OF_AN_HOUR if hour < 3 else {**OF_AN_HOUR, "insert": 20}
        )
        assert {change["id"] for change in changes} - came <= there
        assert len({change["id"] for change in changes}) == len(changes)
        there = (there - gone) | came
        assert (len(turnover), clock["score"], clock["version"]) == (len(there), hour, hour)


def test_an_hour_is_put_as_files_that_are_whole(tmp_path: Path) -> None:
    """Its changes, and its flights without what is not known; an hour without flights has changes alone."""
    flown = [flight("one", 0, arr_delay=5.0, dep_time=None), flight("two", 2)]
    replay = Replay(tmp_path, flown, Turnover(alerts(80), [], 7), FIRST)
    replay.run(3, 1e6, threading.Event())

    assert sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*.json")) == [
        "changes/00000.json",
        "changes/00001.json",
        "changes/00002.json",
        "events/00000.json",
        "events/00002.json",
    ]
    assert json.loads((tmp_path / "events/00000.json").read_text()) == {
        "key": "one",
        "dest": "BOS",
        "month": 2,
        "arr_delay": 5.0,
    }
    assert list(replay.played.put_at) == ["one", "two"]


def rung(*rows: tuple[str, str, float]) -> Rung:
    columns = list(zip(*rows, strict=True))
    return Rung([pa.table(dict(zip(("event_id", "subscription", "score"), columns, strict=True)))], len(rows))


def test_another_answer_differs() -> None:
    """A match too many, one too few, another score, an answer that came twice: each is told."""
    change = [{"id": "a1", "change": "rescore", "version": 1, "score": 3.0}]
    played = Played({"x": {"month": 2, "arr_delay": 1.0}, "y": {"month": 2, "arr_delay": 0.0}}, changes=[change])
    right = [("x", "a0", 1.0), ("x", "a1", 3.0), ("x", CLOCK["id"], 1.0), ("y", "a0", 1.0), ("y", CLOCK["id"], 0.0)]
    change.append({"id": CLOCK["id"], "change": "rescore", "version": 1, "score": 1.0})
    there = [*alerts(2), CLOCK]

    assert differing(there, played, rung(*right)) == 0
    for wrong in (right[1:], [*right, ("y", "a1", 1.0)], [("x", "a0", 2.0), *right[1:]], right + right[:3]):
        assert differing(there, played, rung(*wrong)) > 0


def test_a_terminal_gets_a_line_that_moves_and_a_pipe_one_a_day() -> None:
    """What rings most is shown with the best of its alerts, on the terminal alone."""
    rows = rung(("x", "a0", 1.0), ("x", "a1", 3.0), ("y", "a0", 1.0))
    played = Played({"x": {"dest": "BOS", "dep_time": 5, "arr_delay": 61.0}, "y": {"dest": "LAX"}}, hour=FIRST)
    terminal, pipe = Terminal(), io.StringIO()
    for one in (terminal, pipe):
        shown = Shown(one)
        for _ in range(2):
            shown.line(played, rows)
        shown.ring(rows.table(), played)
        shown.end()

    line = "Mon 04 Feb 00h | 3 flights, 0 rings | 0 alerts (+0 -0 ~0)"
    assert pipe.getvalue() == f"{line}\n"
    assert terminal.getvalue() == f"\r\033[K{line}\r\033[K  x-BOS, +61 min: a1 and 1 more\n\r\033[K"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hours": 0}, "hours is 0; it must be at least 1"),
        ({"speed": 0.0}, "speed is 0; it must be above 0"),
        ({"first": "2012-02-01"}, "day is '2012-02-01'; it is one of 2013"),
        ({"first": "soon"}, "day is 'soon'"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: Any, words: str) -> None:
    """Before anything starts, or is removed."""
    with pytest.raises(InvalidInput, match=words):
        stream.run(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.spark
@pytest.mark.slow("a day of flights is streamed on Spark")
def test_a_day_is_streamed_and_right(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command: every flight is answered once, by alerts that changed meanwhile, as one engine answers."""
    options = ["--hours", "9", "--speed", "100", "--subscriptions", "200", "--day", "2013-02-08"]
    assert main(["demo", "stream", "--out", str(tmp_path), *options]) == 0
    told = capsys.readouterr()
    summary = json.loads((tmp_path / "stream" / "stream.json").read_text())

    assert sorted(one.name for one in (tmp_path / "stream").iterdir()) == sorted(stream.PARTS)
    assert (summary["hours"], summary["differ"]) == (9, 0)
    assert summary["answered"] == summary["flights"] > 0
    assert (summary["came"], summary["went"], summary["changed"]) == (9 * 40, 9 * 30, 9 * 30)
    assert "one engine, in the same order: the same" in told.out
    assert "Fri 08 Feb" in told.err


@pytest.mark.spark
@pytest.mark.slow("a day of flights is streamed on Spark")
def test_a_stop_sums_up_what_rang(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked to end in the midst of it, it does, and what was answered until then is right."""
    stop = threading.Event()

    @contextmanager
    def stopping() -> Any:
        yield stop

    take = stream.Ringing._take

    def taken(self: Any, folder: Path) -> None:
        take(self, folder)
        stop.set()

    monkeypatch.setattr(stream.Ringing, "_take", taken)
    options = {"first": "2013-02-08", "hours": 1000, "speed": 4.0, "subscriptions": 100}
    summary = stream.run(tmp_path, stopping=stopping, progress=False, **options)

    assert 0 < summary.answered <= summary.flights
    assert summary.hours < 1000
    assert summary.differ == 0
