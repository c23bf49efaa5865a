"""Kernels lowered by Numba's own passes, and what tocsin uses of Numba's inside."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.caching import NullCache
from numpy.typing import NDArray

import tocsin
from tocsin.jit.decorators import kernel
from tocsin.jit.lowering import counting, pipelines
from tocsin.jit.switch import LOWERING, is_on

ROOT = Path(__file__).parents[2]
PACKAGE = Path(tocsin.__file__).parent
RECORD = (ROOT / "docs" / "decisions" / "0088-a-switch-for-the-compiler.md").read_text("utf-8")
SMALL = ["tests/jit/test_views.py", "tests/kernels/test_sorting.py"]
WHOLE = ["tests/jit", "tests/kernels", "tests/contract", "tests/index", "tests/window", "tests/engine/test_match.py"]


@pytest.mark.parametrize(("given", "version", "on"), [
    (None, "0.61.0", True), (None, "0.68.1", True), (None, "0.68.0rc2", True),
    ("off", "0.68.1", False), ("on", "0.99.0", True), ("off", "0.99.0", False),
])  # fmt: skip
def test_the_variable_decides_and_then_the_version_of_numba(given: str | None, version: str, on: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_on(given, version) is on


@pytest.mark.parametrize("version", ["0.60.0", "0.69.0dev0", "1.0.0"])
def test_a_numba_that_was_not_tried_lowers_kernels_by_itself_and_says_so(version: str) -> None:
    with pytest.warns(UserWarning, match=rf"was tried with Numba 0.61 to [0-9.]+, and {version} is installed"):
        assert not is_on(None, version)


def test_another_value_is_named() -> None:
    with pytest.warns(UserWarning, match="TOCSIN_LOWERING is 'no'; it is on or off"):
        assert is_on("no", "0.68.1")


def with_numbas_passes(*tests: str) -> None:
    """Run tests in a process whose kernels are lowered by Numba alone."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "not long", *tests]
    environment = {**os.environ, "TOCSIN_LOWERING": "off"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert re.search(r"\d+ passed", done.stdout)


@pytest.mark.slow("it compiles some kernels with Numba's passes")
def test_kernels_mean_the_same_with_numbas_own_passes() -> None:
    """Views, packed tables and sorts; `make thorough` runs the tests of all kernels in this way."""
    with_numbas_passes(*SMALL)


@pytest.mark.long
@pytest.mark.slow("it compiles all kernels with Numba's passes")
def test_all_kernels_mean_the_same_with_numbas_own_passes() -> None:
    with_numbas_passes(*WHOLE)


@kernel
def first_or_zero(numbers: NDArray[np.int64]) -> int:
    return numbers[0] if len(numbers) else 0


@pytest.mark.skipif(not LOWERING, reason="Numba counts all references")
def test_a_statement_of_an_unknown_kind_leaves_references_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this function's `getitem` were something that a newer Numba has added."""

    counted: list[bool] = []

    def noted(state: Any) -> bool:
        counted.append(counting.counts(state))
        return counted[-1]

    def compile_anew() -> None:
        compiled: Any = kernel(first_or_zero.py_func)  # type: ignore[attr-defined]
        compiled._cache = NullCache()
        assert compiled(np.arange(3) + 7) == 7

    monkeypatch.setattr(pipelines, "counts", noted)
    compile_anew()
    monkeypatch.setattr(counting, "_EXPRESSIONS", counting._EXPRESSIONS - {"getitem", "static_getitem"})
    compile_anew()

    assert counted == [False, True]


def internals(files: Iterable[Path]) -> set[str]:
    """What files import from Numba's inside and from llvmlite."""
    names: set[str] = set()
    for file in files:
        for one in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(one, ast.ImportFrom) and re.match(r"(numba\.(?!extending)|llvmlite)", one.module or ""):
                names |= {f"{one.module}.{alias.name}" for alias in one.names}
            elif isinstance(one, ast.Import):
                names |= {alias.name for alias in one.names if re.match(r"numba\.|llvmlite", alias.name)}
    return names


def recorded(title: str) -> set[str]:
    section = RECORD.split(f"## {title}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^- `([\w.]+)`", section, re.MULTILINE))


def test_the_record_names_all_that_is_used_of_numbas_inside() -> None:
    files = set((PACKAGE / "jit").rglob("*.py"))
    passes = {file for file in files if "lowering" in file.parts}
    always = internals(files - passes)

    assert recorded("What is always used") == always
    assert recorded("What our passes use besides") == internals(passes) - always


def test_only_one_room_imports_numbas_inside() -> None:
    assert not internals(file for file in PACKAGE.rglob("*.py") if PACKAGE / "jit" not in file.parents)
