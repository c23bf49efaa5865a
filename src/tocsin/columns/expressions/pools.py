"""Pools of what leaves refer to: strings, sets, patterns, boxes and leaves, each stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from tocsin.columns.payloads import AT, key_of, string_payload
from tocsin.kernels import codes
from tocsin.model.values import Instant, Scalar

Item = TypeVar("Item")


class Pool(Generic[Item]):
    """Distinct items, numbered in order of arrival."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._numbers: dict[Item, int] = {}

    @property
    def numbers(self) -> Mapping[Item, int]:
        """The number of each item."""
        return self._numbers

    def number(self, item: Item) -> int:
        """The number of an item, which is added if it is new."""
        number = self._numbers.setdefault(item, len(self.items))
        if number == len(self.items):
            if len(self._numbers) > number + 1:  # an interrupted call numbered another item, and did not add it
                del self._numbers[item]
                self.items.append(next(reversed(self._numbers)))
                return self.number(item)
            self.items.append(item)
        return number


class Leaf(NamedTuple):
    """One distinct predicate: a row of the `leaf_` arrays of `Expressions`."""

    kind: int
    attribute: int = 0
    type: int = 0
    operation: int = 0
    transform: int = 0
    other: int = 0
    low: int = 0
    high: int = 0


@dataclass(slots=True)
class Pools:
    """Everything that leaves refer to by number."""

    attributes: Pool[str] = field(default_factory=Pool)
    strings: Pool[str] = field(default_factory=Pool)
    transforms: Pool[str] = field(default_factory=Pool)
    leaves: Pool[Leaf] = field(default_factory=Pool)
    sets: Pool[tuple[tuple[int, int], ...]] = field(default_factory=Pool)
    patterns: Pool[tuple[int, ...]] = field(default_factory=Pool)
    regexes: Pool[tuple[str, int]] = field(default_factory=Pool)
    boxes: Pool[tuple[float, float, float, float]] = field(default_factory=Pool)
    constants: Pool[float] = field(default_factory=Pool)
    terms: Pool[tuple[tuple[int, int, int], ...]] = field(default_factory=Pool)
    truths: Pool[tuple[tuple[int, int], ...]] = field(default_factory=Pool)

    def __post_init__(self) -> None:
        self.transforms.number("")

    def payload(self, value: Scalar, side: int = AT) -> tuple[int, int]:
        """The type of a constant, and its payload or the payload just below or above it."""
        if isinstance(value, str):
            return codes.STRING, string_payload(self.strings.number(value), side)
        if isinstance(value, bool):
            return codes.BOOLEAN, int(value) + side
        if isinstance(value, Instant):
            return codes.INSTANT, value.microseconds + side
        return codes.NUMBER, key_of(value) + side


def like_tokens(pattern: str) -> tuple[int, ...]:
    r"""A LIKE pattern as tokens: bytes of UTF-8, ANY_RUN for `%`, ANY_ONE for `_`.

    >>> like_tokens(r"a%\_")
    (97, 256, 95)
    """
    tokens: list[int] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == "%":
            tokens.append(codes.ANY_RUN)
        elif letter == "_":
            tokens.append(codes.ANY_ONE)
        else:
            tokens.extend((next(letters, letter) if letter == "\\" else letter).encode())
    return tuple(tokens)


def like_text(tokens: Sequence[int]) -> str:
    r"""The LIKE pattern of tokens.

    >>> like_text(like_tokens(r"a%\_é"))
    'a%\\_é'
    """
    escaped = {codes.ANY_RUN: b"%", codes.ANY_ONE: b"_", **{ord(letter): b"\\" + letter.encode() for letter in "%_\\"}}
    return b"".join(escaped.get(token) or bytes([token]) for token in tokens).decode(errors="replace")
