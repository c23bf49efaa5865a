"""How do an OpIndex's lists lie among named arrays?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.checks import require, require_type
from tocsin.index.boolean.opindex.kernels.layouts import OpLists

_STOPS = {"directory": {"starts": "stops"}, "counters": {"starts": "stops", "bitmap_starts": "bitmap_stops"}}
"""Where every run ends where the next one starts, both are saved as one array of offsets."""


def named_arrays(lists: OpLists, segments: int, signature_bits: int) -> dict[str, NDArray[Any]]:
    """Every array under its name. Runs must lie one after the other, as `building` leaves them."""
    arrays: dict[str, NDArray[Any]] = {"options": np.array([segments, signature_bits], np.int64)}
    for name, table in lists._asdict().items():
        stops = _STOPS.get(name, {})
        for field, array in table._asdict().items():
            if field in stops:
                first = array[:1] if len(array) else np.zeros(1, array.dtype)
                array = np.concatenate([first, getattr(table, stops[field])])
            if field not in stops.values():
                arrays[f"{name}.{field}"] = array
    return arrays


def options_from(arrays: Mapping[str, NDArray[Any]]) -> tuple[int, int]:
    """How many segments a list has, and bits a signature."""
    require_type("options", arrays["options"], np.int64, 1)
    require(len(arrays["options"]) == 2, "it does not say how many segments and bits there are")
    return int(arrays["options"][0]), int(arrays["options"][1])


def lists_from(arrays: Mapping[str, NDArray[Any]]) -> OpLists:
    """From what `named_arrays` gave; `ValueError` or `KeyError` where types differ. `checks` sees the numbers."""
    tables = {name: _table(name, kind, arrays) for name, kind in get_type_hints(OpLists).items()}
    return OpLists(**tables)


def _table(name: str, kind: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    stops = _STOPS.get(name, {})
    columns = {}
    for field, hint in get_type_hints(kind).items():
        if field in stops.values():
            continue
        array = arrays[f"{name}.{field}"]
        require_type(f"{name}.{field}", array, get_args(get_args(hint)[1])[0], 1)
        if field in stops:
            require(len(array) > 0, f"the offsets of {name}.{field} are missing")
            columns[field], columns[stops[field]] = array[:-1], array[1:]
        else:
            columns[field] = array
    return kind(**columns)
