"""A dry run: what a monitor would have reported of a condition, before anybody is woken."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import tocsin
from tocsin.errors import InvalidInput, RecordError

FAILED = "COUNT(ok = FALSE, 'PT10M') >= 3"


def logins() -> list[dict[str, object]]:
    """Failed logins: of ann twice five in a row, of bob four, in minutes."""
    minutes = {"ann": [*range(5), *range(100, 105)], "bob": range(2, 6)}
    found = [{"user": user, "ts": 60 * n, "ok": False} for user, own in minutes.items() for n in own]
    return sorted(found, key=lambda one: one["ts"])


def test_a_dry_run_tells_what_a_monitor_with_this_subscription_tells():
    """With the options of the monitor, and events that are held back."""
    options = {"key": "user", "time": "ts", "enter_after": 2, "lateness": "2 min"}
    monitor = tocsin.Monitor(tocsin.Engine(), **options)
    run = monitor.dry_run(FAILED, logins())

    engine = tocsin.Engine()
    engine.subscribe("condition", FAILED)
    real = tocsin.Monitor(engine, **options)
    changes = [tuple(row.values())[1:] for row in real.push_batch(logins())]
    changes += [(*one, one.time) for one in real.advance(104 * 60 + 120)]
    assert [(*one, one.time) for one in run.changes] == changes
    assert (run.fired, run.by_object, run.inside) == (3, {"ann": 2, "bob": 1}, ["ann"])
    assert (run.events, run.until) == (14, datetime(1970, 1, 1, 1, 44, tzinfo=UTC))
    assert len(monitor) == 0


def test_its_summary():
    monitor = tocsin.Monitor(tocsin.Engine(), key="user", time="ts")

    assert str(monitor.dry_run(FAILED, logins())).splitlines() == [
        "would have fired 3 times for 2 objects in 14 events, 1 object inside at the end",
        "  'ann': 2 times, first at 1970-01-01T00:02:00Z, inside for 10 min",
        "  'bob': 1 time, first at 1970-01-01T00:04:00Z, inside for 9 min",
    ]
    assert str(monitor.dry_run("ok = TRUE", logins())) == "would not have fired in 14 events"
    assert "14 events" in monitor.dry_run("ok = TRUE", logins())._repr_html_()


def test_time_passes_until_the_latest_event_of_all_or_longer():
    """So that the silence of one object is found while others speak."""
    monitor = tocsin.Monitor(tocsin.Engine(), key="user")
    silent = "SINCE(TRUE) >= DURATION('PT1H')"

    assert monitor.dry_run(silent, logins(), time="ts").by_object == {"ann": 1, "bob": 1}
    assert monitor.dry_run(silent, logins(), time="ts", until="1970-01-02").by_object == {"ann": 2, "bob": 1}
    with pytest.raises(InvalidInput, match="give time="):
        monitor.dry_run(silent, logins())
    with pytest.raises(InvalidInput, match="the instant is 'soon'"):
        monitor.dry_run(silent, logins(), time="ts", until="soon")


def test_matches_keys_and_odd_events():
    monitor = tocsin.Monitor(tocsin.Engine(), key="user", time="ts", matches=True)
    events = [{"user": 1, "host": "a", "ts": 0, "ok": False}, {"ts": 1}, {"user": 1, "host": "a", "ts": 2, "ok": False}]
    run = monitor.dry_run({"ok": [False]}, events, language="eventbridge")
    assert (run.fired, run.by_object, [one.row for one in run.errors]) == (2, {1: 2}, [1])

    run = monitor.dry_run("COUNT(okay = FALSE, 'PT1M') > 1", events, by="host")
    assert (run.fired, [one.attribute for one in run.warnings]) == (0, ["okay"])
    with pytest.raises(RecordError):
        monitor.dry_run("COUNT(", events)
    assert monitor.dry_run("a = 1", []).until is None
