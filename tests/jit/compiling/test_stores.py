"""Where compiled kernels lie: what is found, what is not, what is damaged, and who waits for whom."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numba
import pytest

from tocsin.jit.compiling import stores
from tocsin.locks import Lock

KERNEL = """
from tocsin.jit.decorators import inlined, kernel

@inlined
def added(number):
    return number + {added}

@kernel
def counted(first):
    total = first
    for i in range(first):
        total += added(i)
    return total
"""

USE = """
import sys, time
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
from importlib import import_module
for name in sys.argv[1:] or ["somebody"]:
    compiled.clear()
    print(import_module(name + ".kernels").counted(10), "counted" in compiled)
"""


def package(folder: Path, added: int = 1, name: str = "somebody") -> Path:
    """A package with a kernel."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "__init__.py").touch()
    (folder / name / "kernels.py").write_text(KERNEL.format(added=added), "utf-8")
    return folder


def started(where: Path, cache: Path, *names: str, **others: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), **others}
    environment.pop("NUMBA_CACHE_DIR", None)
    environment["PYTHONPATH"] = os.pathsep.join([str(where), str(Path(stores.__file__).parents[3])])
    command = [sys.executable, "-c", USE, *names]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def used(where: Path, cache: Path, *names: str, **others: str) -> tuple[str, str]:
    """What a process that calls the kernel prints: the result, and whether it compiled; and what it complains of."""
    process = started(where, cache, *names, **others)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.strip(), err


def test_what_one_process_compiled_serves_the_next_wherever_the_package_lies(tmp_path: Path) -> None:
    first, moved = package(tmp_path / "first"), package(tmp_path / "moved")

    assert used(first, tmp_path / "cache")[0] == "65 True"
    assert used(first, tmp_path / "cache")[0] == "65 False"
    assert used(moved, tmp_path / "cache")[0] == "65 False"
    assert used(package(moved, added=2), tmp_path / "cache")[0] == "75 True"


@pytest.mark.skipif("x86-64-v3" not in stores.levels(), reason="the processor does not reach the level")
def test_kernels_of_a_level_serve_a_process_that_compiles_for_its_own_processor(tmp_path: Path) -> None:
    where = package(tmp_path)
    at_level = used(where, tmp_path / "made", **stores.environment_of("x86-64-v3"))
    store = tmp_path / "made" / "tocsin" / "kernels"

    assert at_level[0] == "65 True"
    assert [folder.name for folder in store.iterdir()] == [stores.folder_of("x86-64-v3")]
    assert used(where, tmp_path / "empty", TOCSIN_KERNELS=str(store))[0] == "65 False"
    assert used(where, tmp_path / "empty", TOCSIN_KERNELS=str(tmp_path / "nowhere"))[0] == "65 True"


def test_a_damaged_file_is_compiled_anew(tmp_path: Path) -> None:
    """Of either kind, cut to nothing, to a few bytes, or in the middle."""
    names = {added: f"somebody{added}" for added in range(6)}
    for added, name in names.items():
        package(tmp_path, added, name)
    cache = tmp_path / "cache"
    used(tmp_path, cache, *names.values())
    indexes, codes = (sorted(cache.rglob(f"*counted*.{ending}")) for ending in ("nbi", "nbc"))
    assert len(indexes) == len(codes) == len(names)
    for file, left in zip([*indexes[:3], *codes[3:]], (0, 10, 300) * 2, strict=True):
        file.write_bytes(file.read_bytes()[:left])

    results = [10 + sum(range(10)) + 10 * added for added in names]
    assert used(tmp_path, cache, *names.values())[0].splitlines() == [f"{result} True" for result in results]
    assert used(tmp_path, cache, *names.values())[0].splitlines() == [f"{result} False" for result in results]


def test_what_takes_long_to_compile_is_said(tmp_path: Path) -> None:
    """On standard error, once a kernel: how long, and what does it ahead."""
    where = package(tmp_path)
    file = where / "somebody" / "kernels.py"
    steps = [f"@inlined\ndef step{n}(number):\n    return number + {n}\n" for n in range(24)]
    calls = "\n".join(f"        total += step{n}(i)" for n in range(24))
    text = file.read_text("utf-8").replace("        total += added(i)", calls)
    file.write_text(text.replace("@kernel", "\n".join(steps) + "\n@kernel"), "utf-8")

    err = used(where, tmp_path / "cache")[1]

    assert err == "tocsin: compiling counted, once: about 3 s; `tocsin warm` compiles all of them ahead of time\n"
    assert used(where, tmp_path / "cache")[1] == ""


def test_where_nothing_can_be_written_there_is_one_warning_and_an_answer(tmp_path: Path) -> None:
    where = package(tmp_path)
    (tmp_path / "cache").write_text("a file where the folder should be")

    out, err = used(where, tmp_path / "cache")

    assert out == "65 True"
    assert err.count("tocsin cannot keep compiled kernels") == 1


def test_where_nothing_is_compiled_nothing_is_written_and_nobody_is_warned(tmp_path: Path) -> None:
    """As with an installed wheel, and a home that cannot be written."""
    where = package(tmp_path)
    used(where, tmp_path / "made")
    (tmp_path / "cache").write_text("a file where the folder should be")

    out, err = used(where, tmp_path / "cache", TOCSIN_KERNELS=str(tmp_path / "made" / "tocsin" / "kernels"))

    assert (out, err) == ("65 False", "")


def test_a_folder_for_others_gets_its_own_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`none` leaves out what a wheel brings, or `tocsin warm --into` would find it all there and write nothing."""
    monkeypatch.setattr(stores, "SHIPPED", tmp_path)
    brought = tmp_path / stores.folder_of(stores.target())
    brought.mkdir()

    for given, read in (("", True), (stores.NONE, False)):
        monkeypatch.setenv(stores.VARIABLE, given)
        stores.readable.cache_clear()
        assert (brought in stores.readable()) == read
    monkeypatch.undo()
    stores.readable.cache_clear()


def test_processes_that_start_at_once_compile_once(tmp_path: Path) -> None:
    where = package(tmp_path)
    processes = [started(where, tmp_path / "cache") for _ in range(3)]

    printed = sorted(process.communicate()[0].strip() for process in processes)

    assert printed == ["65 False", "65 False", "65 True"]


HOLDING = """
import sys, time
from pathlib import Path
from tocsin.locks import Lock
lock = Lock(Path(sys.argv[1]))
print(flush=True)
time.sleep(600)
"""


def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    """However it ends, the next one has it."""
    path = tmp_path / "lock"
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    killed = time.monotonic()
    process.kill()

    lock = Lock(path)

    assert time.monotonic() - killed < 60
    lock.release()
    assert not Lock(path).waited


def test_kernels_of_another_numba_are_told_of(tmp_path: Path) -> None:
    """A wheel whose kernels another Numba compiled warns, and says which one loads them; its own says nothing."""
    folder = tmp_path / "x86-64-v3"
    folder.mkdir()
    mark = folder / f"all-digest-{numba.__version__}-3.11"
    mark.touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stores.warn_of_useless_kernels(tmp_path)
        stores.warn_of_useless_kernels(tmp_path / "a checkout brings none")

    mark.rename(folder / "all-digest-0.60.1-3.11")
    with pytest.warns(UserWarning, match=r"pip install numba==0\.60\.1"):
        stores.warn_of_useless_kernels(tmp_path)
