"""Lucene's classic query syntax: a query string as clauses. `lucene.lark` has the grammar.

A token is the longest that fits, as in Lucene. What is a token depends on the one before: a bound of a range, a boost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import zip_longest
from typing import Any, Final, NamedTuple, TypeAlias

import lark
from lark import Token

from tocsin.errors import ExpressionError
from tocsin.language import rules
from tocsin.language.dialects.dialect import Reader
from tocsin.model.expression import MAX_DEPTH

_SPACE: Final = r"[ \t\n\r\u3000]"
_LETTER: Final = r"[^ \t\n\r\u3000+\-!():^\[\]\"{}~*?\\/]|\\."
_PLAIN: Final = re.compile(
    rf"""
    (?P<SPACE>{_SPACE}+)
    | (?P<QUOTED>"(?:\\.|[^"\\])*")
    | (?P<REGEX>/(?:\\/|[^/])*/)
    | (?P<TERM>(?:{_LETTER}|[*?])(?:{_LETTER}|[-+*?])*)
    | (?P<BARE>[-+!](?={_SPACE}))
    | (?P<FUZZY>~(?:{_LETTER}|[-+])*)
    | (?P<SIGN>[-+!():^\[{{])
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_RANGE: Final = re.compile(
    rf"""
    (?P<SPACE>{_SPACE}+)
    | (?P<QUOTED_BOUND>"(?:\\"|[^"])+")(?=[\s\]}}])
    | (?P<BOUND>[^\s\]}}]+)
    | (?P<SIGN>[\]}}])
    """,
    re.VERBOSE,
)
_BOOST: Final = re.compile(rf"(?P<SPACE>{_SPACE}+)|(?P<NUMBER>[0-9]+(?:\.[0-9]+)?)")
_AFTER: Final = {"LBRACKET": _IN_RANGE, "LBRACE": _IN_RANGE, "RBRACKET": _PLAIN, "RBRACE": _PLAIN}
_AFTER.update({"CARAT": _BOOST, "NUMBER": _PLAIN})
_SIGNS: Final = {
    "+": "PLUS", "-": "MINUS", "!": "NOT", "(": "LPAREN", ")": "RPAREN", ":": "COLON", "^": "CARAT",
    "[": "LBRACKET", "{": "LBRACE", "]": "RBRACKET", "}": "RBRACE",
}  # fmt: skip
_WORDS: Final = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR", "NOT": "NOT", "*": "STAR"}
_WILD: Final = re.compile(r"(?<!\\)(?:\\\\)*[*?]")
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class Word(NamedTuple):
    """A term, several of them, a phrase or a pattern."""

    kind: str
    """TERM, TERMS, STAR, PREFIX, WILDCARD, REGEX, BARE or QUOTED."""
    text: str
    """Without escapes, except for WILDCARD and REGEX."""
    fuzzy: str | None = None
    """The sign `~` and the number after it; None if there is none."""
    is_alone: bool = False
    """Whether a boost, or `~`, stands after it."""


class Range(NamedTuple):
    """The bounds of a range; None where it is open."""

    low: str | None
    high: str | None
    includes_low: bool
    includes_high: bool


class Clause(NamedTuple):
    """A part of a query string."""

    conjunction: str
    """AND or OR, which stand before it; empty if neither does."""
    modifier: str
    """+ or -; empty if there is none."""
    field: str | None
    body: Body


Body: TypeAlias = Word | Range | Sequence[Clause]


def clauses_of(text: str, reader: Reader) -> Sequence[Clause]:
    """The clauses of a query string. Words side by side, of which nothing else is said, are one clause."""
    try:
        found: Sequence[Clause] = _Clauses().transform(_parser().parse(text))
        return found
    except lark.exceptions.VisitError as error:
        raise error.orig_exc from None
    except lark.UnexpectedToken as error:
        token = error.token
        if token.type == "$END":
            reader.fail("the query string ends too early, by Lucene's syntax")
        reader.fail(
            f"Lucene's syntax has no {str(token)[:40]!r} here, at column {(token.start_pos or 0) + 1} of the query "
            "string; a backslash makes a sign a plain letter"
        )


def plain(text: str) -> str:
    r"""A text without its escapes.

    >>> plain(r"\(1\+1\) \u0041")
    '(1+1) A'
    """
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], text)


def escaped(text: str) -> str:
    r"""A text as a query string in which no sign means anything.

    >>> escaped("a:b*")
    'a\\:b\\*'
    """
    return re.sub(r"""[\\+\-!():^\[\]"{}~*?|&/]""", lambda found: "\\" + found[0], text)


class _Lexer(lark.lexer.Lexer):
    """Makes tokens, by which came before."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, data: str) -> Iterator[Token]:  # type: ignore[override]  # lark calls a custom lexer with the text alone
        at, rule, depth = 0, _PLAIN, 0
        while at < len(data):
            found = rule.match(data, at)
            if found is None:
                yield Token("UNKNOWN", data[at], start_pos=at)
                return
            name, text = str(found.lastgroup), found[0]
            if name != "SPACE":
                name = _named(name, text)
                rule = _AFTER.get(name, rule)
                depth += (name == "LPAREN") - (name == "RPAREN")
                if depth > MAX_DEPTH:
                    raise ExpressionError(rules.too_deep(depth))
                yield Token(name, text, start_pos=at)
            at = found.end()


def _named(name: str, text: str) -> str:
    if name == "SIGN":
        return _SIGNS[text]
    if name == "BOUND":
        return "TO" if text == "TO" else name
    if name != "TERM" or text in _WORDS:
        return _WORDS.get(text, name)
    wild = _WILD.search(text)
    if wild is None:
        return name
    return "PREFIX" if wild.end() == len(text) and text.endswith("*") else "WILDCARD"


@cache
def _parser() -> lark.Lark:
    grammar = files("tocsin.language.dialects.elasticsearch").joinpath("lucene.lark").read_text("utf-8")
    return lark.Lark(grammar, parser="lalr", lexer=_Lexer, start="query")


class _Clauses(lark.Transformer[Token, Any]):
    """One callback for each rule of the grammar; `c` holds its children, by position."""

    @staticmethod
    def query(c: list[Clause]) -> Sequence[Clause]:
        return _side_by_side(c)

    @staticmethod
    def joined(c: list[Any]) -> Clause:
        return c[1]._replace(conjunction=c[0].type)  # type: ignore[no-any-return]

    @staticmethod
    def item(c: list[Any]) -> Clause:
        modifier = {"PLUS": "+", "MINUS": "-", "NOT": "-"}[c[0].type] if len(c) > 1 else ""
        return c[-1]._replace(modifier=modifier)  # type: ignore[no-any-return]

    @staticmethod
    def clause(c: list[Any]) -> Clause:
        return Clause("", "", plain(c[0]) if len(c) > 1 else None, c[-1])

    @staticmethod
    def group(c: list[Any]) -> Sequence[Clause]:
        return c[1]  # type: ignore[no-any-return]

    @staticmethod
    def word(c: list[Any]) -> Word:
        kind, text = c[0].type, str(c[0])
        if kind == "REGEX":
            text = text[1:-1]
        elif kind == "PREFIX":
            text = plain(text[:-1])
        elif kind != "WILDCARD":
            text = plain(text)
        return Word(kind, text, c[1] if len(c) > 1 else None, is_alone=len(c) > 1)

    @staticmethod
    def quoted(c: list[Any]) -> Word:
        return Word("QUOTED", plain(c[0][1:-1]), c[1] if len(c) > 1 else None)

    @staticmethod
    def suffix(c: list[Token]) -> str | None:
        return next((str(token) for token in c if token.type == "FUZZY"), None)

    @staticmethod
    def range(c: list[Any]) -> Range:
        (low,), (high,) = (one for one in c if isinstance(one, tuple))
        ends = [one.type for one in c if isinstance(one, Token)]
        return Range(low, high, "LBRACKET" in ends, "RBRACKET" in ends)

    @staticmethod
    def bound(c: list[Token]) -> tuple[str | None]:
        text = plain(c[0][1:-1] if c[0].type == "QUOTED_BOUND" else c[0])
        return (None if text == "*" else text,)


def _side_by_side(clauses: Sequence[Clause]) -> Sequence[Clause]:
    """Terms side by side as one clause, which is made words as a whole.

    A term before AND, OR or `*` stays alone, as in Lucene.
    """
    merged: list[Clause] = []
    runs: list[list[str]] = []  # the terms of each merged clause; none for other clauses
    for clause, after in zip_longest(clauses, clauses[1:]):
        text = clause.body.text if _is_bare(clause) else None  # type: ignore[union-attr]
        if text is not None and runs and runs[-1] and not _ends(after):
            runs[-1].append(text)
        else:
            merged.append(clause)
            runs.append([] if text is None else [text])
    return [
        clause._replace(body=Word("TERMS", " ".join(run))) if len(run) > 1 else clause
        for clause, run in zip(merged, runs, strict=True)
    ]


def _is_bare(clause: Clause) -> bool:
    body = clause.body
    return (
        isinstance(body, Word)
        and body.kind == "TERM"
        and not (body.is_alone or clause.conjunction or clause.modifier or clause.field)
    )


def _ends(after: Clause | None) -> bool:
    """Whether the clause after a term takes it out of a run."""
    if after is None or after.modifier:
        return after is not None and bool(after.conjunction)
    is_star = after.field is None and isinstance(after.body, Word) and after.body.kind == "STAR"
    return bool(after.conjunction) or is_star or after.field == "*"
