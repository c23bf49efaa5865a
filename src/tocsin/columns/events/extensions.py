"""Arrow's extension types whose values have a type here: well-known binary and UUIDs."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

_WELL_KNOWN_BINARY: Final = ("geoarrow.wkb", "ogc.wkb")
_UUID: Final = "arrow.uuid"


def plain_column(column: pa.Array) -> pa.Array:
    """A column as bytes or texts, if its extension type is one of these."""
    name = column.type.extension_name if isinstance(column, pa.ExtensionArray) else None
    if name == _UUID:
        return _uuid_texts(column.storage)
    return column.storage if name in _WELL_KNOWN_BINARY else column


_DIGITS: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_OF_DIGITS: Final = [place for place in range(36) if place not in (8, 13, 18, 23)]
"""Where a UUID's text has digits; elsewhere it has hyphens."""


def _uuid_texts(column: pa.FixedSizeBinaryArray) -> pa.Array:
    """The texts of UUIDs that are stored as 16 bytes."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    given = column.drop_null()
    data = np.frombuffer(b"".join(given.to_pylist()), np.uint8).reshape(len(given), 16)
    letters = np.full((len(given), 36), ord("-"), np.uint8)
    letters[:, _OF_DIGITS] = _DIGITS[np.stack([data >> 4, data & 15], axis=-1).reshape(len(given), 32)]
    offsets = np.arange(len(given) + 1, dtype=np.int64) * 36
    texts = pa.LargeStringArray.from_buffers(len(given), pa.py_buffer(offsets), pa.py_buffer(letters))
    return texts.take(pa.array(np.cumsum(valid) - 1, mask=~valid))
