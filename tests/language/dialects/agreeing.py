"""A rule asked in every way that users ask, and the answers of all ways."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import tocsin
from tocsin.language.dialects import read_rule


def answers(rule: Any, language: str, event: Mapping[str, Any]) -> set[bool | None]:
    """Whether a rule matches an event: by an engine, by `explain`, and by the converted text read again."""
    engine = tocsin.Engine()
    engine.subscribe("rule", rule, language=language)
    with warnings.catch_warnings():  # a text that looks like a mistake is none if a rule says so
        warnings.simplefilter("ignore")
        engine.subscribe("text", tocsin.convert(rule, from_=language))
    found = [match.subscription for match in engine.match(event)]
    told = tocsin.explain({"id": "rule", "where": rule, "language": language}, event)
    return {"rule" in found, "text" in found, told.truth}


def refusal(rule: Any, language: str) -> str:
    """The message with which a rule is rejected; empty if it is read."""
    try:
        read_rule(rule, language)
    except tocsin.ExpressionError as error:
        return error.reason
    return ""
