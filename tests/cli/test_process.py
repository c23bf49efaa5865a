"""The command in a shell: pipes, signals, and that nothing but matches goes to standard output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import fork_server
from tests.waiting import HANG_S, awaited


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_text('{"id": "a", "where": "n = 1"}\n{"id": "b", "where": "n >= 1"}\n')
    (tmp_path / "e.jsonl").write_text('{"n": 1}\n{"n": 2}\nbad\n')
    (tmp_path / "many.jsonl").write_text('{"n": 1}\n' * 200_000)
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", fork_server.shell(command)],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def test_a_pipe_in_and_out(folder: Path) -> None:
    """Events from standard input, matches to standard output, everything else to standard error."""
    done = shell("cat e.jsonl | tocsin match s.jsonl -", folder)

    assert done.returncode == 1
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"event": 0, "subscription": "a"},
        {"event": 0, "subscription": "b"},
        {"event": 1, "subscription": "b"},
    ]
    assert "event 2: line 3" in done.stderr


def test_a_stream_is_answered_as_it_comes(folder: Path) -> None:
    """Each line before the next one is written, and then many at once; input ends long after."""
    command = [*fork_server.python(), "-m", "tocsin", "match", "s.jsonl", "-"]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for row in range(3):
        process.stdin.write('{"n": 5}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"event": row, "subscription": "b"}
    process.stdin.write('{"n": 5}\n' * 5000)
    process.stdin.flush()
    rows = [json.loads(process.stdout.readline())["event"] for _ in range(5000)]

    assert rows == list(range(3, 5003))
    assert process.communicate()[0] == ""
    assert process.returncode == 0


def test_subscriptions_from_a_pipe(folder: Path) -> None:
    """`-` may stand for the subscriptions instead."""
    done = shell("cat s.jsonl | tocsin match - e.jsonl --errors errors.jsonl && false || cat errors.jsonl", folder)

    assert done.stdout.count('"subscription": "') == 3
    assert '"record": "event"' in done.stdout


def test_commands_in_a_row(folder: Path) -> None:
    """What one `match` writes another one reads."""
    (folder / "again.jsonl").write_text('{"id": "both", "where": "subscription = \'b\' AND event = 1"}\n')

    done = shell("head -2 e.jsonl | tocsin match s.jsonl - | tocsin match again.jsonl -", folder)

    assert done.returncode == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"event": 2, "subscription": "both"}]


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    """`| head -1` gets its line, and the command ends quietly with status 0."""
    done = shell("tocsin match s.jsonl many.jsonl | head -1; echo ${PIPESTATUS[0]}", folder)

    assert done.stdout.splitlines() == ['{"event": 0, "subscription": "a"}', "0"]
    assert done.stderr == ""


def test_no_bar_in_a_pipe(folder: Path) -> None:
    """Standard error of a long run that is no terminal holds the summary alone."""
    done = shell("tocsin match s.jsonl many.jsonl --out out.parquet", folder)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("\n") == 1
    assert "400,000 matches of 200,000 events" in done.stderr
    assert "\r" not in done.stderr


def test_a_full_disk_is_one_clear_line(folder: Path) -> None:
    """When standard output cannot be written the status is 2, without a traceback."""
    done = shell("tocsin match s.jsonl many.jsonl > /dev/full", folder)

    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


STOPS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.parametrize(("number", "status"), STOPS)
@pytest.mark.parametrize("out", [[], ["--out", "out.jsonl", "--errors", "errors.jsonl"]])
def test_a_stream_that_is_stopped_completes_its_output(folder: Path, number: int, status: int, out: list[str]) -> None:
    """All events before the stop are answered and counted; warnings come, too; the exit status says why it ended."""
    (folder / "s.jsonl").write_text('{"id": "b", "where": "n >= 1"}\n{"id": "c", "where": "m = 1"}\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "tocsin", "match", "s.jsonl", "-", *out],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=(folder / "std.jsonl").open("w"),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write('{"n": 1}\n' * 40_000 + "bad\n")
    process.stdin.flush()
    written = "out.jsonl.*.part" if out else "std.jsonl"
    awaited(lambda: any(path.read_bytes().count(b"\n") == 40_000 for path in folder.glob(written)))
    time.sleep(1)  # for the last record, which matches nothing

    process.send_signal(number)
    _, told = process.communicate(timeout=HANG_S)

    assert process.returncode == status
    assert (folder / ("out.jsonl" if out else "std.jsonl")).read_text().count("\n") == 40_000
    assert "40,000 matches of 40,001 events and 2 subscriptions, 1 rejected" in told
    assert "m = 1 (subscription c): no event has m" in told
    assert told.endswith("stopped; 40,000 matches written\n")
    assert not any(folder.glob("*.part"))
    assert (folder / "errors.jsonl").exists() == bool(out)


@pytest.mark.parametrize(("number", "status"), STOPS)
def test_a_file_that_is_interrupted_leaves_no_half_written_file(folder: Path, number: int, status: int) -> None:
    """One line says so; neither the file nor a part of it is there."""
    (folder / "many.jsonl").write_text('{"n": 1}\n' * 3_000_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "tocsin", "match", "s.jsonl", "many.jsonl", "--out", "out.jsonl"],
        cwd=folder,
        stderr=subprocess.PIPE,
    )
    awaited(lambda: any(folder.glob("out.jsonl.*.part")), step_s=0.01)

    process.send_signal(number)
    _, err = process.communicate(timeout=HANG_S)

    assert process.returncode == status
    assert b"no incomplete output is left" in err
    assert err.count(b"\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["e.jsonl", "many.jsonl", "s.jsonl"]


@pytest.mark.parametrize("command", ["tocsin", "python -m tocsin"])
def test_both_ways_to_start_it(command: str, folder: Path) -> None:
    """The installed command and the module are the same program."""
    start = f"{sys.executable} -m tocsin" if "python" in command else str(Path(sys.executable).with_name("tocsin"))

    done = shell(f"{start} check s.jsonl", folder)

    assert done.returncode == 0
    assert "2 subscriptions accepted" in done.stdout


def test_commands_start_without_the_imports_of_others(folder: Path) -> None:
    """Other tests fork them from a process that has imported all of tocsin; here each begins with nothing."""
    tocsin = f"{sys.executable} -m tocsin"
    (folder / "rules.jsonl").write_text('{"id": "r", "rule": {"n": 1}}\n')
    (folder / "c.jsonl").write_text('{"id": "c", "change": "insert", "version": 1, "where": "n = 1"}\n')
    commands = [
        "compile s.jsonl index",
        "update index c.jsonl",
        "doctor index",
        "convert rules.jsonl --from mongodb",
        "explain s.jsonl many.jsonl --id a",
    ]

    done = shell("; ".join(f"{tocsin} {command} >&2; echo $?" for command in commands), folder)

    assert done.stdout.split() == ["0"] * 5, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["match index -", "fences index - --key n --payload"])
def test_what_is_read_from_a_pipe_follows_the_index(folder: Path, command: str) -> None:
    """An update counts from the next event on, and is told; an index that is gone is told, too, and goes on."""

    def answered(event: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(event + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    assert shell("tocsin compile s.jsonl index", folder).returncode == 0
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*fork_server.python(), "-m", "tocsin", *command.split()],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert '"subscription": "b"' in answered('{"n": 2}')
    (folder / "c.jsonl").write_text('{"id": "c", "change": "insert", "version": 1, "where": "n = 7 AND new"}\n')
    assert shell("tocsin update index c.jsonl && tocsin match index e.jsonl", folder).returncode == 1

    seven = answered('{"n": 7, "new": true}')
    assert '"subscription": "b"' in seven
    assert process.stdout is not None
    assert '"subscription": "c"' in process.stdout.readline()
    (folder / "index" / "manifest.json").write_text("damaged")
    assert '"subscription": "b"' in answered('{"n": 8}')
    _, told = process.communicate(timeout=HANG_S)

    assert process.returncode == 0
    assert told.count("the earlier version stays in use") == 1
    assert "index has a newer version: 3 subscriptions from event 1 on" in told
