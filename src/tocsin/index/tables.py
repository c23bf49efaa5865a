"""Tables of arrays for kernels: making and growing them, their named arrays, and their size in bytes.

A layout describes each of its arrays. `NDArray[np.int32]` is an array that its builder computes.
`Annotated[NDArray[np.int32], "subscriptions + 1"]` also gives its length, so that `new_table` can make it. The lengths
of several dimensions stand side by side: `"blocks, 16"`. The value that fills the array may follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import CodeType
from typing import Any, NamedTuple, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.checks import require_type
from tocsin.jit.views import array_of, hints_of

Table = TypeVar("Table", bound=tuple[Any, ...])


class _Extent(NamedTuple):
    """One array of a layout: its type, its lengths as an expression, and the value that fills it."""

    dtype: np.dtype[Any]
    lengths: CodeType
    constants: dict[str, Any]  # names of the layout's module
    filled: Any

    def new(self, lengths: Mapping[str, int]) -> NDArray[Any]:
        shape = eval(self.lengths, self.constants, dict(lengths))
        return np.full(shape, self.filled, self.dtype) if self.filled else np.zeros(shape, self.dtype)


@cache
def _extents(layout: type) -> dict[str, _Extent | type]:
    """What `new_table` makes for each field: an array, a number, or a nested table."""
    constants, found = vars(sys.modules[layout.__module__]), dict[str, _Extent | type]()
    for field, hint in hints_of(layout).items():
        if isinstance(hint, type) and issubclass(hint, tuple | int | float):
            found[field] = hint
            continue
        dtype, _ = array_of(hint)
        _, lengths, filled, *_ = (*get_args(hint), 0, 0)
        if not isinstance(lengths, str):
            raise TypeError(f"{layout.__name__}.{field} does not give its length: Annotated[NDArray[...], lengths]")
        found[field] = _Extent(dtype, compile(lengths, field, "eval"), constants, filled)
    return found


def new_table(layout: type[Table], /, **lengths: int) -> Table:
    """A table of new arrays, each as long as its layout says, filled with 0 unless the layout gives a value."""
    return layout(**{field: _made(of, lengths) for field, of in _extents(layout).items()})


def _made(of: _Extent | type, lengths: Mapping[str, int]) -> Any:
    if isinstance(of, _Extent):
        return of.new(lengths)
    return new_table(of, **lengths) if issubclass(of, tuple) else of()


def grown(table: Table, /, **lengths: int) -> Table:
    """The table with larger arrays, if their lengths depend on any of these `lengths`. Old values come first."""
    larger: dict[str, Any] = {}
    for field, of in _extents(type(table)).items():
        held = getattr(table, field)
        if isinstance(held, tuple):
            larger[field] = grown(held, **lengths)
        elif isinstance(of, _Extent) and lengths.keys() & set(of.lengths.co_names):
            larger[field] = of.new(lengths)
            larger[field][tuple(map(slice, held.shape))] = held
    replaced: Table = cast(Any, table)._replace(**larger)
    return replaced


def named_arrays(table: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a table and of its nested tables, by name."""
    for name, part in table._asdict().items():
        if isinstance(part, tuple):
            yield from named_arrays(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", part


def restored_table(
    kind: type[Table],
    arrays: Mapping[str, NDArray[Any]],
    prefix: str = "",
    missing: Mapping[type, Callable[[], Any]] | None = None,
) -> Table:
    """A table from its arrays; raises `ValueError` for an array of another type, `KeyError` for a missing one.

    `missing` gives a substitute for each kind of nested table that may have no arrays. The numbers in the arrays are
    not checked; that is up to the caller.
    """
    parts: dict[str, Any] = {}
    for field, hint in hints_of(kind).items():
        name = f"{prefix}{field}"
        if isinstance(hint, type) and issubclass(hint, tuple):
            stands_for = (missing or {}).get(hint)
            is_missing = stands_for is not None and not any(key.startswith(f"{name}.") for key in arrays)
            parts[field] = cast(Any, stands_for)() if is_missing else restored_table(hint, arrays, f"{name}.", missing)
            continue
        require_type(name, arrays[name], *array_of(hint))
        parts[field] = arrays[name]
    return kind(**parts)


def bytes_of_table(table: Any) -> int:
    """Bytes of the arrays of a table, or of several, and of nested tables. Plain numbers count 0."""
    return sum(map(bytes_of_table, table)) if isinstance(table, tuple) else int(getattr(table, "nbytes", 0))
