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
