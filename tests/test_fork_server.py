"""A Python of the fork server is like one that starts by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import fork_server
from tests.waiting import HANG_S, awaited


def run(*arguments: str, is_forked: bool = True, **more: object) -> subprocess.CompletedProcess[str]:
    command = fork_server.python() if is_forked else [sys.executable]
    options: dict[str, object] = {"capture_output": True, "text": True, "timeout": HANG_S, "check": False, **more}
    return subprocess.run([*command, *arguments], **options)  # type: ignore[call-overload, no-any-return]


PROGRAM = """
import atexit, os, signal, sys, threading
atexit.register(print, "at exit")
print(sys.argv, __name__, os.getcwd(), os.environ["FRUIT"], sys.stdin.read(), sys.stdout.line_buffering)
print(sys.stdout.encoding, sys.stderr.errors, sys.stderr.line_buffering, file=sys.stderr)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGTERM))
threading.Thread(target=print, args=("in a thread",)).start()
"""


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "sys.exit('a reason')", "raise ValueError('wrong')"])
@pytest.mark.parametrize("is_file", [False, True])
def test_a_program_sees_and_leaves_the_same(ending: str, is_file: bool, tmp_path: Path) -> None:
    """Arguments, folder, environment, input, outputs, exit status, and the traceback of an error."""
    (tmp_path / "program.py").write_text(PROGRAM + ending)
    program = ["program.py"] if is_file else ["-c", PROGRAM + ending]
    environment = {**os.environ, "FRUIT": "pear"}

    forked, started = (
        run(*program, "a", "b c", is_forked=is_forked, cwd=tmp_path, env=environment, input="söme\n")
        for is_forked in (True, False)
    )

    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr.splitlines()[:1] == started.stderr.splitlines()[:1]
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


def test_a_module_runs_as_a_command() -> None:
    forked, started = (run("-m", "tocsin", "index", "list", is_forked=is_forked) for is_forked in (True, False))

    assert (forked.returncode, forked.stdout, forked.stderr) == (0, started.stdout, "")


def test_the_process_ends_by_the_signal_of_the_program() -> None:
    assert run("-c", "import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_dies_with_its_command(number: signal.Signals, tmp_path: Path) -> None:
    program = "import os, pathlib, time; pathlib.Path('process').write_text(str(os.getpid()) + '.'); time.sleep(1000)"
    process = subprocess.Popen([*fork_server.python(), "-c", program], cwd=tmp_path, stderr=subprocess.DEVNULL)
    file = tmp_path / "process"
    awaited(lambda: file.read_text().endswith("."), OSError)

    process.send_signal(number)

    assert process.wait(HANG_S) == -number
    awaited(lambda: not Path(f"/proc/{file.read_text()[:-1]}").exists())


def test_another_environment_of_python_starts_by_itself() -> None:
    """Its variables are read when Python starts."""
    environment = {**os.environ, "PYTHONHASHSEED": "7"}

    done = run("-c", "import sys; print(sys.flags.hash_randomization, 'tocsin' in sys.modules)", env=environment)

    assert done.stdout == "1 False\n"
    assert run("-c", "import sys; print('tocsin' in sys.modules)").stdout == "True\n"
