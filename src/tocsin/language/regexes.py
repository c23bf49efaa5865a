"""Regular expressions behind MATCHES: their errors, what they are found in, and a literal that they need.

RE2 is reached through Arrow, which compiles an expression at each call. This pays for many texts. For a few, the
package google-re2, where it is installed, searches with an expression that stays compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc


@cache
def _one_text() -> pa.Array:
    # The first array of a process imports pandas, where it is installed: no module makes one.
    return pa.array([""], pa.string())


def regex_problem(pattern: str) -> str | None:
    """RE2's error for a regular expression; None when it is well-formed.

    >>> regex_problem("a+"), regex_problem("a(")
    (None, 'missing ): a(')
    """
    try:
        pc.match_substring_regex(_one_text(), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair"
    return None


def regex_matches(pattern: str, text: str) -> bool | None:
    """Whether RE2 finds a pattern anywhere in a text; None when the text is not valid Unicode."""
    try:
        found = pc.match_substring_regex(pa.array([text], pa.string()), pattern)
    except UnicodeEncodeError:
        return None
    return bool(found[0].as_py())


_MOST_COMPILED: Final = 2_000
"""So many expressions stay compiled. Most take 5 to 50 kB, with the states that RE2 remembers."""


@lru_cache(_MOST_COMPILED)
def search_of_few(pattern: str) -> Callable[[bytes], Any] | None:
    """RE2's search for a pattern in one text as UTF-8, which returns None if it is not found. It stays compiled.

    None without the package, and for patterns whose meaning depends on the tables of Unicode. Two releases of RE2 may
    differ in these, and Arrow has a release of its own. Cost: 1 us a text, and some 100 us for a new pattern.
    """
    library = _google_re2()
    if library is None or not pattern.isascii() or _NEEDS_UNICODE.search(pattern):
        return None
    options = library.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return library.compile(pattern.encode(), options).search  # type: ignore[no-any-return]
    except library.error:
        return None


_NEEDS_UNICODE: Final = re.compile(r"\\[pPx]")
"""Properties of code points, and code points by number, whose case may be folded."""


@cache
def _google_re2() -> Any:
    """The package google-re2; None if there is none. Other packages have a module of the same name."""
    try:
        import re2
    except ImportError:
        return None
    return re2 if hasattr(re2, "Options") and hasattr(re2, "Set") else None


_TOKEN: Final = re.compile(
    r"""(?P<escape>\\.)
    |(?P<group>\((\?:|\?P?<\w+>)?(?!\?))      # with flags, which may fold case, it is no token
    |(?P<end>\))
    |(?P<either>\|)
    |(?P<optional>[*?]|\{\d+(,\d*)?\})
    |(?P<other>[.^$+]|\[\^?\]?(\\.|\[:\^?\w+:\]|[^\]\\])*\])
    |(?P<letter>[^\\\[(])""",
    re.DOTALL | re.VERBOSE,
)
_FLAGS: Final = re.compile(r"\(\?[imsU]+\)")
_LETTERS_ALONE: Final = re.compile(r"[^\\.^$*+?()\[\]{}|]*+")
_CLASSES: Final = frozenset("dDsSwWbBAz")
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def regex_literal(pattern: str) -> str:
    r"""A literal that every text matched by a regular expression must contain; empty if none is obvious.

    >>> regex_literal(r"^GA-\d+[a-f]*\.pdf$"), regex_literal("(?i)a=*1;"), regex_literal("ab|cd")
    ('.pdf', '1;', '')
    """
    if _LETTERS_ALONE.fullmatch(pattern):
        return pattern
    runs = [""]
    flags = _FLAGS.match(pattern)
    folds = flags is not None and "i" in flags[0]
    depth, at = 0, 0 if flags is None else flags.end()
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        kind, text = _meaning(token) if token is not None else ("unknown", "")
        if token is None or kind == "unknown" or (kind == "either" and depth == 0):
            return ""
        at = token.end()
        depth += (kind == "group") - (kind == "end")
        if kind == "letter" and not (folds and (text.isalpha() or not text.isascii())):  # which stands for others, too
            runs[-1] += text if depth == 0 else ""
            continue
        if kind == "optional":
            runs[-1] = runs[-1][:-1]
        runs.append("")
    return max(runs, key=len)


def _meaning(token: re.Match[str]) -> tuple[str, str]:
    """The kind of a token, and the text that it stands for."""
    kind, text = str(token.lastgroup), token[0]
    if kind != "escape":
        return kind, text
    if text[1] in _CLASSES:
        return "other", ""
    if text[1] in _CONTROLS or (text[1].isascii() and not text[1].isalnum()):
        return "letter", _CONTROLS.get(text[1], text[1])
    return "unknown", ""  # a code point by number, a property, a quoted run
