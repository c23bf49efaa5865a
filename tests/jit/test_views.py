"""What a kernel reads through a view is what the table holds, nested tables and numbers included."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tocsin.jit.decorators import inner, kernel
from tocsin.jit.views import Packed, array_of, hints_of, kind_of, view, viewed


class Shelf(NamedTuple):
    """R rows, C columns."""

    rows: Annotated[NDArray[np.float64], 2]  # (R, C)
    marks: NDArray[np.uint8]  # (R,)


class Table(NamedTuple):
    """A table with one within, and numbers."""

    keys: NDArray[np.int64]
    shelf: Shelf
    count: int
    share: float
    is_open: bool


KIND = kind_of(Table)


@inner
def _told(table: Any, out: Any) -> None:
    """Everything that a view gives, one after the other."""
    out[0] = len(table.keys)
    out[1] = table.keys[-1]
    out[2] = table.shelf.rows.shape[0]
    out[3] = table.shelf.rows[1, 2]
    out[4] = table.shelf.marks[1]
    out[5] = table.count
    out[6] = table.share
    out[7] = table.is_open
    table.keys[0] = 99


@kernel
def _told_of_tuple(table: Any, out: Any) -> None:
    _told(viewed(table), out)


@kernel
def _told_of_places(places: Any, out: Any) -> None:
    _told(view(places, KIND), out)


def _table() -> Table:
    shelf = Shelf(np.arange(6.0).reshape(2, 3), np.array([3, 250], np.uint8))
    return Table(np.array([5, 6, -7]), shelf, -4, 0.25, True)


@pytest.mark.parametrize("packed", [False, True])
def test_a_view_reads_and_writes_what_the_table_holds(packed: bool) -> None:
    table, out = _table(), np.zeros(8)

    if packed:
        _told_of_places(Packed(table, KIND).places, out)
    else:
        _told_of_tuple(table, out)

    assert out.tolist() == [3, -7, 2, 5, 250, -4, 0.25, 1]
    assert table.keys.tolist() == [99, 6, -7]


def test_whether_an_array_is_frozen_makes_no_other_view() -> None:
    """Else all that takes the view would be compiled for each mixture."""
    table, out = _table(), np.zeros(8)
    before = len(_told.signatures)
    table.shelf.marks.flags.writeable = False

    _told_of_tuple(table, out)
    _told_of_tuple(_table(), out)

    assert len(_told.signatures) - before <= 1


@pytest.mark.parametrize("keys", [np.zeros(3, np.int32), np.zeros((1, 3), np.int64), np.zeros(6, np.int64)[::2]])
def test_what_is_not_as_the_layout_says_is_not_packed(keys: Any) -> None:
    with pytest.raises(TypeError, match="cannot be packed as array"):
        Packed(_table()._replace(keys=keys), KIND)


def test_a_function_without_a_way_in_says_so() -> None:
    """Numba would end the process."""
    with pytest.raises(TypeError, match="only kernels call _told"):
        _told(_table(), np.zeros(8))


@pytest.mark.parametrize("alias", (list[np.int64], tuple[np.int64, str], None))
def test_a_layout_is_read_without_numpys_alias(alias: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout means the same whatever the running NumPy makes of `NDArray[...]`."""
    monkeypatch.setitem(globals(), "NDArray", alias)
    hints = hints_of(Shelf)

    assert array_of(hints["rows"]) == (np.dtype(np.float64), 2)
    assert array_of(hints["marks"]) == (np.dtype(np.uint8), 1)


def test_an_annotation_that_says_no_element_type_is_refused() -> None:
    """A field of a layout that is neither a number, a table nor an array is refused, and the error shows it."""

    class Wrong(NamedTuple):
        names: list[str]

    with pytest.raises(TypeError, match=r"list\[str\]"):
        kind_of(Wrong)
