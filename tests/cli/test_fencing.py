"""`tocsin fences` tells what moving objects enter and leave, from files and from standard input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tocsin.cli.main import main

EVENTS = [
    {"v": "a", "t": 0, "loc": [1, 1]},
    {"v": "a", "t": 5, "note": "no place"},
    {"v": 7, "t": 6, "loc": [2, 2]},
    {"t": 7, "loc": [2, 2]},
    {"v": "a", "t": 10, "loc": [20, 1]},
]
LINES = "".join(json.dumps(one) + "\n" for one in EVENTS)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    subscription = {"id": "zone", "where": "S_INTERSECTS(loc, BBOX(0, 0, 9, 9))", "payload": {"to": "me"}}
    Path("s.jsonl").write_text(json.dumps(subscription) + "\n")
    Path("e.jsonl").write_text(LINES)


def changes(path: str) -> list[tuple[Any, ...]]:
    return [tuple(json.loads(line).values()) for line in Path(path).read_text().splitlines()]


EXPECTED = [
    (0, "a", "zone", "enter", 0.0, "0"),
    (2, "7", "zone", "enter", 0.0, "6"),
    (4, "a", "zone", "exit", 10.0, "10"),
]


def test_changes_are_written(capsys: Any) -> None:
    """One record a change; an event without a key is a reject, one without a place is told."""
    assert main(["fences", "s.jsonl", "e.jsonl", "--key", "v", "--time", "t", "--out", "c.jsonl"]) == 1

    assert changes("c.jsonl") == EXPECTED
    told = capsys.readouterr().err
    assert "event 3: v: it has no value of 'v'" in told
    assert "3 changes of 5 events and 1 subscription, 1 rejected; 1 object inside" in told
    assert "warning: events: 1 event (row 1) did not say whether the object" in told


def test_standard_input_is_answered_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same changes, with the numbers of the lines."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))

    assert main(["fences", "s.jsonl", "-", "--key", "v", "--time", "t", "--out", "c.jsonl"]) == 1
    assert changes("c.jsonl") == EXPECTED


def test_changes_have_a_time_and_a_key() -> None:
    """As texts, in one form for instants."""
    Path("t.csv").write_text("v,t,x,row\na,2024-06-01T12:00:00Z,9,r0\na,2024-06-01T14:00:00.25+02:00,1,r1\n")
    Path("fast.jsonl").write_text('{"id": "fast", "where": "x > 5"}\n')
    options = ["--key", "v", "--time", "t", "--event-key", "row"]
    assert main(["fences", "fast.jsonl", "t.csv", *options, "--out", "c.jsonl"]) == 0
    assert changes("c.jsonl") == [
        (0, "r0", "a", "fast", "enter", 0.0, "2024-06-01T12:00:00Z"),
        (1, "r1", "a", "fast", "exit", 0.25, "2024-06-01T12:00:00.250000Z"),
    ]


def test_no_event_that_can_be_read_is_an_error(capsys: Any) -> None:
    """Status 2, the likely reason first, and equal reasons once; no state is left with the wrong key."""
    options = ["--key", "V", "--state", "f.jsonl", "--out", "c.jsonl"]
    assert main(["fences", "s.jsonl", "e.jsonl", *options]) == 2

    assert capsys.readouterr().err.splitlines() == [
        "warning: --key V: no event has V; did you mean v?",
        "event 0: V: it has no value of 'V', which identifies objects",
        "... and 4 more events: V: it has no value of 'V', which identifies objects",
        "tocsin fences: no event could be read",
    ]
    assert not Path("f.jsonl").exists()
    assert main(["fences", "s.jsonl", "e.jsonl", *options, "--errors", "r.jsonl"]) == 2
    assert len(Path("r.jsonl").read_text().splitlines()) == 5
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "tocsin fences: no event could be read; event 0: V: it has no value of 'V', which identifies objects"


def test_times_are_seconds_or_spans() -> None:
    """`--dwell 8` and `--dwell 8s` are one."""
    Path("long.jsonl").write_text(LINES.splitlines()[0] + '\n{"v": "a", "t": 8, "loc": [2, 2]}\n')
    for text in ("8", "8s"):
        options = ["--key", "v", "--time", "t", "--dwell", text, "--forget-after", "1h"]
        assert main(["fences", "s.jsonl", "long.jsonl", *options, "--out", "c.jsonl"]) == 0
        assert [change[3] for change in changes("c.jsonl")] == ["enter", "dwell"]


def test_a_state_goes_on(capsys: Any) -> None:
    """What one call knew the next one knows, from a compiled index, too; payloads and rules are options."""
    Path("first.jsonl").write_text("".join(LINES.splitlines(keepends=True)[:3]))
    Path("second.jsonl").write_text("".join(LINES.splitlines(keepends=True)[4:]))
    options = ["--key", "v", "--time", "t", "--state", "f.jsonl"]
    assert main(["compile", "s.jsonl", "index"]) == 0

    assert main(["fences", "index", "first.jsonl", *options, "--out", "1.jsonl"]) == 0
    assert main(["fences", "s.jsonl", "second.jsonl", *options, "--out", "2.jsonl", "--payload"]) == 0

    assert changes("1.jsonl") == EXPECTED[:2]
    assert changes("2.jsonl") == [(0, "a", "zone", "exit", 10.0, "10", '{"to": "me"}')]


def test_options_of_a_state_may_be_left_out(capsys: Any) -> None:
    """They count; the same value in other words is the same."""
    whole = ["--key", "v", "--time", "t", "--dwell", "300", "--exit-after", "5 min", "--no-place", "0:0", "--inside"]
    assert main(["fences", "s.jsonl", "e.jsonl", *whole, "--state", "f.jsonl", "--out", "c.jsonl"]) == 1
    for options in ([], whole, ["--dwell", "5min", "--exit-after", "300s", "--no-place", "0:0.0"]):
        assert main(["fences", "s.jsonl", "e.jsonl", *options, "--state", "f.jsonl", "--out", "c.jsonl"]) == 1
    capsys.readouterr()

    assert main(["fences", "s.jsonl", "e.jsonl", "--state", "new.jsonl"]) == 2
    assert "--key is missing; it names the attribute that identifies objects" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dwell", "60"], "with --dwell 600, not 60"),
        (["--dwell", "1min"], "with --dwell 600, not 1min"),
        (["--key", "V"], "with --key v, not V"),
        (["--time-unit", "ms"], "with --time-unit s, not ms"),
        (["--path", "loc"], "without --path"),
        (["--inside"], "without --inside"),
        (["--exit-after", "2"], "with --exit-after 2s, not 2"),
        (["--no-place", "0:0.5"], "with --no-place 181:91, not 0:0.5"),
    ],
)
def test_options_that_differ_from_the_state_are_refused(options: list[str], said: str, capsys: Any) -> None:
    """With exit status 2; the state and the output stay as they were."""
    more = ["--key", "v", "--time", "t", "--dwell", "600", "--exit-after", "2s"]
    assert main(["fences", "s.jsonl", "e.jsonl", *more, "--state", "f.jsonl", "--out", "c.jsonl"]) == 1
    before = Path("f.jsonl").read_text()
    capsys.readouterr()

    assert main(["fences", "s.jsonl", "e.jsonl", *options, "--state", "f.jsonl", "--out", "2.jsonl"]) == 2

    told = f"f.jsonl was written {said}; leave the option out, or name another file"
    assert told in capsys.readouterr().err
    assert Path("f.jsonl").read_text() == before and not Path("2.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--exit-after", "soon"],
            "--exit-after is 'soon'; it counts events, from 1 on, or is a time such as '30 s' (ms, s, min, h, d).",
        ),
        (["--no-place", "here"], "--no-place: 'here' is not X:Y; write 0:0"),
        (["--order", "time"], "--order time needs --time, the attribute with the time of an event"),
        (["--dwell", "5"], "--dwell 5.0 needs --time, the attribute with the time of an event"),
        (["--enter-after", "5s"], "--enter-after 5s needs --time, the"),
        (["--forget-after", "5s"], "--forget-after 5.0 needs --time, the"),
        (["--time", "t", "--time-unit", "h"], "--time-unit is 'h'; it is one of s, ms, us, ns"),
        (["--path", "v"], "--path and --key are both 'v'; --path names the attribute with the object's place"),
        (["--key", ""], "--key is ''; it names an attribute of the events"),
        (["--dwell", "5 parsecs", "--time", "t"], "--dwell is '5 parsecs'; it is a number of seconds, from 0 on, or"),
        (["--forget-after", "soon", "--time", "t"], "--forget-after is 'soon'; it is a number of seconds"),
    ],
)
def test_odd_options_are_refused(options: list[str], said: str, capsys: Any) -> None:
    """With exit status 2 and one line."""
    assert main(["fences", "s.jsonl", "e.jsonl", "--key", "v", *options, "--out", "c.jsonl"]) == 2
    assert said in capsys.readouterr().err and not Path("c.jsonl").exists()


def test_a_format_is_said_and_subscriptions_are_advised(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """CSV on standard input; a field that is ignored, and what probably was meant otherwise, are told but for
    `--no-warnings`."""
    Path("odd.jsonl").write_text('{"id": 1, "where": "speed > 5 AND name LIKE \'a*\'", "note": "x"}\n')
    options = ["--key", "v", "--format", "csv", "--out", "c.csv"]
    for more in ([], ["--no-warnings"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"v,speed,name\n1,9,a*\n1,2,a*\n")))
        assert main(["fences", "odd.jsonl", "-", *options, *more]) == 0
        told = capsys.readouterr().err
        assert ("note" in told, "LIKE" in told) == ((False, False) if more else (True, True)), told

    rows = [line.replace('"', "") for line in Path("c.csv").read_text().splitlines()]
    assert rows == ["event,object,subscription,change,seconds", "0,1,1,enter,", "1,1,1,exit,"]
