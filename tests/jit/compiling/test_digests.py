"""A kernel is compiled anew when anything that it imports has changed, in whichever package that is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from reproduce.ir_tree.kernels import changes

from tocsin.index.scored.kernels import cursors
from tocsin.jit import decorators
from tocsin.jit.compiling import digests
from tocsin.jit.compiling.caching import _layouts
from tocsin.jit.compiling.digests import digest_of
from tocsin.papers.ranked_pubsub.segment_tree import kernels

KERNEL = "from tocsin.jit.decorators import kernel\nfrom {package}.parts.inner import one\n"


def package(folder: Path, name: str) -> dict[str, Path]:
    """A package of a kernel, of what it imports, and of what that imports."""
    files = {
        "kernel": (folder / name / "kernel.py", KERNEL.format(package=name)),
        "inner": (folder / name / "parts" / "inner.py", f"from {name}.parts import (\n    innermost,\n)\n"),
        "innermost": (folder / name / "parts" / "innermost.py", "one = 1\n"),
        "other": (folder / name / "other.py", "one = 1\n"),
    }
    for file, text in files.values():
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(text)
    return {part: file for part, (file, _) in files.items()}


@pytest.mark.parametrize(
    ("changed", "differs"), [("kernel", True), ("inner", True), ("innermost", True), ("other", False)]
)
def test_a_digest_covers_what_is_imported_of_its_own_package(tmp_path: Path, changed: str, differs: bool) -> None:
    """However far the imports lead, and nothing else."""
    files = package(tmp_path, "elsewhere")
    before = digest_of(files["kernel"])
    files[changed].write_text(files[changed].read_text() + "# changed\n")
    digests.digest_of.cache_clear()  # a process reads files once
    digests._imported.cache_clear()

    assert (digest_of(files["kernel"]) != before) == differs


def test_imports_are_followed_from_package_to_package() -> None:
    """From `reproduce` to itself and to tocsin, and within tocsin."""
    own, held = Path(changes.__file__), Path(kernels.__file__)

    assert {own.with_name("nodes.py"), Path(decorators.__file__)} <= digests._reached(own)
    assert {Path(cursors.__file__), Path(decorators.__file__)} <= digests._reached(held)
    assert own not in digests._reached(held)


def test_a_table_counts_with_the_folder_of_its_layout() -> None:
    """Kernels that are chosen by a table's layout lie there, and are imported by nobody who calls them."""

    class Pair(NamedTuple):
        lists: kernels.SegmentTrees
        number: int

    none = np.zeros(1, np.int64)
    table = kernels.SegmentTrees(none, none, none, np.zeros(1, np.int32))
    types = (numba.int64, numba.typeof(Pair(table, 1)), numba.int64)

    assert list(_layouts(types)) == [Pair, kernels.SegmentTrees]
    assert digests.digest_of_layout(kernels.SegmentTrees) == digests.digest_beside(Path(kernels.__file__))


@pytest.mark.parametrize(
    ("changed", "differs"), [("layout", True), ("chosen", True), ("called", True), ("python", False)]
)
def test_a_layout_counts_with_the_kernels_beside_it(tmp_path: Path, changed: str, differs: bool) -> None:
    """And with what these import, but not with what has no kernel: language changes, and no kernel with it."""
    texts = {
        "layout": "",
        "chosen": "from tocsin.jit.decorators import inlined\nfrom elsewhere.far.called import one\n",
        "python": "from elsewhere.own.layout import one\n",
        "called": "one = 1\n",
    }
    files = {name: tmp_path / "elsewhere" / ("far" if name == "called" else "own") / f"{name}.py" for name in texts}
    for name, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        (file.parents[1] / "__init__.py").touch()
        file.write_text(texts[name])
    before = digests.digest_beside(files["layout"])
    files[changed].write_text(f"{texts[changed]}# changed\n")
    for kept in (digests.digest_of, digests.digest_beside, digests._imported):
        kept.cache_clear()

    assert (digests.digest_beside(files["layout"]) != before) == differs
