"""What do structures of regions and keywords have in common? Keywords as tokens, and a box with tokens each.

A token is a keyword of some list attribute, as a number: they ascend with the keywords of an attribute, and those of
different attributes differ. So a message is one set of tokens, whatever its lists, and boxes on the way.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ABSENT: Final = -1
TYPES: Final = 4
"""Of values, `codes.NUMBER` to `codes.INSTANT`."""

ROOM: Final = 128
"""Behind what is found: so much may be written that is not kept."""


class Keywords(NamedTuple):
    """The keywords that anybody asks for, by attribute and type: F fields. A attributes, O tokens, V strings."""

    fields: Annotated[NDArray[np.int32], 2]  # (A, TYPES) the field of an attribute's elements of a type, ABSENT
    operand_starts: NDArray[np.int64]  # (F + 1,) tokens [operand_starts[f], operand_starts[f + 1]) are field f's
    operands: NDArray[np.int64]  # (O,) payloads, strings as codes of the vocabulary; ascending within a field
    rows: NDArray[np.int32]  # (F,) the row of a field of strings below, ABSENT
    marks: Annotated[NDArray[np.uint64], 2]  # (., V / 64 + 1) a bit for each string that is a token
    firsts: Annotated[NDArray[np.int32], 2]  # (., V / 64 + 1) the token of a word's first bit


class Regions(NamedTuple):
    """Subscriptions as a box of one of P attributes, and tokens. A attributes, S subscriptions, T tokens in all."""

    places: NDArray[np.int32]  # (A,) the number of the attribute among those with boxes, ABSENT
    owners: NDArray[np.int32]  # (S,) whose box it is, by that number; ABSENT where it is never satisfied
    boxes: Annotated[NDArray[np.float64], 2]  # (S, 4) LEFT .. UPPER; closed
    token_starts: NDArray[np.int64]  # (S + 1,)
    tokens: NDArray[np.int32]  # (T,) ascending within a subscription


class RegionTables(NamedTuple):
    """Regions, and what a message is among them."""

    keywords: Keywords
    regions: Regions


class Seen(NamedTuple):
    """A thread's memory; `counted` is how many subscriptions there are, or 0 where no structure counts."""

    tokens: Annotated[NDArray[np.int32], "tokens"]  # of the message
    marks: Annotated[NDArray[np.uint64], "tokens // 64 + 1"]  # a bit for each of them; 0 between messages
    boxes: Annotated[NDArray[np.float64], "places, 4", np.nan]  # what the message has at each place; NaN for nothing
    has: Annotated[NDArray[np.uint8], "places"]  # whether it has any
    examined: Annotated[NDArray[np.int64], "1"]  # how many subscriptions were compared with the message
    clock: Annotated[NDArray[np.int64], "1"]  # grows with every message
    stamps: Annotated[NDArray[np.int64], "counted"]  # the clock when a subscription was met last
    counts: Annotated[NDArray[np.int32], "counted"]  # how much of it was met then
    sums: Annotated[NDArray[np.float64], "counted"]  # what that weighs
    hits: Annotated[NDArray[np.int32], "subscriptions + ROOM"]
    flags: Annotated[NDArray[np.uint8], "subscriptions + ROOM"]
    words: Annotated[NDArray[np.uint64], "words"]  # 0 between messages
    summary: Annotated[NDArray[np.uint64], "words // 64 + 1"]
    buckets: Annotated[NDArray[np.int32], "buckets"]


class Message(NamedTuple):
    """What a message asks at one place: its box there, and how many tokens `Seen` has of it."""

    left: float
    lower: float
    right: float
    upper: float
    tokens: int
    stamp: int  # the clock
