"""Regular expressions of other engines in the syntax of RE2, with the same meaning.

RE2 has no back-references and no look-around; `MATCHES` refuses these. What is left differs in a few signs.
"""

from __future__ import annotations

import re
from typing import Final

from tocsin.language.dialects.dialect import Reader

_SPACES: Final = r"\t\n\v\f\r "
_END: Final = r"(?:\n?\z)"
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?|\(\?[#a-zA-Z<=!P-]?|.", re.DOTALL)


def re2_of(pattern: str, options: str, reader: Reader) -> str:
    r"""A regular expression of Perl's kind (PCRE), with its options as letters, as one of RE2.

    In Perl, `$` matches before a line end at the end of the text, too, and `\s` includes the vertical tab.
    """
    unknown = set(options) - set("ims")
    if unknown:
        reader.refuse(f"the option {min(unknown)!r}", "of the options of a regular expression tocsin takes i, m and s")
    pieces = []
    in_class = False
    for token in _TOKEN.findall(pattern):
        if in_class:
            in_class = token != "]"
            pieces.append(_in_class(token, reader))
        elif token.startswith("["):
            in_class = True
            pieces.append(token)
        else:
            pieces.append(_outside(token, "m" in options, reader))
    flags = "".join(sorted(set(options)))
    return (f"(?{flags})" if flags else "") + "".join(pieces)


def _in_class(token: str, reader: Reader) -> str:
    if token == r"\s":
        return _SPACES
    if token == r"\S":
        reader.refuse(r"\S in a class", "RE2's does not include the vertical tab")
    return token if token != "[" else r"\["


def _outside(token: str, by_lines: bool, reader: Reader) -> str:
    if token == "$":
        return "$" if by_lines else _END
    if token.startswith("(?") and token[2:] not in ("", "P"):
        if token[2:] in ("#", "<", "=", "!") or (token[2:].isalpha() and token[2:] not in "ims"):
            reader.refuse(f"{token} in a regular expression", "RE2 has no look-around and no comments")
        if token[2:] == "m" or token[2:] == "-":
            reader.refuse("an option within a regular expression", "give options beside it")
    return {r"\s": f"[{_SPACES}]", r"\S": f"[^{_SPACES}]", r"\Z": _END}.get(token, token)


# ---- Lucene

_LUCENE_TOKEN: Final = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_LUCENE_ONLY: Final = frozenset('~<>&@#"')
_REPETITION: Final = re.compile(r"[?*+]|\{.+\}")
_MEMBER: Final = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", re.DOTALL)


def re2_of_lucene(pattern: str, reader: Reader, *, ignore_case: bool) -> str:
    """A regular expression of Lucene, which is about the whole value, as one of RE2.

    In Lucene a repetition of a repetition is just that, where RE2 would make it reluctant. `ignore_case` is about
    ASCII, where RE2's option finds other letters, too.
    """
    groups: list[list[str]] = [[]]
    repeated = False
    for token in _LUCENE_TOKEN.findall(pattern):
        pieces = groups[-1]
        is_first = not pieces or pieces[-1] == "|"
        if _REPETITION.fullmatch(token):
            if is_first:
                reader.fail(f"there is nothing before {token} that it repeats")
            pieces[-1] = f"(?:{pieces[-1]}){token}" if repeated else pieces[-1] + token
            repeated = True
            continue
        repeated = False
        if token == "(":
            groups.append([])
        elif token in "|)":
            if is_first and (pieces or token == "|"):
                reader.fail("an alternative is empty; write () for nothing")
            if token == "|":
                pieces.append(token)
            elif len(groups) == 1:
                reader.fail("there is no ( before )")
            else:
                groups.pop()
                groups[-1].append(f"({''.join(pieces)})")
        else:
            pieces.append(_lucene_atom(token, reader, ignore_case))
    if len(groups) > 1:
        reader.fail("there is no ) after (")
    if groups[0] and groups[0][-1] == "|":
        reader.fail("an alternative is empty; write () for nothing")
    return f"(?s)\\A(?:{''.join(groups[0])})\\z"


def _lucene_atom(token: str, reader: Reader, ignore_case: bool) -> str:
    if token == ".":
        return token
    if token in _LUCENE_ONLY:
        reader.refuse(f"{token} in regexp", "RE2 does not have it; a backslash makes it a plain letter")
    if len(token) > 1 and token[0] == "[":
        return _lucene_class(token, reader, ignore_case)
    if token in ("[", "{", "\\"):
        reader.fail(f"{token} needs a backslash before it, or what belongs to it after it")
    if len(token) > 1 and token[1].isascii() and token[1].isalnum():
        reader.refuse(f"{token} in regexp", "write a class, such as [0-9]")
    return letter_of_re2(token[-1], ignore_case=ignore_case)


def _lucene_class(token: str, reader: Reader, ignore_case: bool) -> str:
    start = "[^" if token.startswith("[^") else "["
    inner = token[len(start) : -1]
    if not inner or (inner[-1] == "-" and inner[-2:-1] != "\\"):
        reader.fail("a class is not empty, and a - at its end needs a backslash before it")
    members = []
    for first, last in _MEMBER.findall(inner):
        for letter in (first, last):
            if len(letter) > 1 and letter[1].isascii() and letter[1].isalnum():
                reader.refuse(f"{letter} in regexp", "write a class, such as [0-9]")
        if last and ignore_case and (first[-1].isalpha() or last[-1].isalpha()):
            reader.refuse("a range of letters with case_insensitive", "Lucene's versions differ; write both ranges")
        if last:
            members.append(f"{letter_of_re2(first[-1])}-{letter_of_re2(last[-1])}")
        else:
            members.extend(map(letter_of_re2, _cases(first[-1], ignore_case)))
    return f"{start}{''.join(members)}]"


def _cases(letter: str, ignore_case: bool) -> str:
    """A letter; where the case is ignored, a letter of ASCII in both cases."""
    return letter.upper() + letter.lower() if ignore_case and letter.isascii() and letter.isalpha() else letter


def letter_of_re2(letter: str, *, ignore_case: bool = False) -> str:
    """A letter as a regular expression that matches it alone, or both cases of a letter of ASCII."""
    cases = _cases(letter, ignore_case)
    if len(cases) > 1:
        return f"[{cases}]"
    return (
        f"\\{letter}"
        if letter.isascii() and letter.isprintable() and not letter.isalnum() and letter != " "
        else letter
    )
