"""Tokenizer of CQL2 text: one regular expression, applied once from left to right.

Text that cannot be a token becomes a token of a type that the grammar lacks, and ends the list. So the parser stops at
the first error in the text, of whatever kind, and `syntax_errors.py` words the message.
"""

from __future__ import annotations

import re
from typing import Final

from tocsin.errors import ExpressionError
from tocsin.language.functions import SHAPES, is_function
from tocsin.model.expression import MAX_DEPTH, MAX_NODES

KEYWORDS: Final = frozenset(("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "DIV"))

_KINDS_OF_WORDS: Final = {word: word for word in KEYWORDS} | {"DIV": "MULTIPLY"}

UNCLOSED_STRING: Final = "UNCLOSED_STRING"
UNCLOSED_NAME: Final = "UNCLOSED_NAME"
EMPTY_NAME: Final = "EMPTY_NAME"
STRAY: Final = "STRAY"
UNKNOWN_FUNCTION: Final = "UNKNOWN_FUNCTION"

# The character ranges of the standard's `identifierStart` and `identifierPart`.
_NAME_START: Final = (
    "A-Za-z_:\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1ffe\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME: Final = f"[{_NAME_START}][{_NAME_START}.0-9\u0300-\u036f\u203f\u2040]*+"

# Possessive quantifiers: a failed attempt never looks at a character twice.
_TOKEN: Final = re.compile(
    rf"""\s*+(?:
        (?P<NAME>{_NAME})
      | (?P<STRING>'[^']*+(?:''[^']*+)*+')
      | (?P<NUMBER>(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+)
      | (?P<LPAR>\()
      | (?P<RPAR>\))
      | (?P<COMMA>,)
      | (?P<COMPARISON><>|<=|>=|[=<>])
      | (?P<PLUS>\+)
      | (?P<MINUS>-)
      | (?P<MULTIPLY>[*/%])
      | (?P<POWER>\^)
      | (?P<QUOTED>"[^"]*+(?:""[^"]*+)*+")
      | (?P<UNCLOSED_STRING>')
      | (?P<UNCLOSED_NAME>")
      | (?P<STRAY>\S)
      | (?P<END>\Z)
    )""",
    re.VERBOSE,
)
MANY: Final = 1000
"""From this many constants, a list after IN becomes one token, which is read ten times as fast."""

CONSTANT: Final = re.compile(r"'[^']*+(?:''[^']*+)*+'|[+-]?+(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+")
_CONSTANTS: Final = re.compile(rf"(?:\s*+(?:{CONSTANT.pattern})\s*+,){{{MANY},}}+\s*+(?:{CONSTANT.pattern})(?=\s*+\))")
_ENDS_THE_LIST: Final = frozenset({UNCLOSED_STRING, UNCLOSED_NAME, STRAY})
_SIGNS: Final = frozenset({"PLUS", "MINUS"})
_VALUES: Final = frozenset({"NAME", "NUMBER", "STRING", "QUOTED"})
_OPERATORS: Final = frozenset({"COMPARISON", "PLUS", "MINUS", "MULTIPLY", "POWER"})
_OPERAND_ENDS: Final = frozenset({"NAME", "QUOTED", "STRING", "NUMBER", "TRUE", "FALSE", "NULL", "RPAR", "SHAPE"})
_IDENTIFIER: Final = re.compile(_NAME)


class Token:
    """A token and its position in code points, with the attributes that the parser generator expects."""

    __slots__ = ("end_pos", "start_pos", "type", "value")

    # The generator copies these to its end marker. Positions are offsets here, so nothing reads them.
    line = column = end_line = end_column = 0

    def __init__(self, type: str, value: str, start_pos: int, end_pos: int) -> None:
        self.type = type
        self.value = value
        self.start_pos = start_pos
        self.end_pos = end_pos


def tokenize(text: str) -> list[Token]:
    """Split a text into tokens.

    Raises `ExpressionError` for invalid Unicode, parentheses nested too deep, or too many values and operators. Cost:
    linear in the length of the text. Nothing is read behind a comma or a parenthesis that is one too many.
    """
    _refuse_surrogates(text)
    tokens: list[Token] = []
    depth = values = operators = 0
    matches = _TOKEN.finditer(text)
    while (match := next(matches, None)) is not None:
        kind: str = match.lastgroup  # type: ignore[assignment]  # every alternative is a group
        raw = match[kind]
        end = match.end()
        start = end - len(raw)
        values += kind in _VALUES
        operators += kind in _OPERATORS
        if kind == "NAME":
            kind = _KINDS_OF_WORDS.get(raw.upper(), kind) if raw.isascii() else kind
        elif kind == "LPAR":
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep(text, end - 1)
            behind = _named(text, tokens, end)
            if behind < 0:
                return tokens
            if behind:
                depth -= 1
                matches = _TOKEN.finditer(text, behind)
                continue
            if (many := _CONSTANTS.match(text, end) if tokens and tokens[-1].type == "IN" else None) is not None:
                values += len(CONSTANT.findall(many[0]))
                tokens.append(Token(kind, raw, start, end))
                kind, raw, start, end = "CONSTANTS", many[0], *many.span()
                matches = _TOKEN.finditer(text, end)
        elif kind == "RPAR":
            depth -= 1
        elif kind == "NUMBER":
            operators -= _sign_before(tokens)
            raw, start = _signed(tokens, raw, start)
        elif raw == '""':
            kind = EMPTY_NAME
        elif kind == "END":
            break
        if values > MAX_NODES or operators > MAX_NODES:
            raise too_many_nodes(text)
        tokens.append(Token(kind, raw, start, end))
        if kind in _ENDS_THE_LIST or depth < 0 or (kind == "COMMA" and _is_one_too_many(tokens)):
            break
    return tokens


def _is_one_too_many(tokens: list[Token]) -> bool:
    """Whether the last comma follows nothing, or another comma."""
    return len(tokens) < 2 or tokens[-2].type == "COMMA"


def _refuse_surrogates(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = "half of a surrogate pair is not a character; the text is not valid Unicode"
        raise ExpressionError(reason, text, error.start) from None


def _signed(tokens: list[Token], number: str, start: int) -> tuple[str, int]:
    """A number and its start, including a sign before it that has no left operand. That sign's token is removed."""
    if not _sign_before(tokens):
        return number, start
    sign = tokens.pop()
    return sign.value + number, sign.start_pos


def _named(text: str, tokens: list[Token], start: int) -> int:
    """Handle the name before the parenthesis that ends at `start`.

    A geometry becomes one token; the result is its end. The result is 0 if there is no name, or if it is a function,
    and -1 if the name is unknown.
    """
    if not tokens or tokens[-1].type != "NAME":
        return 0
    if tokens[-1].value.upper() == "Z" and len(tokens) > 1 and _is_geometry(tokens[-2]):
        tokens.pop()  # a third coordinate is read, and ignored
    name, depth = tokens[-1], 1
    if name.value.upper() not in SHAPES:
        return 0 if _names_a_function(name) else -1
    for match in _PARENTHESIS.finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            tokens[-1] = Token("SHAPE", text[name.start_pos : match.end()], name.start_pos, match.end())
            return match.end()
    return 0 if _names_a_function(name) else -1  # the parenthesis is never closed


def _is_geometry(token: Token) -> bool:
    return token.type == "NAME" and token.value.upper() in SHAPES | {"POINT"}


_PARENTHESIS: Final = re.compile(r"[()]")


def _sign_before(tokens: list[Token]) -> bool:
    """Whether the last token is a sign without a left operand. Such a sign belongs to the number after it."""
    if not tokens or tokens[-1].type not in _SIGNS:
        return False
    return len(tokens) < 2 or tokens[-2].type not in _OPERAND_ENDS


def _names_a_function(token: Token) -> bool:
    """Turn the name before a '(' into a function token. Returns whether the function is known."""
    name = token.value.upper()
    if is_function(name):
        token.type = "POINT" if name == "POINT" else "FUNCTION"
        return True
    token.type = UNKNOWN_FUNCTION
    return False


def is_plain_name(name: str) -> bool:
    """Whether an attribute's name can be written without double quotes."""
    return _IDENTIFIER.fullmatch(name) is not None and name.upper() not in KEYWORDS


def _too_deep(text: str, offset: int) -> ExpressionError:
    reason = f"parentheses nest more than {MAX_DEPTH} deep here; at most {MAX_DEPTH} is allowed"
    return ExpressionError(reason, text, offset)


def too_many_nodes(text: str = "") -> ExpressionError:
    """The error for an expression that is too large."""
    return ExpressionError(
        f"the expression has more than {MAX_NODES:,} values and operators; at most {MAX_NODES:,} are allowed",
        text,
    )
