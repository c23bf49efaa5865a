"""Strings that are rarely read, compressed in blocks: the texts of subscriptions beside their index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, starts_of
from tocsin.errors import SegmentError

_BLOCK: Final = 256
"""Strings in a block. Blocks of 64 are a quarter larger together, and of 1024 read in four times the time."""
_CODEC: Final = pa.Codec("zstd", compression_level=1)


@dataclass(frozen=True, slots=True, eq=False)
class CompressedTexts:
    """Strings as `Texts` has them. One costs the decompression of its block: 20 us, nothing for the next of it.

    Thread-safe.
    """

    count: int
    sizes: NDArray[np.int64]  # (B,) bytes of each block before compression
    starts: NDArray[np.int64]  # (B + 1,) where each block begins in `data`
    data: NDArray[np.uint8]  # of each block: the lengths of its strings as int32, then the strings
    _last: dict[int, Texts] = field(default_factory=dict, repr=False)  # the block that was read last

    @classmethod
    def of_arrow(cls, array: pa.Array) -> CompressedTexts:
        """From an Arrow array of strings without nulls. Cost: linear, some 300 MB a second."""
        texts = Texts.of_arrow(array)
        blocks, sizes = [], []
        for first in range(0, len(texts), _BLOCK):
            starts = texts.starts[first : first + _BLOCK + 1]
            block = np.diff(starts).astype(np.int32).tobytes() + texts.data[starts[0] : starts[-1]].tobytes()
            sizes.append(len(block))
            blocks.append(_CODEC.compress(block, asbytes=True))
        starts = starts_of(list(map(len, blocks)), len(blocks))
        return cls(len(texts), frozen(sizes, np.int64), starts, np.frombuffer(b"".join(blocks), np.uint8))

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the blocks are as many as the strings need."""
        if not len(self.starts) - 1 == len(self.sizes) == -(-self.count // _BLOCK):
            raise ValueError(f"{len(self.sizes)} blocks cannot hold {self.count} texts")
        if len(self.sizes) and self.sizes.min() < 0:
            raise ValueError("the size of a block is negative")

    def __len__(self) -> int:
        return self.count

    def text(self, number: int) -> str:
        """One string."""
        block, place = divmod(number, _BLOCK)
        found = self._last.get(block)
        if found is None:
            found = self._read(block)
            self._last.clear()
            self._last[block] = found
        return found.text(place)

    def arrow(self) -> pa.Array:
        """All strings as an Arrow array. Cost: linear, some 500 MB a second."""
        blocks = [self._read(block).arrow() for block in range(len(self.sizes))]
        return pa.concat_arrays(blocks) if blocks else pa.array([], pa.large_string())

    def _read(self, block: int) -> Texts:
        """The strings of a block. Raises `SegmentError` if it is damaged: blocks from a file are not checked before."""
        count = min(_BLOCK, self.count - block * _BLOCK)
        packed = self.data[self.starts[block] : self.starts[block + 1]].data
        try:
            raw = np.frombuffer(_CODEC.decompress(packed, int(self.sizes[block])), np.uint8)
            lengths = raw[: 4 * count].view(np.int32)
            texts = Texts(starts_of(lengths, count), raw[4 * count :])
            texts.arrow().validate(full=True)  # the offsets, too
        except (OSError, ValueError, OverflowError, MemoryError) as error:
            raise SegmentError(f"a saved text cannot be read ({error}). Compile the index again.") from None
        return texts
