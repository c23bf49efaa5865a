"""The operator TEXT: a search for words, and for phrases of adjacent words.

TEXT is a shorthand for conditions on two readings of the attribute (`model.readings`). The list of its words must
contain each word, and the line of its words each phrase. A list of strings has the words of all its strings. No phrase
crosses from one string to the next.
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
    """Whether a node is a TEXT call."""
    return isinstance(node, Call) and node.name == TEXT


class Keywords(NamedTuple):
    """The words and phrases of a query, made in the same way as the words of the text."""

    words: tuple[str, ...]  # each once, including those in phrases
    phrases: tuple[tuple[str, ...], ...]  # of at least two words


@lru_cache(1 << 14)  # the queries of a chunk are parsed when they are checked, and again when they are compiled
def keywords_of(query: str, how: Text) -> Keywords:
    """Parse a query of words, and phrases in double quotes; raises `ValueError` with the reason.

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


# A quote begins and ends a run of characters, as a space does. Only operator signs are searched for, so the cost is
# linear.
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
    "without": "write NOT TEXT(...) for words that a text must not have",
    "either": "write TEXT(...) OR TEXT(...) for one word or another",
    "all": "TEXT always asks for all words; leave it out",
    "part": "TEXT asks for whole words; write LIKE or MATCHES for parts of words",
    "nearly": "TEXT asks for words as they are written, all with one weight; write OR for other spellings",
    "field": "TEXT looks for words in its first argument: TEXT(title, 'words')",
}


def _refuse_operators(outside: str) -> None:
    """Reject what other search languages treat as operators. Inside phrases everything is plain text."""
    found = _OPERATOR.search(outside)
    if found is None:
        return
    before, after = outside[: found.start()].split(), outside[found.end() :].split(None, 1)
    start = before[-1] if before and not outside[found.start() - 1].isspace() else ""
    end = after[0] if after and not outside[found.end()].isspace() else ""
    run = (start + found[0] + end)[:40]
    hint = f"; to ask for the word, write {run.lower()!r}" if run in ("AND", "OR", "NOT") else ""
    raise ValueError(f"{run!r}: {_ADVICE[str(found.lastgroup)]}{hint}")


def _no_words(query: str, how: Text) -> str:
    if how.drop_stop_words and words_of(query, Text(keep_accents=how.keep_accents)):
        return f"{query[:40]!r} has only stop words of {how.language}; name another word"
    return f"{query[:40]!r} has no word; name at least one, as in 'seafood paris'"


def text_truth(value: Value | None, query: str, settings: str = str(PLAIN)) -> bool | None:
    """TEXT: whether a string, or a list of strings, contains all words and phrases; None for any other value.

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
    """The value of the attribute that a TEXT searches: the original text if the attribute's own value is its words."""
    name = cast(Attribute, node.arguments[0]).name
    return cast(Value | None, values.get(as_text(name), values.get(name)))


def lines_of(value: Value | None, how: Text) -> list[list[str]] | None:
    """The words of a string, or of each string in a list; None for any other value."""
    if isinstance(value, str):
        return [words_of(value, how)]
    if isinstance(value, tuple):
        return [words_of(one, how) for one in value if isinstance(one, str)]
    return None


def text_problem(query: str, settings: str = str(PLAIN)) -> str | None:
    """What is wrong with the query of a TEXT, or with its settings; None if nothing is."""
    try:
        keywords_of(query, Text.of(settings))
    except ValueError as error:
        return str(error)
    return None


def has_phrase(line: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the words occur side by side, in that order."""
    count = len(phrase)
    return any(tuple(line[at : at + count]) == phrase for at in range(len(line) - count + 1))


# ---- what TEXT is a shorthand for


def settings_of(node: Call) -> Text:
    """The settings by which a TEXT makes words."""
    return Text.of(cast(str, cast(Constant, node.arguments[2]).value)) if len(node.arguments) > 2 else PLAIN


def asked_by(node: Call) -> Keywords:
    """The words and phrases that a TEXT searches for."""
    return keywords_of(cast(str, cast(Constant, node.arguments[1]).value), settings_of(node))


def text_meant(node: Call) -> Expression:
    """Expand TEXT to conditions on readings: its words contain each word, and the line of them contains each phrase.

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
    """The condition that a list contains some words, and a line is LIKE some patterns."""
    has_words = [Call("A_CONTAINS", (words, Array((word,)))) for word in asked]
    return conjunction([*has_words, *(Like(line, pattern) for pattern in patterns)])


def pattern_of(phrase: Sequence[str]) -> str:
    """The LIKE pattern of the lines that contain a phrase."""
    return f"%{_literally(line_text([phrase]))}%"


def _literally(text: str) -> str:
    """The LIKE pattern that matches exactly this text."""
    return re.sub(r"[%_\\]", r"\\\g<0>", text)


def line_text(lines: Sequence[Sequence[str]]) -> str:
    """Join words to one string with spaces around each, so that a phrase is a substring."""
    return "  ".join([" " + " ".join(line) + " " for line in lines])
