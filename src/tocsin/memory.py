"""How is memory that nobody uses given back to the system? The C library keeps it, where it is not told."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import pyarrow as pa


def give_back() -> None:
    """Have the allocators return what they hold and nobody uses, as far as they can. Cost: some milliseconds.

    After much reading or building the C library of Linux holds hundreds of megabytes: of small pieces for ever, and of
    large ones by a threshold that grows with them.
    """
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # of other C libraries
        ctypes.CDLL(None).malloc_trim(0)
