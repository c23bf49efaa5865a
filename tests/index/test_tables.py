"""A table is made, and grows, as its layout says; nobody makes a large one by the order of its fields."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import tocsin.index
import tocsin.papers
from tocsin.index.tables import bytes_of_table, grown, new_table

LANES = 4
NOBODY = -1
_MOST_BY_PLACE = 7


class Marks(NamedTuple):
    bits: Annotated[NDArray[np.uint64], "subscriptions // 64 + 1"]


class Memory(NamedTuple):
    owners: Annotated[NDArray[np.int32], "subscriptions", NOBODY]
    boxes: Annotated[NDArray[np.float64], "LANES, places", np.nan]
    marks: Marks
    clock: int


class Built(NamedTuple):
    owners: NDArray[np.int32]


def test_a_table_is_as_long_as_its_layout_says() -> None:
    """Types, lengths and what arrays are filled with come from the layout; constants are those of its module."""
    memory = new_table(Memory, subscriptions=64, places=3)

    assert memory.owners.tolist() == [NOBODY] * 64
    assert memory.boxes.shape == (LANES, 3)
    assert np.isnan(memory.boxes).all()
    assert memory.marks.bits.tolist() == [0, 0]
    assert memory.marks.bits.dtype == np.uint64
    assert memory.clock == 0
    assert bytes_of_table(memory) == 4 * 64 + 8 * LANES * 3 + 2 * 8


def test_a_table_that_grows_keeps_what_it_holds() -> None:
    """Arrays that depend on a length begin with what they held; the others are the same."""
    memory = new_table(Memory, subscriptions=2, places=1)
    memory.owners[:] = 5, 6
    memory.marks.bits[0] = 7

    more = grown(memory, subscriptions=100)

    assert more.owners[:3].tolist() == [5, 6, NOBODY]
    assert more.marks.bits.tolist() == [7, 0]
    assert more.boxes is memory.boxes


def test_a_layout_that_does_not_say_how_long_an_array_is_makes_none() -> None:
    """A builder computes such an array."""
    with pytest.raises(TypeError, match=r"Built\.owners does not give its length"):
        new_table(Built)


def test_lengths_name_dimensions_and_constants_of_their_module() -> None:
    """In the lengths of a layout, what is written in capitals is a constant of the layout's module."""
    for package in (tocsin.index, tocsin.papers):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            path = Path(importlib.import_module(found.name).__file__ or "")
            for lengths in re.findall(r'Annotated\[NDArray\[[\w.]+\], "([^"]*)"', path.read_text()):
                names = compile(lengths, str(path), "eval").co_names
                unknown = [name for name in names if name.isupper() and name not in vars(sys.modules[found.name])]
                assert not unknown, f"{path}: {lengths}"


def test_large_tables_are_made_by_the_names_of_their_fields() -> None:
    """Of two arrays of one type that change places nothing would tell; kernels and tables of tables have no choice."""
    root = Path(tocsin.__file__).parent
    trees = {path: ast.parse(path.read_text()) for of in ("index", "papers") for path in (root / of).rglob("*.py")}
    layouts = {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and "NamedTuple" in map(ast.unparse, node.bases)
        and any(isinstance(field, ast.AnnAssign) and "NDArray" in ast.unparse(field) for field in node.body)
    }
    by_place = [
        f"{path.relative_to(root)}:{call.lineno}"
        for path, tree in trees.items()
        if "kernels" not in path.parts and path.stem != "kernels"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in layouts and len(call.args) > _MOST_BY_PLACE
    ]

    assert not by_place
