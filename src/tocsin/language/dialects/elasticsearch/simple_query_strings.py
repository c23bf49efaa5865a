"""`simple_query_string`: a syntax in which every text is a query. Signs that make no sense are left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from tocsin.language.dialects.dialect import Json, Reader, not_true
from tocsin.language.dialects.elasticsearch import clauses as parts
from tocsin.language.dialects.elasticsearch.clauses import MUST, SHOULD, Occurring, Search
from tocsin.language.dialects.elasticsearch.dates import DateForm
from tocsin.language.dialects.elasticsearch.reading import Fields
from tocsin.model.expression import Constant, Expression

_PARAMETERS: Final = ("flags", "quote_field_suffix")
_FLAGS: Final = ("AND", "OR", "NOT", "PREFIX", "PHRASE", "PRECEDENCE", "ESCAPE", "WHITESPACE", "FUZZY", "NEAR")
_SPACES: Final = " \t\n\r"
_SIGNS: Final = {'"': "PHRASE", "|": "OR", "+": "AND", "(": "PRECEDENCE", ")": "PRECEDENCE"}


def simple_query_string(inner: Json, reader: Reader, fields: Fields) -> Expression:
    """The condition of a simple query string."""
    text, members = parts.parameters_of(inner, reader, _PARAMETERS)
    search = parts.search_of(members, reader, fields, DateForm())
    flags = _flags_of(members.get("flags", "ALL"), reader)
    with reader.at("query"):
        if text.strip() == "*":
            return Constant(True)
        found = _Scanner(text, search, flags).query(members.get("minimum_should_match"))
    return Constant(False) if found is None else found


def _flags_of(given: Json, reader: Reader) -> frozenset[str]:
    with reader.at("flags"):
        if given == -1:
            return frozenset(_FLAGS)
        names = {name.strip().upper() for name in reader.string(given, "flags").split("|")}
        names = {"NEAR" if name == "SLOP" else name for name in names}
        if unknown := names.difference(_FLAGS, ("ALL", "NONE")):
            reader.fail(f"there is no flag {min(unknown)!r}; the flags are {', '.join(_FLAGS)}, ALL and NONE")
        return frozenset(_FLAGS) if "ALL" in names else frozenset(names)


_Make: TypeAlias = Callable[[Json], Expression | None]
"""Makes a condition, for the least number of its own optional parts; None if there is none."""


def _nothing(least: Json) -> Expression | None:
    return None


def _closing(text: str, has_escapes: bool) -> dict[int, int]:
    """The place of each bracket that is closed, and of the one that closes it. Cost: linear in the text."""
    opened, pairs, is_escaped = list[int](), dict[int, int](), False
    for at, letter in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif letter == "\\" and has_escapes:
            is_escaped = True
        elif letter == "(":
            opened.append(at)
        elif letter == ")" and opened:
            pairs[opened.pop()] = at
    return pairs


class _Scanner:
    """Reads a text from left to right. Operators bind alike: a new one takes all that stands before it."""

    def __init__(self, text: str, search: Search, flags: frozenset[str]) -> None:
        self._text, self._search, self._flags, self._at = text, search, flags, 0
        self._closing = _closing(text, "ESCAPE" in flags)
        self._parts: list[Occurring] = []
        self._operation: str | None = None  # that comes next
        self._previous: str | None = None
        self._negations = 0
        self._first: _Make = _nothing

    def query(self, least: Json = None) -> Expression | None:
        """The condition of the whole text; None if it has no words."""
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == "-" and "NOT" in self._flags:
                self._negations += 1
                self._at += 1
                continue
            self._take(sign)
            self._negations = 0
        if len(self._parts) > 1 or least is None:
            return parts.combined(self._parts, least, self._search.reader)
        return self._first(least)

    def _take(self, sign: str) -> None:
        flag = _SIGNS.get(sign)
        if sign in _SPACES and "WHITESPACE" in self._flags:
            self._at += 1
        elif flag is None or flag not in self._flags:
            self._token()
        elif sign == ")":
            self._at += 1
        elif sign == "(":
            self._group()
        elif sign == '"':
            self._phrase()
        else:
            if self._operation is None and self._parts:
                self._operation = MUST if sign == "+" else SHOULD
            self._at += 1

    def _add(self, make: _Make) -> None:
        """Add a condition to the query."""
        condition = make(None)
        if condition is None:
            return
        if self._negations % 2:
            make = partial(self._alone, condition := not_true(condition))
        if not self._parts:
            self._parts, self._first = [(SHOULD, condition)], make
        else:
            operation = self._operation or (MUST if self._search.operator == "and" else SHOULD)
            if operation != self._previous:
                before = parts.combined(self._parts, None, self._search.reader)
                assert before is not None
                self._parts = [(operation, before)]
            self._parts.append((operation, condition))
            self._previous = operation
        self._operation = None

    def _alone(self, condition: Expression, least: Json) -> Expression | None:
        return parts.combined([(SHOULD, condition)], least, self._search.reader)

    def _group(self) -> None:
        start = self._at + 1
        end = self._closing.get(self._at)
        if end is None:
            self._at = start
            return
        if end == start:
            self._operation = None
        else:
            inner = self._text[start:end]
            self._add(lambda least: _Scanner(inner, self._search, self._flags).query(least))
        self._at = end + 1

    def _phrase(self) -> None:
        start = self._at + 1
        end = self._after_letters(start)
        if end == len(self._text):
            self._at = start
            return
        self._at = end + 1
        has_distance = self._text.startswith("~", self._at) and "NEAR" in self._flags
        if end == start and not has_distance:
            self._operation = None
            return
        phrase = self._plain(self._text[start:end])
        if has_distance:
            self._at += 1
            if self._at < len(self._text) and self._distance() and phrase:
                self._search.reader.refuse("slop")
            self._at += 1  # the sign that ends the number has no effect
        self._add(lambda least: parts.term(phrase, self._search, is_phrase=True))

    def _after_letters(self, at: int) -> int:
        """Where the next quote is; the end of the text if there is none."""
        while at < len(self._text) and self._text[at] != '"':
            at += 2 if self._text[at] == "\\" and "ESCAPE" in self._flags else 1
        return min(at, len(self._text))

    def _plain(self, text: str) -> str:
        letters, found = iter(text), []
        for letter in letters:
            found.append(next(letters, "") if letter == "\\" and "ESCAPE" in self._flags else letter)
        return "".join(found)

    def _token(self) -> None:
        """A term, with `*` at its end the first letters of one."""
        copied: list[str] = []
        is_prefix = False
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter == "\\" and "ESCAPE" in self._flags:
                copied.extend(self._text[self._at + 1 : self._at + 2])
                is_prefix = False
                self._at += 2
                continue
            if self._ends(letter):
                break
            if copied and letter == "~" and "FUZZY" in self._flags:
                self._at += 1
                if self._distance():
                    self._search.reader.refuse("fuzziness")
                break
            is_prefix = bool(copied) and letter == "*" and "PREFIX" in self._flags
            copied.append(letter)
            self._at += 1
        text = "".join(copied)
        if text:
            self._add(lambda least: self._term(text, least, is_prefix=is_prefix))

    def _term(self, text: str, least: Json, *, is_prefix: bool) -> Expression | None:
        if is_prefix:
            return parts.prefix(text[:-1], self._search)
        return parts.counted(text, least, self._search)

    def _ends(self, letter: str) -> bool:
        flag = "WHITESPACE" if letter in _SPACES else _SIGNS.get(letter)
        return flag in self._flags

    def _distance(self) -> int:
        """The number after `~`: 2 if there is nothing, and 0 if there is something else."""
        start = self._at
        while self._at < len(self._text) and not self._ends(self._text[self._at]):
            self._at += 1
        digits = self._text[start : self._at]
        return int(digits or 2) if not digits or (digits.isascii() and digits.isdigit()) else 0
