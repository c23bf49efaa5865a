"""Messages for syntax errors: from the token where the parser stopped to a sentence for the author."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Final, NamedTuple

from tocsin.errors import ExpressionError, UnsupportedError
from tocsin.language import tokens as words
from tocsin.language.functions import SHAPES, not_supported, unknown_function
from tocsin.language.operators.duration import duration_meant
from tocsin.language.tokens import Token

_PREDICATE_OPERATORS: Final = frozenset({"COMPARISON", "IN", "BETWEEN", "LIKE", "IS", "NOT"})
_END: Final = "$END"


class _Stop(NamedTuple):
    """Where and why the parser stopped."""

    text: str
    before: list[Token]
    found: Token
    expected: Collection[str]  # terminals of the grammar, which users never see

    @property
    def previous(self) -> Token | None:
        return self.before[-1] if self.before else None

    @property
    def wants_value(self) -> bool:
        return "NAME" in self.expected

    def follows(self, *kinds: str) -> bool:
        return bool(self.before) and self.before[-1].type in kinds


def syntax_error(text: str, tokens: list[Token], found: Token, expected: Collection[str]) -> ExpressionError:
    """Make the error for a text that the parser rejected at the token `found`; `expected` would have been valid."""
    if found.type == _END:
        end = tokens[-1].end_pos if tokens else 0
        before, found = tokens, Token(_END, "", end, end)
    else:
        before = [token for token in tokens if token.start_pos < found.start_pos]
    stop = _Stop(text, before, found, expected)
    for explain in _EXPLANATIONS:
        error = explain(stop)
        if error is not None:
            return error
    return _error(stop, f"expected {_options(stop)}, found {_show(found)}")


def _error(stop: _Stop, reason: str, at: Token | None = None) -> ExpressionError:
    return ExpressionError(reason, stop.text, (at or stop.found).start_pos)


# ---- explanations, the most specific first; each returns None if it does not apply


def _bad_word(stop: _Stop) -> ExpressionError | None:
    """Characters that do not form a token."""
    found = stop.found
    if found.type == words.UNCLOSED_STRING:
        return _error(stop, "unclosed string: the closing ' is missing")
    if found.type == words.UNCLOSED_NAME:
        return _error(stop, 'unclosed name: the closing " is missing')
    if found.type == words.EMPTY_NAME:
        return _error(stop, "\"\" is a name without letters; an empty string is written ''")
    if found.type == words.UNKNOWN_FUNCTION:
        return _error(stop, unknown_function(found.value))
    if found.type == words.STRAY:
        return _error(stop, _stray(stop))
    return None


def _stray(stop: _Stop) -> str:
    start = stop.found.start_pos
    for sign, advice in _STRAY_ADVICE.items():
        if stop.text.startswith(sign, start):
            return f"{sign!r} is not understood; {advice}"
    return f"the character {stop.found.value!r} is not understood"


_STRAY_ADVICE: Final = {
    "!=": "write <> for 'not equal'",
    "!~": "write NOT MATCHES(name, '^a.*z$')",
    "~": "write MATCHES(name, '^a.*z$') for a regular expression",
    "!": "write NOT",
    "&&": "write AND",
    "&": "write AND",
    "||": "write OR",
    "|": "write OR",
    "[": "arrays are written with parentheses, as in ('a', 'b')",
    "]": "arrays are written with parentheses, as in ('a', 'b')",
    ".": 'a name with several parts is quoted as a whole, as in "a b.c"',
    "`": "names are quoted with double quotes, strings with single quotes",
    "\u2018": "strings are written in straight single quotes '",
    "\u2019": "strings are written in straight single quotes '",
    "\u201c": "names are quoted with straight double quotes, strings with single quotes",
    "\u201d": "names are quoted with straight double quotes, strings with single quotes",
    "{": "CQL2 JSON begins with { as a whole",
    ";": "an expression ends without ;",
}


def _two_signs(stop: _Stop) -> ExpressionError | None:
    """`==`, `=>` and other spellings of operators in other languages."""
    previous = stop.previous
    if previous is None or previous.end_pos != stop.found.start_pos:
        return None
    sign = previous.value + stop.found.value
    advice = {"==": "=", "=>": ">=", "=<": "<=", "><": "<>", "**": "^", "<>=": "<>", "<==": "<=", ">==": ">="}
    if sign not in advice:
        return None
    return _error(stop, f"{sign!r} is not understood; write {advice[sign]}", previous)


def _elsewhere(stop: _Stop) -> ExpressionError | None:
    """Words of other languages in the place of an operator: `name ILIKE 'a%'`, `DATE '2024-05-01'`, `x::int`."""
    found, previous = stop.found, stop.previous
    if previous is not None and found.type == "STRING" and previous.value.upper() in ("DATE", "TIMESTAMP"):
        name = previous.value.upper()
        return _error(stop, f"{name} is written with parentheses: {name}({found.value[:40]})", previous)
    if previous is None or found.type not in ("NAME", words.UNKNOWN_FUNCTION):
        return None
    advice = _WORDS_ELSEWHERE.get(found.value.upper())
    if advice is None and "OR" in stop.expected and (near := get_close_matches(found.value.upper(), words.KEYWORDS, 1)):
        advice = f"did you mean {near[0]}?"
    if advice is None and previous.type == "NAME" and previous.value.upper() == "EXISTS":
        return _error(stop, unknown_function(previous.value), previous)
    return None if advice is None else _error(stop, f"{found.value[:40]} is not understood; {advice}")


_WORDS_ELSEWHERE: Final = {
    "ILIKE": "write CASEI(name) LIKE CASEI('a%')",
    **dict.fromkeys(("RLIKE", "REGEXP", "SIMILAR", "MATCHES"), "write MATCHES(name, '^a.*z$')"),
    **dict.fromkeys(("CONTAINS", "STARTSWITH", "ENDSWITH"), "write name LIKE '%part%', 'part%' or '%part'"),
    "ESCAPE": "LIKE escapes with \\",
    **dict.fromkeys(("EQ", "EQUALS"), "write ="),
    "NE": "write <>",
    "MOD": "write %",
    "XOR": "write (a = 1) <> (b = 2)",
    **dict.fromkeys(("WITHIN", "DURING"), "the span is the last argument, as in COUNT(a = 1, 'PT5M') >= 3"),
    "FOR": "how long a condition must hold is an option of a monitor, enter_after='5 min'",
    **dict.fromkeys(("FOLLOWED", "THEN"), "for b after a write b = 1 AND SINCE(a = 1) <= 600"),
    "OVER": "the key of the monitor, or BY, says whose events count",
}


def _over_time(stop: _Stop) -> ExpressionError | None:
    """`COUNT(*)`, `COUNT(DISTINCT card)`, `5 minutes` and `INTERVAL '5 minutes'`, as SQL and people write them."""
    found, previous = stop.found, stop.previous
    if previous is None:
        return None
    opened = [token.value.upper() for token in stop.before[-3:]]
    if found.value == "*" and opened[-2:] == ["COUNT", "("]:
        return _error(stop, "'*' is not understood; to count all events write COUNT(TRUE, 'PT10M')")
    if opened == ["COUNT", "(", "DISTINCT"]:
        return _error(stop, "DISTINCT is not understood; write COUNT_DISTINCT(card, TRUE, 'P1D')", previous)
    if previous.type == "NUMBER" and (meant := duration_meant(stop.text[previous.start_pos : found.end_pos])):
        return _error(stop, f"a length of time is written '{meant}'", previous)
    if previous.value.upper() == "INTERVAL" and found.type in ("NUMBER", "STRING"):
        meant = duration_meant(stop.text[found.start_pos :].lstrip("'"))
        return _error(stop, f"a length of time is written '{meant or 'PT10M'}', without INTERVAL", previous)
    return None


def _geometry(stop: _Stop) -> ExpressionError | None:
    """`POLYGON EMPTY` and `POINT M (1 2 3)`, where no parenthesis follows the name; and `POINT(1, 2)`."""
    previous = stop.previous
    if previous is None:
        return None
    name = previous.value.upper()
    if stop.found.value.upper() in ("Z", "M", "ZM") and name in SHAPES | {"POINT"}:
        reason = not_supported(f"{name} {stop.found.value.upper()}")
        return UnsupportedError(reason, stop.text, previous.start_pos)
    if stop.found.value.upper() == "EMPTY" and name in SHAPES | {"POINT"}:
        return _error(stop, f"a geometry cannot be empty; give {name} its coordinates", previous)
    if stop.found.type == "COMMA" and "NUMBER" in stop.expected and not stop.wants_value:
        return _error(stop, "POINT is written POINT(x y), without a comma")
    return None


def _separators(stop: _Stop) -> ExpressionError | None:
    """`1.000,50`, `1,5` and `1 000`: numbers as people write them."""
    previous = stop.previous
    if previous is None or previous.type != "NUMBER":
        return None
    number = _SEPARATED.match(stop.text, previous.start_pos)
    if number is None or number.end() <= stop.found.start_pos:
        return None
    reason = f"a number has a decimal point and no other separators; write {_plain(number[1])}"
    return _error(stop, reason, previous)


_SEPARATED: Final = re.compile(r"[+-]?\s*(\d+(?:[.,_]\d+|[ '\u2019\u00a0\u202f]\d{3}(?!\d))+)", re.ASCII)


def _plain(number: str) -> str:
    """A number without separators; both ways to read it if its only separator is a comma before three digits."""
    separators = re.sub(r"\d", "", number)
    head, last, tail = number.rpartition(separators[-1])
    whole = re.sub(r"\D", "", number)
    decimal = re.sub(r"\D", "", head) + "." + tail
    if last not in (".", ",") or separators.count(last) > 1:
        return whole
    return f"{whole} or {decimal}" if len(separators) == 1 and len(tail) == 3 else decimal


def _missing_value(stop: _Stop) -> ExpressionError | None:
    nothing_but_opened = stop.found.type == _END and stop.follows("LPAR")
    if not stop.wants_value or nothing_but_opened:
        return None
    if stop.previous is None:
        if stop.found.type == _END:
            return _error(stop, "the expression is empty; write a condition such as price <= 580")
        return _error(stop, f"expected a condition such as price <= 580, found {_show(stop.found)}")
    hint = "; to ask whether a value is missing, write IS NULL" if stop.found.type == "NULL" else ""
    return _error(stop, f"expected a value after {_show(stop.previous)}, found {_show(stop.found)}{hint}")


def _parentheses(stop: _Stop) -> ExpressionError | None:
    opening = _open_parentheses(stop.before)
    if stop.found.type == _END and opening:
        return _error(stop, "unclosed '(': the closing ) is missing", opening[-1])
    if stop.found.type == "RPAR" and not opening:
        return _error(stop, "this ')' has no '(' before it")
    return None


def _chain(stop: _Stop) -> ExpressionError | None:
    """`a = 1 = 2`: an operator of predicates after a complete predicate."""
    operands_wanted = "COMPARISON" in stop.expected or "OR" not in stop.expected
    if operands_wanted or stop.found.type not in _PREDICATE_OPERATORS:
        return None
    return _error(
        stop,
        f"comparisons do not chain: {_show(stop.found)} cannot follow a comparison; use parentheses, as in "
        "(a = 1) = (b = 2), or AND",
    )


def _misplaced_list(stop: _Stop) -> ExpressionError | None:
    """`a = ('x', 'y')`: a list in the place of a single value."""
    if stop.found.type != "COMMA" or "COMMA" in stop.expected:
        return None
    opening = _open_parentheses(stop.before)
    if not opening:
        return _error(stop, "',' is not allowed here; join conditions with AND or OR")
    reason = "a list is not allowed here; it follows IN, or is the argument of a function such as A_CONTAINS"
    return _error(stop, reason, opening[-1])


_EXPLANATIONS: Final[tuple[Callable[[_Stop], ExpressionError | None], ...]] = (
    _over_time,
    _elsewhere,
    _geometry,
    _separators,
    _bad_word,
    _two_signs,
    _missing_value,
    _parentheses,
    _chain,
    _misplaced_list,
)


# ---- wording of what was expected and found


def _options(stop: _Stop) -> str:
    """What could follow, in words."""
    if "OR" not in stop.expected:
        return _special_options(stop)
    if "COMMA" in stop.expected:
        return "',' or ')'"
    options = [word for kind, word in _FOLLOWERS if kind in stop.expected]
    if not _open_parentheses(stop.before):
        options.append("the end")
    return _either(options)


def _special_options(stop: _Stop) -> str:
    """What could follow inside an unfinished predicate or a list."""
    expected = stop.expected
    if stop.follows("IS"):
        return "NULL or NOT NULL after IS"
    if stop.follows("NOT"):
        return "NULL after IS NOT" if "NULL" in expected else "IN, LIKE or BETWEEN after NOT"
    if stop.follows("IN"):
        return "'(' and a list of values after IN"
    if "AND" in expected:
        return "AND between the bounds of BETWEEN"
    if "NUMBER" in expected:
        return "a number or ')'" if "RPAR" in expected else "a number"
    return _either([word for kind, word in _FOLLOWERS if kind in expected])


def _either(options: list[str]) -> str:
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)


_FOLLOWERS: Final = (
    ("COMPARISON", "an operator such as = or <"),
    ("AND", "AND"),
    ("OR", "OR"),
    ("COMMA", "','"),
    ("RPAR", "')'"),
)


def _show(token: Token) -> str:
    if token.type == _END:
        return "the end of the expression"
    if token.type == "STRING":
        return token.value if len(token.value) <= 42 else f"{token.value[:40]}...'"
    if token.value.upper() in words.KEYWORDS:
        return token.value.upper()
    return f"'{token.value}'" if len(token.value) <= 40 else f"'{token.value[:40]}...'"


def _open_parentheses(tokens: list[Token]) -> list[Token]:
    opening: list[Token] = []
    for token in tokens:
        if token.type == "LPAR":
            opening.append(token)
        elif token.type == "RPAR" and opening:
            opening.pop()
    return opening
