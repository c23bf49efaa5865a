"""The commands where nothing is compiled yet: what needs no kernel compiles none, and an interruption is one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import HANG_S, awaited
from tocsin.__main__ import INTERRUPTED, TERMINATED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_text(
        '{"id": "a", "where": "n = 1 AND name LIKE \'x%\'"}\n\n  \n{"id": "b", "where": "n >= 1"}\nbad\n'
    )
    (tmp_path / "e.jsonl").write_text('{"n": 1}\n')
    return tmp_path


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command with an empty cache of kernels, and no other store."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TOCSIN_KERNELS": ""}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-m", "tocsin", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def compiled(folder: Path) -> list[str]:
    return [file.name for file in (folder / "cache").rglob("*.nbc")]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("check", "s.jsonl"), 1, "2 subscriptions accepted, 1 rejected\n2 attributes: n, name\n"),
        (("check", "-e", "n = 1"), 0, "attributes: n"),
        (("explain", "s.jsonl", "e.jsonl", "--id", "b"), 0, "holds    n >= 1: n = 1\n"),
        (("index", "list"), 0, "be_tree"),
    ],
)
def test_what_needs_no_kernel_compiles_none(folder: Path, arguments: tuple[str, ...], status: int, said: str) -> None:
    process = started(folder, *arguments)
    out, err = process.communicate(timeout=HANG_S)

    assert process.returncode == status
    assert said in out
    assert "compiling" not in err
    assert not compiled(folder)
    if arguments[-1] == "s.jsonl":
        assert "`tocsin warm`" in out


def test_a_command_does_without_pandas(folder: Path) -> None:
    """pyarrow would import it with its first array; whoever imports it afterwards has it."""
    script = (
        "import sys, runpy, atexit\n"
        "def tell(): print('pandas' in sys.modules); import pandas; print(pandas.__name__)\n"
        "atexit.register(tell)\n"
        "sys.argv = ['tocsin', 'match', 's.jsonl', 'e.jsonl']\n"
        "runpy.run_module('tocsin', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=HANG_S)

    assert [json.loads(line)["subscription"] for line in done.stdout.splitlines()[:1]] == ["b"], done.stderr
    assert done.stdout.splitlines()[1:] == ["False", "pandas"]


INTERRUPTIONS = [
    *((["match"], signal.SIGINT, number) for number in (-1, 0, 1)),
    *((["fences", "--key", "n"], signal.SIGTERM, number) for number in (-1, 0)),
    *(pytest.param(["match"], signal.SIGINT, number, marks=pytest.mark.long) for number in (3, 6)),
]


@pytest.mark.slow("it starts commands with an empty cache of kernels")
@pytest.mark.parametrize(("command", "number", "compiled_first"), INTERRUPTIONS)
def test_a_signal_is_one_line_whenever_it_comes(
    folder: Path, command: list[str], number: signal.Signals, compiled_first: int
) -> None:
    """While modules are imported (-1), and while kernels are compiled, so many of them done."""
    status, said = (INTERRUPTED, "interrupted") if number == signal.SIGINT else (TERMINATED, "terminated")
    process = started(folder, command[0], "s.jsonl", "e.jsonl", *command[1:])
    maps = Path(f"/proc/{process.pid}/maps")  # where there is none, it is begun after a second
    awaited(lambda: not maps.exists() or "numpy" in maps.read_text(), step_s=0.01)
    time.sleep(0 if maps.exists() else 1)
    awaited(lambda: len(compiled(folder)) >= compiled_first, step_s=0.01)
    process.send_signal(number)

    out, err = process.communicate(timeout=HANG_S)

    lines = [line for line in err.splitlines() if "compiling" not in line]
    assert process.returncode == status
    assert len(lines) == 1
    assert said in lines[0]
    assert out == ""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_an_import_that_loses_exceptions_loses_no_signal(folder: Path, number: signal.Signals, status: int) -> None:
    script = (
        "import sys, os, runpy, contextlib\n"
        "class Careless:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        with contextlib.suppress(BaseException):\n"
        f"            if name == 'tocsin.cli.main': os.kill(os.getpid(), {int(number)}); os.getpid()\n"
        "sys.meta_path.insert(0, Careless)\n"
        "sys.argv = ['tocsin', 'match', 's.jsonl', 'e.jsonl']\n"
        "runpy.run_module('tocsin', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=HANG_S)

    assert done.returncode == status
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
