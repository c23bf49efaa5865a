"""What is a LIKE pattern to a kernel? Tokens: bytes of UTF-8 and two wildcards."""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.kernels import codes


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
