"""How does an input become another one? Bytes go, come, repeat, and change places with those of other inputs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

TOKENS: Final = (
    *(b"(", b")", b"[", b"]", b"{", b"}", b'"', b"'", b",", b":", b";"),
    *(b"\n", b"\r\n", b"\r", b"\t", b" ", b"\\", b"\x00"),
    *(b"AND", b"OR", b"NOT", b"IN", b"LIKE", b"BETWEEN", b"IS NULL", b"TRUE"),
    *(b"DATE(", b"TIMESTAMP('", b"CASEI(", b"BBOX("),
    *(b"0", b"-1", b"1e308", b"1e999", b"9007199254740993", b"0.1", b"NaN", b"null", b"true", b"-0.0", b"1" * 400),
    *(b'{"op":', b'"args":[', b"\\ud800", b"\\u0000"),
    *(b"\xff", b"\xc3\x28", b"\xef\xbb\xbf", b"\xed\xa0\x80", "é😀".encode()),
    *(b"2024-06-01T00:00:00Z", b"2024-02-30", b"((((((((", b"[[[[[[[[", b'""', b'"""'),
)


def mutated(dice: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Another input: one of the seeds after some changes, most often few."""
    data = bytearray(dice.choice(seeds))
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        _CHANGES[dice.randrange(len(_CHANGES))](dice, data, seeds)
    return bytes(data[:100_000])


def _flip(dice: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    if data:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def _insert(dice: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = dice.randint(0, len(data))
    data[at:at] = dice.choice(TOKENS)


def _replace(dice: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = dice.randint(0, len(data))
    data[at : at + dice.randint(0, 8)] = dice.choice(TOKENS)


def _cut(dice: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = dice.randint(0, len(data))
    del data[at : at + dice.randint(1, 20)]


def _repeat(dice: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = dice.randint(0, len(data))
    part = bytes(data[at : at + dice.randint(1, 30)])
    data[at:at] = part * dice.choice((1, 2, 50))


def _splice(dice: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = dice.choice(seeds)
    at, first = dice.randint(0, len(data)), dice.randint(0, len(other))
    data[at : at + dice.randint(0, 30)] = other[first : first + dice.randint(1, 60)]


def _end(dice: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    del data[dice.randint(0, len(data)) :]


_CHANGES: Final = (_flip, _insert, _insert, _replace, _cut, _repeat, _splice, _end)
