"""Whatever happens while an engine is saved, its folder holds the version before or the new one, and nothing else."""

from __future__ import annotations

import errno
import itertools
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import tocsin
from tests.sizes import sized
from tocsin.segment import IndexFolder
from tocsin.segment import folder as folders

EVENT: Final = {"n": 1}
FORK: Final = multiprocessing.get_context("fork")
KILLED: Final = 9
FAILED: Final = 3
WRONG: Final = 4
STEPS: Final = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "shutil.rmtree"}


def holding(*ids: str) -> tocsin.Engine:
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": name, "where": "n = 1"} for name in ids])
    return engine


def held(folder: Path) -> list[Any]:
    return [match.subscription for match in tocsin.Engine.load(folder).match(EVENT)]


def entries(folder: Path) -> list[str]:
    """What lies in a folder, without the names of versions."""
    return sorted("version" if name.name.startswith("version-") else name.name for name in folder.iterdir())


def saving(folder: Path, step: int, happens: Callable[[], None], has_happened: Any) -> None:
    """In a child: save, and have something happen before one step with the folder's files."""
    steps = itertools.count()

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        touched = [str(one) for one in arguments if isinstance(one, str | bytes | os.PathLike)]
        if event in STEPS and any(str(folder) in one for one in touched) and next(steps) == step:
            has_happened.value = True
            happens()

    sys.addaudithook(watch)
    try:
        holding("new", "newer").save(folder)
    except KeyboardInterrupt:
        os._exit(FAILED)
    except tocsin.SegmentError as error:
        os._exit(FAILED if str(folder) in str(error) and "No space left" in str(error) else WRONG)
    os._exit(0)


def kill() -> None:
    os._exit(KILLED)


def fill() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.slow("a child dies at each step")
@pytest.mark.parametrize(
    ("happens", "before"),
    sized(
        [(kill, 0), (kill, 3), (fill, 3), (interrupt, 0)], list(itertools.product((kill, fill, interrupt), (0, 1, 3)))
    ),
)
def test_whatever_happens_at_any_step_one_whole_version_stands(
    happens: Callable[[], None], before: int, tmp_path: Path
) -> None:
    """At every step with a file; for folders that are not there, that hold one version, that hold two."""
    saved = tmp_path / "saved"
    for _ in range(before):
        holding("old").save(saved)
    for step in itertools.count():
        folder = tmp_path / str(step) / "engine"
        if before:
            shutil.copytree(saved, folder, symlinks=True)
        has_happened = FORK.Value("b", False)
        child = FORK.Process(target=saving, args=(folder, step, happens, has_happened))
        child.start()
        child.join(60)
        if not has_happened.value:
            break

        is_new = (folder / "manifest.json").exists() and held(folder) == ["new", "newer"]
        assert child.exitcode in ([KILLED] if happens is kill else [0, FAILED] if is_new else [FAILED])
        assert is_new or (held(folder) == ["old"] if before else not (folder / "manifest.json").exists())
        if child.exitcode == FAILED and not is_new:
            assert entries(folder) == ["manifest.json", *["version"] * min(before, 2)] if before else True
            assert before or not folder.parent.exists()
        holding("last").save(folder)
        assert held(folder) == ["last"]
        assert entries(folder) == ["manifest.json", *["version"] * min(before + is_new + 1, 2)]
    assert child.exitcode == 0
    assert step > 8


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_several_may_save_into_one_folder_at_once(start: Any, tmp_path: Path) -> None:
    """None of them fails; the last one stays, and no more than the one before it."""
    folder = tmp_path / "engine"
    context = multiprocessing.get_context(start)
    processes = [context.Process(target=save_often, args=(folder, f"p{n}")) for n in range(3)]
    threads = [threading.Thread(target=save_often, args=(folder, f"t{n}")) for n in range(2)]
    for one in (*processes, *threads):
        one.start()
    for one in (*processes, *threads):
        one.join(120)

    assert [one.exitcode for one in processes] == [0, 0, 0]
    assert held(folder)[0] in {"p0", "p1", "p2", "t0", "t1"}
    holding("last").save(folder)
    assert entries(folder) == ["manifest.json", "version", "version"]


def save_often(folder: Path, name: str) -> None:
    for _ in range(sized(4, 10)):
        holding(name).save(folder)
        assert len(held(folder)) == 1


def test_a_reader_that_is_overtaken_reads_the_newer_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two publications while a reader opens a folder remove the version that it began with."""
    holding("first").save(tmp_path)
    opened, waiting = folders.open_segment, ["third", "second"]

    def overtaken(folder: Path) -> Any:
        while waiting:
            holding(waiting.pop()).save(tmp_path)
        return opened(folder)

    monkeypatch.setattr(folders, "open_segment", overtaken)
    stale = IndexFolder.read(tmp_path)

    assert held(tmp_path) == ["third"]
    with pytest.raises(tocsin.SegmentError, match=r"changed while it was opened: its version \w+ was replaced by \w+"):
        stale.segments()
    waiting[:] = ["fifth", "fourth"]
    assert tocsin.match(tmp_path, [EVENT]).table["subscription"].to_pylist() == ["fifth"]


LIMITED: Final = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, 256 * 1024))
"""
FULL: Final = """
import os, sys, tocsin
folder = sys.argv[1] + "/engine"
engine = tocsin.Engine()
engine.subscribe("old", "n = 1")
engine.save(folder)
engine.subscribe_many([{"id": str(n), "where": f"n = {n} OR s = '{n}'"} for n in range(20_000)])
try:
    engine.save(folder)
except tocsin.SegmentError as error:
    print(error)
print([match.subscription for match in tocsin.Engine.load(folder).match({"n": 1})])
print(len(os.listdir(folder)))
"""


def test_a_full_disk_leaves_the_version_before(tmp_path: Path) -> None:
    """In a file system of 256 KB: the error says which folder and why, and the room is given back."""
    mounted = 'mount -t tmpfs -o size=256k none "$1" && "$2" -c "$3" "$1"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh", str(tmp_path), sys.executable, FULL]
    ended = subprocess.run(command, capture_output=True, text=True, check=False) if shutil.which("unshare") else None
    if ended is None or ended.returncode:  # where nothing may be mounted, no file grows beyond that
        command = [sys.executable, "-c", LIMITED + FULL, str(tmp_path)]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)

    said, answer, left = ended.stdout.splitlines()
    assert f"{tmp_path}/engine cannot be written (" in said
    assert "Its earlier contents are unchanged. Free some space, or name another folder." in said
    assert (answer, left) == ("['old']", "2")


def write_as_nobody(folder: Path, said: Any) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        holding("new").save(folder)
    except tocsin.SegmentError as error:
        said.put(str(error))
    said.put("saved")


@pytest.mark.parametrize("name", ["engine", "engine/below", "file"])
def test_a_folder_that_may_not_be_written_is_named(name: str, tmp_path: Path) -> None:
    """A folder that is read-only, one below it, and a file in the place of one."""
    (tmp_path / "file").write_text("")
    holding("old").save(tmp_path / "engine")
    (tmp_path / "engine").chmod(0o555)
    tmp_path.chmod(0o755)
    said = FORK.SimpleQueue()
    child = FORK.Process(target=write_as_nobody, args=(tmp_path / name, said))
    child.start()
    error = said.get()
    child.join()

    assert error.startswith(f"{tmp_path / name} cannot be written (")
    assert held(tmp_path / "engine") == ["old"]
    assert entries(tmp_path / "engine") == ["manifest.json", "version"]
