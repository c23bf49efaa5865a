"""`tocsin monitor`: the changes of files and streams, of events and of time, with a state that goes on."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.waiting import HANG_S
from tocsin.cli.main import main
from tocsin.cli.periodic import Periodic
from tocsin.cli.stopping import stopping

RULES = """{"id": "guessing", "where": "COUNT(ok = FALSE, 'PT10M') >= 2", "payload": {"to": "me"}}
{"id": "silent", "where": "SINCE(TRUE) >= 600"}
"""
LOGINS = [
    {"user": "ann", "ts": 0, "ok": False},
    {"user": "bob", "ts": 30, "ok": False},
    {"user": "ann", "ts": 60, "ok": False},
    {"user": "ann", "ts": 50, "ok": False},
]
KEYS = ["--key", "user", "--time", "ts"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_text(RULES)
    Path("e.jsonl").write_text("".join(json.dumps(one) + "\n" for one in LOGINS))


def changes(path: str = "c.jsonl") -> list[tuple[Any, ...]]:
    return [tuple(json.loads(line).values()) for line in Path(path).read_text().splitlines()]


def run(*options: str, events: str = "e.jsonl") -> int:
    return main(["monitor", "r.jsonl", events, *options, "--out", "c.jsonl"])


ENTERED = (2, "ann", "guessing", "enter", 0.0, "1970-01-01T00:01:00Z")
BY_TIME = [
    (None, "ann", "guessing", "exit", 540.000001, "1970-01-01T00:10:00.000001Z"),
    (None, "bob", "silent", "enter", 0.0, "1970-01-01T00:10:30Z"),
    (None, "ann", "silent", "enter", 0.0, "1970-01-01T00:11:00Z"),
]


def test_events_and_time_make_changes(capsys: Any) -> None:
    """Each is a record; the summary and the warnings go to standard error."""
    assert run(*KEYS, "--until", "1970-01-01T00:10:59Z") == 0
    assert changes() == [ENTERED, *BY_TIME[:2]]
    told = [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line]
    assert told[0] == "3 changes of 4 events and 2 subscriptions, 0 rejected; 2 objects known"
    assert told[1] == "warning: --time ts: 1 event (row 3) ignored: older than what was processed of the same object"
    assert run(*KEYS, "--until", "now") == run(*KEYS, "--until", "700", "--payload") == 0
    assert changes() == [(*one, '{"to": "me"}' if one[2] == "guessing" else None) for one in (ENTERED, *BY_TIME)]


def test_a_state_goes_on_with_its_options(capsys: Any) -> None:
    """What one call knew the next one knows; an option that differs is refused, and nothing is written."""
    state = ["--state", "s"]
    assert run(*KEYS, "--lateness", "1min", "--inside", *state) == 0
    assert changes() == []
    Path("more.jsonl").write_text('{"user": "ann", "ts": 200, "ok": true}\n')
    assert run(*state, events="more.jsonl") == run(*state, "--lateness", "60", events="more.jsonl") == 0
    capsys.readouterr()
    for option, said in (
        (["--key", "u,v"], "with --key user, not u,v"),
        (["--lateness", "61"], "with --lateness 60, not 61"),
        (["--matches"], "without --matches"),
    ):
        assert main(["monitor", "r.jsonl", "e.jsonl", *state, *option, "--out", "no.jsonl"]) == 2
        assert f"s was written {said}; leave the option out, or name another file" in capsys.readouterr().err
    assert not Path("no.jsonl").exists()


def test_a_file_of_two_parts_is_one_stream() -> None:
    """With a state between them, and events that are held back."""
    found = []
    for part in (LOGINS[:1], LOGINS[1:3], LOGINS[3:]):
        Path("part.jsonl").write_text("".join(json.dumps(one) + "\n" for one in part))
        assert run(*KEYS, "--lateness", "20", "--state", "s", events="part.jsonl") == 0
        found += changes()
    Path("none.jsonl").touch()
    assert run("--state", "s", "--until", "720", events="none.jsonl") == 0

    entered = (None, "ann", "guessing", "enter", 0.0, "1970-01-01T00:00:50Z")
    left = (None, "ann", "guessing", "exit", 600.000001, "1970-01-01T00:10:50.000001Z")
    assert [one for one in found + changes() if one[2] == "guessing"] == [entered, left]


def test_several_attributes_are_a_key() -> None:
    """In one option or several; the object is a JSON list, also in CSV."""
    Path("e.csv").write_text("host,user,ts,ok\nh,u,0,false\nh,v,1,false\nh,u,2,false\n")
    for keys in (["--key", "host,user"], ["--key", "host", "--key", "user"]):
        assert main(["monitor", "r.jsonl", "e.csv", *keys, "--time", "ts", "--out", "c.csv"]) == 0
        assert Path("c.csv").read_text().splitlines()[1].startswith('2,"[""h"", ""u""]","guessing","enter"')


def test_a_misspelt_key_is_told(capsys: Any) -> None:
    assert run("--key", "user,User", "--time", "ts", "--state", "s") == 2
    told = capsys.readouterr().err
    assert "warning: --key User: no event has User; did you mean user?" in told
    assert "no event could be read" in told and not Path("s").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--key is missing; it names the attribute that identifies objects"),
        (["--key", "a,a"], "--key names an attribute twice"),
        (["--key", "a,"], "it names an attribute of the events, or several"),
        ([*KEYS, "--until", "soon"], "--until: 'soon' is not an instant; write 2024-05-31T08:15:00Z, a number, or now"),
        ([*KEYS, "--tick", "1s"], "--tick needs a stream: JSON lines from standard input, -"),
        (["--key", "user", "--lateness", "5s"], "--lateness 5.0 needs --time; arrivals are never late"),
        ([*KEYS, "--save-every", "5s"], "--save-every needs --state"),
    ],
)
def test_odd_options_are_refused(options: list[str], said: str, capsys: Any) -> None:
    """With exit status 2 and one line."""
    assert run(*options) == 2
    assert said in capsys.readouterr().err and not Path("c.jsonl").exists()


@pytest.mark.parametrize("tick", ["0", "often"])
def test_odd_ticks_are_refused(tick: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run(*KEYS, "--tick", tick, events="-") == 2
    assert f"--tick: '{tick}' is not a time above 0; write 1s" in capsys.readouterr().err


def test_time_passes_while_a_stream_is_silent() -> None:
    """What becomes TRUE by time alone is written when it does; a stop saves the state, and the next call goes on."""
    Path("r.jsonl").write_text('{"id": "silent", "where": "SINCE(TRUE) >= 0.05"}\n')
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tocsin", "monitor", "r.jsonl", "-", "--key", "user", "--state", "s"]
    stream = subprocess.Popen([*command, "--tick", "20ms"], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert stream.stdin is not None and stream.stdout is not None
    stream.stdin.write('{"user": "ann"}\n')
    stream.stdin.flush()
    assert json.loads(stream.stdout.readline())["change"] == "enter"

    stream.send_signal(signal.SIGTERM)
    out, err = stream.communicate(timeout=HANG_S)

    assert (stream.returncode, out) == (143, "")
    assert err.splitlines()[-1] == "stopped; 1 change written, state saved in s"
    engine = tocsin.Engine()
    engine.subscribe("silent", "SINCE(TRUE) >= 0.05")
    monitor = tocsin.Monitor.load("s", engine)
    assert monitor.inside("ann") == ["silent"]
    assert [one.change for one in monitor.push({"user": "ann"})] == []
    assert [one.change for one in monitor.advance("2100-01-01T00:00:00Z")] == ["exit", "enter"]


def test_an_error_of_a_regular_call_ends_a_wait() -> None:
    """The main thread, which waits for a line, is interrupted, and raises the error."""

    def lines() -> Iterator[bytes]:
        time.sleep(HANG_S)
        yield b""

    def fail() -> None:
        raise BrokenPipeError

    with stopping() as stop, pytest.raises(BrokenPipeError), Periodic(fail, 0.01).running():
        assert list(stop.until_asked(lines())) == []
