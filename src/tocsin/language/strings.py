"""String operations behind CASEI, ACCENTI and LIKE."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

_ESCAPE: Final = "\\"

FOLDING: Final = f"rules 2 with Unicode {unicodedata.unidata_version}"
"""The version of the folding in CASEI, ACCENTI and TEXT. Saved indexes store the version that made them."""


def fold_case(text: str) -> str:
    """CASEI: fold the case of a text as Unicode defines it.

    >>> fold_case("Straße")
    'strasse'
    """
    return text.casefold()


def strip_accents(text: str) -> str:
    """ACCENTI: remove the marks on letters (decompose, drop category Mn, compose again).

    Latin letters that Unicode does not decompose, such as ł and ø, become their base letter.

    >>> strip_accents("Chișinău, Übergröße, Łódź")
    'Chisinau, Ubergroße, Lodz'
    """
    if text.isascii():
        return text
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return without_strokes(unicodedata.normalize("NFC", bare))


def without_strokes(text: str) -> str:
    """Replace Latin letters with strokes, hooks and the like, which Unicode does not decompose, by plain letters.

    >>> without_strokes("łøđħ, æ þ é")
    'lodh, æ þ é'
    """
    find, plain = _stroked()
    return find.sub(lambda found: plain[found[0]], text)


@cache
def _stroked() -> tuple[re.Pattern[str], dict[str, str]]:
    """The pattern of such letters and their plain letters, from Unicode names: LATIN SMALL LETTER L WITH STROKE."""
    plain = {}
    for code in (*range(0x80, 0x2C80), *range(0xA720, 0xAB70), *range(0x1DF00, 0x1E000)):
        named = _FORM_OF_A_LETTER.match(unicodedata.name(chr(code), ""))
        if named is not None and not unicodedata.decomposition(chr(code)):
            plain[chr(code)] = named[2].lower() if named[1] == "SMALL" else named[2]
    return re.compile(f"[{''.join(plain)}]"), plain


_FORM_OF_A_LETTER: Final = re.compile("LATIN (SMALL|CAPITAL) LETTER ([A-Z]) WITH ")


def like_parts(pattern: str) -> list[list[str | None]]:
    r"""Split a LIKE pattern at its `%` into lists of code points, with None for `_`.

    A lone `\` at the end stands for itself; the parser rejects it earlier.

    >>> like_parts(r"a_%\%")
    [['a', None], ['%']]
    """
    parts: list[list[str | None]] = [[]]
    letters = iter(pattern)
    for letter in letters:
        if letter == "%":
            parts.append([])
        elif letter == "_":
            parts[-1].append(None)
        else:
            parts[-1].append(next(letters, letter) if letter == _ESCAPE else letter)
    return parts


def ends_in_escape(pattern: str) -> bool:
    r"""Whether a LIKE pattern ends in a `\` that escapes nothing."""
    return (len(pattern) - len(pattern.rstrip(_ESCAPE))) % 2 == 1


def like_problem(pattern: str) -> str | None:
    r"""The error for a LIKE pattern with a `\` before anything but `%`, `_` and `\`; None if there is none.

    >>> like_problem(r"%\cmd.exe"), like_problem(r"50\%")
    ('in LIKE, \\ escapes only %, _ and \\; a backslash itself is written \\\\, as in %\\\\cmd.exe', None)
    """
    if _ESCAPE not in pattern:
        return None
    meant = _LONE_ESCAPE.sub(lambda found: found[1] or r"\\", pattern)
    if meant == pattern:
        return None
    return rf"in LIKE, \ escapes only %, _ and \; a backslash itself is written \\, as in {meant:.60}"


_LONE_ESCAPE: Final = re.compile(r"(\\[%_\\])|\\")


def like_regex(pattern: str) -> str:
    r"""The RE2 (and Python) regular expression that a whole string must match to be LIKE a pattern.

    >>> like_regex("50%_")
    '(?s)^50.*.$'
    """
    parts = (("." if c is None else re.escape(c) for c in part) for part in like_parts(pattern))
    # RE2's `$` is the end of the text. Python's also matches before a last newline, so use fullmatch there.
    return "(?s)^" + ".*".join("".join(part) for part in parts) + "$"


def like_matches(pattern: str, text: str) -> bool:
    """Whether a text is LIKE a pattern. Cost: at most the product of the two lengths.

    >>> like_matches("ip_d%", "ipad2"), like_matches("ip_d%", "my ipad2")
    (True, False)
    """
    first, *others = like_parts(pattern)
    if not others:
        return len(first) == len(text) and _fits(first, text, 0)
    *middle, last = others
    end = len(text) - len(last)
    if end < len(first) or not _fits(first, text, 0) or not _fits(last, text, end):
        return False
    # Placing each part as far left as possible leaves the most room for the following parts.
    at = len(first)
    for part in middle:
        at = _end_of(part, text, at, end)
        if at < 0:
            return False
    return True


def _end_of(part: list[str | None], text: str, start: int, stop: int) -> int:
    """Where the first place of a part within text[start:stop] ends; -1 if there is none."""
    if None not in part:
        place = text.find("".join(letter or "" for letter in part), start, stop)
    else:
        pattern = "".join("." if letter is None else re.escape(letter) for letter in part)
        match = re.compile(pattern, re.DOTALL).search(text, start, stop)
        place = -1 if match is None else match.start()
    return place + len(part) if place >= 0 else -1


def _fits(part: list[str | None], text: str, at: int) -> bool:
    return all(letter is None or letter == text[at + i] for i, letter in enumerate(part))
