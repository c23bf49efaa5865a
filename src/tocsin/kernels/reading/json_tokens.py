"""JSON tokens in plain lines: where they end, and their values. Works on bytes.

Any token that is not plain, valid or not, is SLOW: the caller leaves the line to the standard parser.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, pasted
from tocsin.jit.intrinsics import load_word, lowest_bit
from tocsin.kernels import codes
from tocsin.kernels.numbers import FNV_BASIS, GOLDEN
from tocsin.kernels.reading.decimals import SLOW, number_end, read_number

KNOWN, ABSENT, LATER = 0, 1, 2
"""The state of a scalar: its payload is known; it is null; or Python must convert it later."""

_LOW = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_QUOTES = np.uint64(0x2222222222222222)
_ESCAPES = np.uint64(0x5C5C5C5C5C5C5C5C)
_BLANKS = np.uint64(0x2020202020202020)
_DOTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_ALL = ~np.uint64(0)
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_THREE = np.uint64(3)
_WORD = np.uint64(8)
_MOST_TRIES = 64  # probes of the table of keys; a line that needs more is left to the standard parser
_DEEPEST = 60  # levels of a skipped value; deeper ones are left to the standard parser


@inlined
def blanks(text: NDArray[np.uint8], i: int, stop: int) -> int:
    """The first place from i on that is not JSON white space."""
    while i < stop and (text[i] == 32 or text[i] == 9 or text[i] == 13 or text[i] == 10):
        i += 1
    return i


@inlined
def string_end(text: NDArray[np.uint8], i: int, stop: int) -> tuple[int, int, bool]:
    """The place of the closing quote, a hash of the text before it, and whether that text contains a dot.

    SLOW at an escape or a control character. It reads eight bytes at a time. Of the bytes that the subtraction marks,
    only the lowest is reliable.
    """
    value = FNV_BASIS
    dots = _NONE
    at = np.uint64(i)
    end = np.uint64(stop)
    room = np.uint64(len(text))
    while at < end:
        word = load_word(text, at) if at + _WORD <= room else last_word(text, at, room)
        marked = _zeros(word ^ _QUOTES) | _zeros(word ^ _ESCAPES) | ((word - _BLANKS) & ~word & _HIGH)
        if marked != _NONE:
            bits = np.uint64(lowest_bit(marked)) - np.uint64(7)
            at += bits >> _THREE
            if at >= end or text[at] != 34:
                break
            kept = word & ((_ONE << bits) - _ONE)
            dots |= _zeros((kept | (_ALL << bits)) ^ _DOTS)
            return np.int64(at), _hashed(value, kept), dots != _NONE
        dots |= _zeros(word ^ _DOTS)
        value = _hashed(value, word)
        at += _WORD
    return SLOW, value, False


@pasted
def _zeros(word: int) -> int:
    """A mask with the highest bit of each zero byte. Only the lowest mark is reliable."""
    return (word - _LOW) & ~word & _HIGH


@pasted
def _hashed(value: int, word: int) -> int:
    return ((value ^ word) * GOLDEN) ^ ((value ^ word) * GOLDEN >> np.uint64(29))


@inlined
def last_word(text: NDArray[np.uint8], at: int, room: int) -> int:
    """Like `load_word`, but near the end of a text, padded with blanks."""
    word = _BLANKS
    for k in range(room - at):
        shift = np.uint64(k) << _THREE
        word = (word & ~(np.uint64(255) << shift)) | (np.uint64(text[at + np.uint64(k)]) << shift)
    return word


@inlined
def same_bytes(text: NDArray[np.uint8], i: int, other: NDArray[np.uint8], j: int, length: int) -> bool:
    """Whether text[i:i + length] equals other[j:j + length]."""
    one, two = np.uint64(i), np.uint64(j)
    left = np.uint64(length)
    while left >= _WORD:
        if load_word(text, one) != load_word(other, two):
            return False
        one, two, left = one + _WORD, two + _WORD, left - _WORD
    if one + _WORD <= np.uint64(len(text)) and two + _WORD <= np.uint64(len(other)):
        kept = (_ONE << (left << _THREE)) - _ONE
        return (load_word(text, one) ^ load_word(other, two)) & kept == _NONE
    for k in range(left):
        if text[one + k] != other[two + k]:
            return False
    return True


@inlined
def read_scalar(text: NDArray[np.uint8], i: int, stop: int) -> tuple[int, int, int, int]:
    """The place after a scalar (or SLOW), its type and payload, and its state: KNOWN, ABSENT or LATER.

    The payload of a string is its hash.
    """
    zero = np.int64(0)
    if i >= stop:
        return SLOW, zero, zero, zero
    byte = text[i]
    if byte == 34:  # "
        end, key_hash, _ = string_end(text, i + 1, stop)
        return (end + 1 if end >= 0 else SLOW), np.int64(codes.STRING), np.int64(key_hash), np.int64(KNOWN)
    if byte == 45 or 48 <= byte <= 57:  # - or a digit
        end, key, exact = read_number(text, i, stop)
        return end, np.int64(codes.NUMBER), key, np.int64(KNOWN if exact or end < 0 else LATER)
    end = literal_end(text, i, stop)
    if byte == 110:  # null
        return end, np.int64(codes.UNTYPED), zero, np.int64(ABSENT)
    return end, np.int64(codes.BOOLEAN), np.int64(byte == 116), np.int64(KNOWN)


@inner
def literal_end(text: NDArray[np.uint8], i: int, stop: int) -> int:
    """The place after `true`, `false` or `null`, or SLOW."""
    if i + 4 <= stop and text[i] == 116 and text[i + 1] == 114 and text[i + 2] == 117 and text[i + 3] == 101:
        return i + 4
    if i + 4 <= stop and text[i] == 110 and text[i + 1] == 117 and text[i + 2] == 108 and text[i + 3] == 108:
        return i + 4
    if i + 5 <= stop and text[i] == 102 and text[i + 1] == 97 and text[i + 2] == 108:
        if text[i + 3] == 115 and text[i + 4] == 101:
            return i + 5
    return SLOW


@inner
def skip_value(
    text: NDArray[np.uint8],
    i: int,
    stop: int,
    any_value: bool,
    keys: NDArray[np.int64],
    objects: NDArray[np.int64],
) -> int:
    """The place after a value that is not needed, or SLOW if it is not plainly valid.

    Without `any_value`, an object or a list is SLOW, too, because something in it is wanted. So is an object with a
    duplicate key.
    """
    opened = np.uint64(0)  # one bit a level: 1 for an object
    depth = 0
    while True:
        if i >= stop:
            return SLOW
        byte = text[i]
        if byte == 123 or byte == 91:  # { or [
            if not any_value or depth == _DEEPEST:
                return SLOW
            is_object = byte == 123
            i = blanks(text, i + 1, stop)
            if i < stop and text[i] == byte + 2:  # closed at once
                i += 1
            else:
                opened = (opened << _ONE) | np.uint64(is_object)
                depth += 1
                if is_object:
                    objects[0] += 1
                    objects[depth + 1] = objects[0]
                    i = _skip_key(text, i, stop, keys, objects[depth + 1], objects[1])
                if i < 0:
                    return SLOW
                continue
        elif byte == 34:
            i = string_end(text, i + 1, stop)[0] + 1
        elif byte == 45 or 48 <= byte <= 57:
            i = number_end(text, i, stop)[0]
        else:
            i = literal_end(text, i, stop)
        if i <= 0:
            return SLOW
        while depth > 0:  # after a value: close the levels that end here, then go on to the next value
            i = blanks(text, i, stop)
            if i >= stop:
                return SLOW
            in_object = opened & _ONE != _NONE
            if text[i] == (125 if in_object else 93):
                opened >>= _ONE
                depth -= 1
                i += 1
            elif text[i] == 44:
                i = blanks(text, i + 1, stop)
                if in_object:
                    i = _skip_key(text, i, stop, keys, objects[depth + 1], objects[1])
                if i < 0:
                    return SLOW
                break
            else:
                return SLOW
        else:
            return i


@inner
def is_new_key(key_hash: int, stamp: int, first: int, keys: NDArray[np.int64]) -> bool:
    """Insert a key of an object into a hash table; False if it is there, or may be there.

    `keys` are pairs of a hash and an object's stamp. Stamps grow; those below `first` are of earlier lines.
    """
    mask = np.int64(len(keys) // 2 - 1)
    place = (key_hash ^ (key_hash >> 32) ^ (stamp * 40503)) & mask
    for _ in range(_MOST_TRIES):
        if keys[2 * place + 1] < first:
            keys[2 * place], keys[2 * place + 1] = key_hash, stamp
            return True
        if keys[2 * place] == key_hash and keys[2 * place + 1] == stamp:
            return False
        place = (place + 1) & mask
    return False


@inner
def _skip_key(text: NDArray[np.uint8], i: int, stop: int, keys: NDArray[np.int64], stamp: int, first: int) -> int:
    """The place of the value after a key and its colon, or SLOW."""
    if i >= stop or text[i] != 34:
        return SLOW
    end, key_hash, dotted = string_end(text, i + 1, stop)
    if (
        end < 0 or dotted or not is_new_key(np.int64(key_hash), stamp, first, keys)
    ):  # a dot in a nested name may give an attribute twice
        return SLOW
    i = blanks(text, end + 1, stop)
    if i >= stop or text[i] != 58:
        return SLOW
    return blanks(text, i + 1, stop)
