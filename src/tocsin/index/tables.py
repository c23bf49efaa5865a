"""How do the tables that kernels read lie among named arrays? Each array under its table's name and its own.

What an array has to be is said by the legend of its table, so that is what an opened one is held against; whether its
numbers are sound is for who knows what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from numpy.typing import NDArray

from tocsin.columns.expressions.checks import require_type
from tocsin.kernels.packing import array_of, hints_of

Table = TypeVar("Table", bound=tuple[Any, ...])


def named_arrays(table: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a table, and of the tables within it."""
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
    """A table from its arrays; `ValueError` or `KeyError` where one is of another type, or is not there.

    Of `missing` kinds of tables, of which there may be no array at all, it is said what stands for them.
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
    """Bytes of the arrays of a table, and of the tables within."""
    return sum(array.nbytes for _, array in named_arrays(table))
