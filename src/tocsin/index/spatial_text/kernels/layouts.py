"""Layouts shared by structures of regions and keywords: keywords as tokens, and subscriptions as a box with tokens.

A token is the number of a keyword of some list attribute. Tokens ascend with the keywords of an attribute, and differ
between attributes. So a message is one set of tokens, whichever lists they come from, and a box at some places.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ABSENT: Final = -1
TYPES: Final = 4
"""The types of values, `codes.NUMBER` to `codes.INSTANT`."""

ROOM: Final = 128
"""Room behind the results that may be written to, but is not kept."""


class Keywords(NamedTuple):
    """The keywords of all subscriptions, by attribute and type: F fields. A attributes, O tokens, V strings."""

    fields: Annotated[NDArray[np.int32], 2]  # (A, TYPES) the field of an attribute's elements of a type, ABSENT
    operand_starts: NDArray[np.int64]  # (F + 1,) tokens [operand_starts[f], operand_starts[f + 1]) are field f's
    operands: NDArray[np.int64]  # (O,) payloads, strings as codes of the vocabulary; ascending within a field
    rows: NDArray[np.int32]  # (F,) the row of a field of strings below, ABSENT
    marks: Annotated[NDArray[np.uint64], 2]  # (., V / 64 + 1) a bit for each string that is a token
    firsts: Annotated[NDArray[np.int32], 2]  # (., V / 64 + 1) the token of a word's first bit


class Regions(NamedTuple):
    """Subscriptions as a box of one of P attributes, and tokens. A attributes, S subscriptions, T tokens in all.

    Where subscriptions are decomposed, each row counts as a subscription here.
    """

    places: NDArray[np.int32]  # (A,) the number of the attribute among those with boxes, ABSENT
    owners: NDArray[np.int32]  # (S,) number of the attribute of its box; ABSENT if it is never satisfied
    boxes: Annotated[NDArray[np.float64], 2]  # (S, 4) LEFT .. UPPER; closed
    token_starts: NDArray[np.int64]  # (S + 1,)
    tokens: NDArray[np.int32]  # (T,) ascending within a subscription


class RegionTables(NamedTuple):
    """The tables that kernels read: regions, and keywords. R rows."""

    keywords: Keywords
    regions: Regions
    rows: NDArray[np.int32]  # (R,) the subscription of each row; (0,) if every subscription is one row


class Seen(NamedTuple):
    """A thread's memory. `counted` is the number of rows, or 0 if no structure counts."""

    tokens: Annotated[NDArray[np.int32], "tokens"]  # of the message
    marks: Annotated[NDArray[np.uint64], "tokens // 64 + 1"]  # a bit for each of them; 0 between messages
    boxes: Annotated[NDArray[np.float64], "places, 4", np.nan]  # the message's box at each place; NaN if it has none
    has: Annotated[NDArray[np.uint8], "places"]  # whether it has a box
    examined: Annotated[NDArray[np.int64], "1"]  # number of subscriptions compared with the message
    clock: Annotated[NDArray[np.int64], "1"]  # grows with every message
    stamps: Annotated[NDArray[np.int64], "counted"]  # the clock when a subscription was last met
    counts: Annotated[NDArray[np.int32], "counted"]  # number of its tokens met then
    sums: Annotated[NDArray[np.float64], "counted"]  # their weight
    hits: Annotated[NDArray[np.int32], "rows + ROOM"]
    flags: Annotated[NDArray[np.uint8], "rows + ROOM"]
    words: Annotated[NDArray[np.uint64], "words"]  # 0 between messages
    summary: Annotated[NDArray[np.uint64], "words // 64 + 1"]
    buckets: Annotated[NDArray[np.int32], "buckets"]


class Message(NamedTuple):
    """A message's request at one place: its box there, and the number of its tokens in `Seen`."""

    left: float
    lower: float
    right: float
    upper: float
    tokens: int
    stamp: int  # the clock
