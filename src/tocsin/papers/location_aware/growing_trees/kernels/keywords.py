"""Keywords that are numbered in order of arrival, so that new ones change no earlier number."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.filtering.kernels.matching import register_tables
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Regions
from tocsin.index.spatial_text.kernels.reading import find_at_places, forget_message, read_message, token_of
from tocsin.jit.decorators import inlined
from tocsin.jit.views import choose
from tocsin.kernels import codes


class NumberedKeywords(NamedTuple):
    """The tokens of keywords. A attributes, F fields of strings, V strings, G other fields, O operands."""

    fields: Annotated[NDArray[np.int32], 2]  # (A, TYPES) the field among those of strings, or the others; ABSENT
    by_rank: Annotated[NDArray[np.int32], 2]  # (F, V) the token of the string with a rank, ABSENT
    operand_starts: NDArray[np.int64]  # (G + 1,)
    operands: NDArray[np.int64]  # (O,) payloads, ascending within a field
    tokens: NDArray[np.int32]  # (O,)


class GrowingRegionTables(NamedTuple):
    """The tables of regions that come one after the other. R rows."""

    keywords: NumberedKeywords
    regions: Regions
    rows: NDArray[np.int32]  # (R,) the subscription of each row


@inlined
def _token_of(keywords: NumberedKeywords, field: int, kind: int, payload: int) -> int:
    if kind == codes.STRING:
        return np.int64(keywords.by_rank[field, payload >> 1]) if payload & 1 else np.int64(ABSENT)
    first, stop = keywords.operand_starts[field], keywords.operand_starts[field + 1]
    code = np.int64(code_of(keywords.operands, first, stop, payload))
    return np.int64(keywords.tokens[first + (code >> 1)]) if code & 1 else np.int64(ABSENT)


choose(token_of, NumberedKeywords, _token_of)
register_tables(GrowingRegionTables, read_message, forget_message, find_at_places)
