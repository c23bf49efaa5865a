"""`tocsin fences` on a stream that is stopped: the changes that were written, and the state of just these events."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.waiting import HANG_S, awaited
from tocsin.cli.main import main
from tocsin.cli.periodic import Saving
from tocsin.cli.stopping import Stop, stopping

FENCES = [sys.executable, "-m", "tocsin", "fences", "s.jsonl", "-", "--key", "v"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text('{"id": "zone", "where": "x > 5"}\n')
    return tmp_path


class Stream:
    """A process that follows what is sent to it."""

    def __init__(self, *options: str) -> None:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*FENCES, *options], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def send(self, **event: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(event) + "\n")
        self.process.stdin.flush()

    def change(self) -> str:
        assert self.process.stdout is not None
        return str(json.loads(self.process.stdout.readline())["change"])

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=HANG_S)
        return self.process.returncode, out, err


def inside() -> dict[Any, Any]:
    engine = tocsin.Engine()
    engine.subscribe("zone", "x > 5")
    return dict(tocsin.Fences.load("f.jsonl", engine).objects())


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_stream_saves_its_state(number: signal.Signals, status: int) -> None:
    """While it waits for an event; the next call goes on from there."""
    stream = Stream("--state", "f.jsonl")
    for name in ("a", "b"):
        stream.send(v=name, x=9)
        assert stream.change() == "enter"

    ended, out, err = stream.end(number)

    assert (ended, out) == (status, "")
    assert err.splitlines()[-1] == "stopped; 2 changes written, state saved in f.jsonl"
    assert "2 changes of 2 events" in err and "interrupted" not in err
    assert inside() == {"a": ["zone"], "b": ["zone"]}
    again = Stream("--state", "f.jsonl")
    again.send(v="a", x=1)
    assert again.change() == "exit"
    assert again.end(number)[0] == status


def test_a_stopped_stream_completes_its_output() -> None:
    """Also without a state."""
    stream = Stream("--out", "c.csv")
    for name in range(300):
        stream.send(v=name, x=9)
    while not list(Path().glob("c.csv.*")):
        time.sleep(0.01)

    ended, _, err = stream.end(signal.SIGINT)

    written = len(Path("c.csv").read_text().splitlines()) - 1 if Path("c.csv").read_text() else 0
    assert ended == 130
    assert err.splitlines()[-1] == f"stopped; {written} change{'s' * (written != 1)} written"


def test_the_state_is_saved_while_the_stream_is_silent() -> None:
    """What is killed leaves the state of a moment before."""
    stream = Stream("--state", "f.jsonl", "--save-every", "50ms")
    stream.send(v="a", x=9)
    assert stream.change() == "enter"
    awaited(Path("f.jsonl").exists)

    assert stream.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert inside() == {"a": ["zone"]}


def test_an_event_is_never_half_saved() -> None:
    """The state is not saved between an event's change of it and the output of that."""
    saved: list[str] = []

    def save() -> None:
        saved.append("in an event" if is_within else "between events")

    is_within = False
    saving = Saving(save, 0.001)
    with saving.running():
        for _ in range(10):
            with saving.batch():
                is_within = True
                time.sleep(0.005)
                is_within = False
            time.sleep(0.005)

    assert set(saved) == {"between events"} and len(saved) <= 10


def test_a_state_that_cannot_be_saved_is_a_warning(capsys: Any) -> None:
    """The stream goes on, and the state is saved later."""
    engine = tocsin.Engine()
    engine.subscribe("zone", "x > 5")
    path = Path("later/f.jsonl")
    saving = Saving(lambda: tocsin.Fences(engine, key="v").save(path), 0.01)
    with saving.running():
        with saving.batch():
            pass
        time.sleep(0.05)
        path.parent.mkdir()
        while not path.exists():
            time.sleep(0.01)

    assert "warning: cannot write later/f.jsonl: No such file" in capsys.readouterr().err


def test_a_signal_does_not_interrupt_an_event() -> None:
    """The event is processed, and is the last one; a second signal interrupts."""
    with stopping() as stop:
        seen = []
        for line in stop.until_asked([b"1", b"2", b"3"]):
            seen.append(line)
            if line == b"2":
                signal.raise_signal(signal.SIGTERM)
        assert seen == [b"1", b"2"] and stop and stop.status == 143
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_signal_ends_a_wait() -> None:
    """Nothing needs to arrive."""

    def lines() -> Iterator[bytes]:
        yield b"1"
        signal.raise_signal(signal.SIGINT)
        raise AssertionError

    with stopping() as stop:
        assert list(stop.until_asked(lines())) == [b"1"]
    assert stop.status == 130


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopping() as stop:
            signal.raise_signal(signal.SIGINT)
            assert not stop
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_of_the_main_thread_nothing_is_set() -> None:
    found: list[Stop] = []

    def run() -> None:
        with stopping() as stop:
            found.append(stop)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not found[0]


def test_a_misspelt_key_is_told_with_the_first_event() -> None:
    """The reason once; no state is saved that has the wrong key."""
    stream = Stream("--key", "V", "--state", "f.jsonl", "--save-every", "10ms")
    assert stream.process.stderr is not None
    for _ in range(3):
        stream.send(v="a", x=9)
    first = [stream.process.stderr.readline() for _ in range(2)]
    assert first[0] == "warning: --key V: no event has V; did you mean v?\n"
    assert first[1] == "event 0: V: it has no value of 'V', which identifies objects\n"
    time.sleep(0.05)

    status, _, err = stream.end(signal.SIGTERM)

    assert status == 143 and "stopped; 0 changes written\n" in err
    assert not Path("f.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--save-every", "5"], "--save-every needs --state"),
        (["--save-every", "0", "--state", "f"], "--save-every: '0' is not a time above 0; write 30s"),
        (["--save-every", "often", "--state", "f"], "--save-every: 'often' is not a time above 0; write 30s"),
    ],
)
def test_odd_times_are_refused(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["fences", "s.jsonl", "-", "--key", "v", *options]) == 2
    assert said in capsys.readouterr().err
