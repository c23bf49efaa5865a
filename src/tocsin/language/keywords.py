"""What does TEXT ask of a string? All words, and phrases of words that stand side by side.

It is short for conditions on readings of the attribute (`model.readings`): its words have each of these, and the line
of its words has each phrase in it. A list of strings has the words of all, and no phrase from one string to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from tocsin.language.segmenting import is_alone, words_of
from tocsin.model.expression import Array, Attribute, Call, Constant, Expression, Like, conjunction
from tocsin.model.readings import as_line, as_text, as_words
from tocsin.model.texts import PLAIN, Text
from tocsin.model.values import Value

TEXT: Final = "TEXT"


def is_text(node: Expression) -> bool:
    """Whether it asks for words of a text."""
    return isinstance(node, Call) and node.name == TEXT


class Keywords(NamedTuple):
    """What is asked of a text, as its own words are made."""

    words: tuple[str, ...]  # each once, those of phrases among them
    phrases: tuple[tuple[str, ...], ...]  # of two words or more


@lru_cache(1 << 14)  # a chunk's queries are looked at when they are checked, and when they are compiled
def keywords_of(query: str, how: Text) -> Keywords:
    """What words, and phrases in double quotes, ask for; raises `ValueError` with what is wrong.

    >>> keywords_of('fresh "New York" pizza', PLAIN)
    Keywords(words=('fresh', 'new', 'york', 'pizza'), phrases=(('new', 'york'),))
    """
    pieces = query.split('"')
    if len(pieces) % 2 == 0:
        raise ValueError("a phrase ends in double quotes, as in '\"new york\" pizza'")
    _refuse_operators('"..."'.join(pieces[::2]))
    parts: list[list[str]] = []
    phrases: list[list[str]] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            parts.append(words_of(piece, how))
            phrases.append(parts[-1])
            continue
        runs = [piece] if piece.isascii() else piece.split()
        own = [words_of(run, how) for run in runs]
        parts.extend(own)
        phrases.extend(words for words in own if any(map(is_alone, words)))
    distinct = tuple(dict.fromkeys(word for part in parts for word in part))
    if not distinct:
        raise ValueError(_no_words(query, how))
    return Keywords(distinct, tuple(dict.fromkeys(tuple(phrase) for phrase in phrases if len(phrase) > 1)))


# A quote begins and ends a run of characters, as a space does. Only signs are looked for, so that this is linear.
_OPERATOR: Final = re.compile(
    r"""(?<![^\s"])(?P<without>[-!](?=[\w"])|NOT(?![^\s"]))
      | (?P<either>\||(?<![^\s"])OR(?![^\s"]))
      | (?P<all>(?<![^\s"])AND(?![^\s"]))
      | (?P<part>(?<=[\w"])\*|\*(?=[\w"]))
      | (?P<nearly>(?<=[^\W\d_"])[~^](?![^\s\d.])|(?<=")[~^](?![^\s\d.]))
      | (?P<field>(?<![^\s"])[^\W\d][\w.]*+:(?=[\w"]))""",
    re.VERBOSE,
)
_ADVICE: Final = {
    "without": "what a text must not have is asked by NOT TEXT(...)",
    "either": "one word or another is asked by TEXT(...) OR TEXT(...)",
    "all": "all words are asked for in any case",
    "part": "a word is asked for whole; beginnings of words take LIKE or MATCHES",
    "nearly": "words are asked for as they are, and none weighs more; other spellings are asked by OR",
    "field": "words are looked for in the attribute before them, TEXT(title, 'words')",
}


def _refuse_operators(outside: str) -> None:
    """What other search languages read as more than words is not taken for a word; in phrases it is none."""
    found = _OPERATOR.search(outside)
    if found is None:
        return
    before, after = outside[: found.start()].split(), outside[found.end() :].split(None, 1)
    start = before[-1] if before and not outside[found.start() - 1].isspace() else ""
    end = after[0] if after and not outside[found.end()].isspace() else ""
    run = (start + found[0] + end)[:40]
    hint = f"; as a word it is written {run.lower()!r}" if run in ("AND", "OR", "NOT") else ""
    raise ValueError(f"{run!r}: {_ADVICE[str(found.lastgroup)]}{hint}")


def _no_words(query: str, how: Text) -> str:
    if how.drop_stop_words and words_of(query, Text(keep_accents=how.keep_accents)):
        return f"{query[:40]!r} has none but stop words of {how.language}; name a word that counts"
    return f"{query[:40]!r} has no word in it; name at least one, as in 'seafood paris'"


def text_truth(value: Value | None, query: str, settings: str = str(PLAIN)) -> bool | None:
    """TEXT: whether a string, or a list of strings, has all words and phrases; None for what is neither.

    >>> text_truth("Fresh seafood, in Paris", "paris seafood"), text_truth("Paris", "seafood"), text_truth(5.0, "five")
    (True, False, None)
    """
    lines = lines_of(value, Text.of(settings))
    if lines is None:
        return None
    asked = keywords_of(query, Text.of(settings))
    has_words = {word for line in lines for word in line}.issuperset(asked.words)
    return has_words and all(any(has_phrase(line, phrase) for line in lines) for phrase in asked.phrases)


def text_in(node: Call, values: Mapping[str, Any]) -> Value | None:
    """The value of the attribute that a TEXT looks at; the text itself, where the value is its words."""
    name = cast(Attribute, node.arguments[0]).name
    return cast(Value | None, values.get(as_text(name), values.get(name)))


def lines_of(value: Value | None, how: Text) -> list[list[str]] | None:
    """The words of a string, or of each string of a list; None for what is neither."""
    if isinstance(value, str):
        return [words_of(value, how)]
    if isinstance(value, tuple):
        return [words_of(one, how) for one in value if isinstance(one, str)]
    return None


def text_problem(query: str, settings: str = str(PLAIN)) -> str | None:
    """What is wrong with the words of a TEXT, or with how they are to be made; None for nothing."""
    try:
        keywords_of(query, Text.of(settings))
    except ValueError as error:
        return str(error)
    return None


def has_phrase(line: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether words stand side by side, in that order."""
    count = len(phrase)
    return any(tuple(line[at : at + count]) == phrase for at in range(len(line) - count + 1))


# ---- what it is short for


def settings_of(node: Call) -> Text:
    """How the words of a TEXT are made."""
    return Text.of(cast(str, cast(Constant, node.arguments[2]).value)) if len(node.arguments) > 2 else PLAIN


def asked_by(node: Call) -> Keywords:
    """What a TEXT asks for."""
    return keywords_of(cast(str, cast(Constant, node.arguments[1]).value), settings_of(node))


def text_meant(node: Call) -> Expression:
    """TEXT as conditions on readings: each word is among its words, and each phrase is in the line of them.

    >>> from tocsin.language import parse, to_text
    >>> print(to_text(text_meant(parse("TEXT(title, 'fresh seafood')"))).replace(chr(0), "|"))
    A_CONTAINS("title|words|plain", ('fresh')) AND A_CONTAINS("title|words|plain", ('seafood'))
    """
    name, settings, asked = cast(Attribute, node.arguments[0]).name, str(settings_of(node)), asked_by(node)
    return spelled_out(
        Attribute(as_words(name, settings)),
        map(Constant, asked.words),
        Attribute(as_line(name, settings)),
        (Constant(pattern_of(phrase)) for phrase in asked.phrases),
    )


def spelled_out(
    words: Attribute, asked: Iterable[Constant], line: Attribute, patterns: Iterable[Constant]
) -> Expression:
    """That a list has some words, and a line is LIKE some patterns."""
    has_words = [Call("A_CONTAINS", (words, Array((word,)))) for word in asked]
    return conjunction([*has_words, *(Like(line, pattern) for pattern in patterns)])


def pattern_of(phrase: Sequence[str]) -> str:
    """The LIKE pattern of the lines that have a phrase in them."""
    return f"%{_literally(line_text([phrase]))}%"


def _literally(text: str) -> str:
    """A LIKE pattern of a text itself."""
    return re.sub(r"[%_\\]", r"\\\g<0>", text)


def line_text(lines: Sequence[Sequence[str]]) -> str:
    """Words as one string with spaces around each, in which a phrase is found as a substring."""
    return "  ".join([" " + " ".join(line) + " " for line in lines])
