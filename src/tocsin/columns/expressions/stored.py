"""Storage format of compiled expressions as named arrays, with checks on load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.expressions.checks import check_expressions, check_starts, require_type
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions
from tocsin.kernels.programs.layouts import Expressions


def stored(compiled: CompiledExpressions) -> dict[str, NDArray[Any]]:
    """All arrays of compiled expressions, by name."""
    arrays = {"expressions." + name: array for name, array in compiled.arrays._asdict().items()}
    arrays |= stored_texts("attributes", Texts.of(compiled.attributes))
    arrays |= stored_texts("vocabulary", compiled.vocabulary)
    arrays |= stored_texts("transforms", Texts.of(compiled.transforms))
    arrays |= stored_texts("regexes", Texts.of([pattern for pattern, _ in compiled.regexes]))
    arrays["regexes.transforms"] = np.array([transform for _, transform in compiled.regexes], np.uint16)
    return arrays


def restored(arrays: Mapping[str, NDArray[Any]]) -> CompiledExpressions:
    """Load compiled expressions from their arrays; raises `ValueError` or `KeyError` if they are not valid."""
    for name, expected in NOTHING.arrays._asdict().items():
        require_type("expressions." + name, arrays["expressions." + name], expected.dtype, expected.ndim)
    require_type("regexes.transforms", arrays["regexes.transforms"], np.dtype(np.uint16), 1)
    compiled = CompiledExpressions(
        Expressions(**{name: arrays["expressions." + name] for name in Expressions._fields}),
        restored_texts("attributes", arrays).to_list(),
        restored_texts("vocabulary", arrays),
        restored_texts("transforms", arrays).to_list(),
        list(zip(restored_texts("regexes", arrays).to_list(), arrays["regexes.transforms"].tolist(), strict=True)),
    )
    check_expressions(compiled)
    return compiled


def stored_texts(name: str, texts: Texts) -> dict[str, NDArray[Any]]:
    """Strings as two named arrays."""
    return {name + ".starts": texts.starts, name + ".data": texts.data}


def restored_texts(name: str, arrays: Mapping[str, NDArray[Any]]) -> Texts:
    """Load strings from their arrays, and check them."""
    texts = restored_pieces(name, arrays)
    texts.arrow().validate(full=True)
    return texts


def restored_pieces(name: str, arrays: Mapping[str, NDArray[Any]]) -> Texts:
    """Load pieces of bytes from the arrays of strings, and check where they begin and end, but not what they are."""
    require_type(name + ".starts", arrays[name + ".starts"], np.dtype(np.int64), 1)
    require_type(name + ".data", arrays[name + ".data"], np.dtype(np.uint8), 1)
    check_starts(name, arrays[name + ".starts"], len(arrays[name + ".data"]))
    return Texts(arrays[name + ".starts"], arrays[name + ".data"])
