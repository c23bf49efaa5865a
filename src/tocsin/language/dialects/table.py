"""The dialects, and the rules of other systems as texts that an index can store.

Such a text is `@`, the name of the dialect, a space, and the rule: `@eventbridge {"state": ["running"]}`. No text of
CQL2 begins with `@`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tocsin.errors import ExpressionError, InvalidInput, TocsinError
from tocsin.language import parse_any, rules
from tocsin.language.dialects.dialect import Dialect, Reader
from tocsin.language.dialects.elasticsearch import Elasticsearch
from tocsin.language.dialects.eventbridge import EventBridge
from tocsin.language.dialects.json_rules_engine import JsonRulesEngine
from tocsin.language.dialects.jsonlogic import JsonLogic
from tocsin.language.dialects.mongodb import MongoDB
from tocsin.language.dialects.sigma import Sigma
from tocsin.language.dialects.sql import Sql
from tocsin.language.explain import Written
from tocsin.model.expression import Expression
from tocsin.model.subscription import shown

DIALECTS: Final[dict[str, Dialect]] = {
    one.name: one for one in (EventBridge(), Sigma(), MongoDB(), Elasticsearch(), JsonLogic(), JsonRulesEngine(), Sql())
}
CQL2: Final = "cql2"
MARK: Final = "@"


class Read(NamedTuple):
    """A rule as a condition, and how the rule writes its parts."""

    tree: Expression
    written: Written
    score: float | None = None
    """The score that the rule gives to the subscription."""


def dialect_named(name: object) -> Dialect:
    """The dialect of this name. Raises `InvalidInput`."""
    found = DIALECTS.get(name) if isinstance(name, str) else None
    if found is None:
        raise InvalidInput(f"there is no language {shown(name)}; give one of {CQL2}, {', '.join(DIALECTS)}")
    return found


def read_rule(rule: Any, language: str) -> Read:
    """Read a rule of another system, decoded or as text. Raises `ExpressionError` or `UnsupportedError`.

    A rule that trips a fault of a dialect, or of a library that parses for it, costs itself and not its batch.
    """
    dialect = dialect_named(language)
    try:
        return tree_of(rule, dialect)
    except (TocsinError, MemoryError):
        raise
    except Exception as error:
        fault = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ExpressionError(f"{dialect.title}: the rule cannot be read ({fault}); please report it") from error


def tree_of(rule: Any, dialect: Dialect) -> Read:
    """Read a rule by its dialect alone. An error other than `TocsinError` is a fault of the dialect."""
    reader = Reader(dialect)
    try:
        tree = rules.whole(dialect.read(dialect.decode(rule), reader))
    except RecursionError:
        raise ExpressionError("the rule nests too deep") from None
    rules.check_size(tree)
    return Read(tree, reader.written, reader.score)


def tagged(rule: Any, language: object) -> str:
    """The text of a rule, with the name of its language. Raises `InvalidInput` if there is no such language."""
    name = dialect_named(language).name
    try:
        text = rule if isinstance(rule, str) else json.dumps(rule, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        raise ExpressionError("half of a surrogate pair is not a character; the rule is not valid Unicode") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ExpressionError(f"the rule is not JSON: {error}") from None
    return f"{MARK}{name} {text}"


def is_tagged(text: str) -> bool:
    """Whether a text begins with the name of its language."""
    return text.startswith(MARK)


def _parts(text: str) -> tuple[str, str]:
    """The name of the language, and the rule, of a text that begins with the name."""
    name, _, rule = text[len(MARK) :].partition(" ")
    return name, rule


def as_given(text: str) -> Mapping[str, Any]:
    """The fields `where` and `language` of a stored text, as a subscription's record has them."""
    if not is_tagged(text):
        return {"where": text}
    name, rule = _parts(text)
    return {"where": dialect_named(name).decode(rule), "language": name}


def read_any(where: str | Mapping[str, Any]) -> Read:
    """Read CQL2 text or JSON, or a rule of another system. Raises `ExpressionError`."""
    if isinstance(where, str) and is_tagged(where):
        return read_tagged(where)
    return Read(parse_any(where), {})


def read_tagged(text: str) -> Read:
    """Read a text that begins with the name of its language."""
    name, rule = _parts(text)
    try:
        return read_rule(rule, name)
    except ExpressionError:
        raise
    except InvalidInput as error:
        raise ExpressionError(str(error)) from None
