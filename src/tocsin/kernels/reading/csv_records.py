"""Finds the records of a CSV text and counts their fields. Works on bytes and understands quotes (RFC 4180)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel

_QUOTE = 34
_LINE_FEED = 10
_CARRIAGE_RETURN = 13


@kernel
def split_records(
    text: NDArray[np.uint8], is_last: bool, delimiter: int, records: NDArray[np.int64]
) -> tuple[int, int, int]:
    """Find the complete records, skipping blank lines. Returns how many, and where the rest begins: its byte and line.

    Writes a row of `records` for each: start, stop (without the line break), fields, and the number of line breaks
    before it. With `is_last`, the end of the text also ends a record. If that end lies within quotes, `fields` is
    negative. `delimiter` is the byte that separates fields.
    """
    count = 0
    line = 0
    start = 0
    start_line = 0
    fields = 1
    quoted = False  # inside quotes
    at_start = True  # at the start of a field, the only place where a quote opens
    i = 0
    while i <= len(text):
        at_end = i == len(text)
        if at_end and not is_last:
            break
        byte = _LINE_FEED if at_end else np.int64(text[i])
        if byte == _QUOTE and (at_start or quoted):
            quoted = not quoted or (i + 1 < len(text) and text[i + 1] == _QUOTE)
            if not at_start and quoted:
                i += 1  # a doubled quote
            at_start = False
        elif byte == delimiter and not quoted:
            fields += 1
            at_start = True
        elif (byte == _LINE_FEED or byte == _CARRIAGE_RETURN) and (not quoted or at_end):
            stop = i
            if byte == _CARRIAGE_RETURN and not at_end:
                if i + 1 == len(text) and not is_last:
                    break  # a line feed may follow
                if i + 1 < len(text) and text[i + 1] == _LINE_FEED:
                    i += 1
            if stop > start:
                records[count, 0] = start
                records[count, 1] = stop
                records[count, 2] = -fields if quoted else fields
                records[count, 3] = start_line
                count += 1
            line += 1
            start = min(i + 1, len(text))
            start_line = line
            fields = 1
            quoted = False
            at_start = True
        else:
            at_start = False
            line += byte == _LINE_FEED
        i += 1
    return count, start, start_line
