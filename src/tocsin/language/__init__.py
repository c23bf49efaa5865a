"""The subscription language: CQL2 text and JSON to expression trees, and back.

It also holds the reference evaluator, which interprets the tree directly, and `explain`, which tells a person why an
event matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tocsin.language.canonical import constant_text, name_text, quote, to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.explain import Explanation, Finding, explain
from tocsin.language.json_form import decode, parse_json, to_json
from tocsin.language.operators.table import register_all
from tocsin.language.regexes import regex_problem
from tocsin.language.strings import fold_case, like_matches, like_regex, strip_accents
from tocsin.language.templates import Instance, Template, Templates
from tocsin.language.text import parse
from tocsin.model.expression import Expression

__all__ = [
    "Explanation",
    "Finding",
    "Instance",
    "Template",
    "Templates",
    "constant_text",
    "evaluate",
    "explain",
    "fold_case",
    "like_matches",
    "like_regex",
    "name_text",
    "parse",
    "parse_any",
    "parse_json",
    "quote",
    "regex_problem",
    "strip_accents",
    "to_json",
    "to_text",
]

register_all()


def parse_any(where: str | Mapping[str, Any]) -> Expression:
    """Parse CQL2 text, CQL2 JSON in a string that begins with `{`, or decoded CQL2 JSON.

    A string that begins with `@` is a rule of another system (`language.dialects`).

    >>> parse_any("rain") == parse_any('{"property": "rain"}') == parse_any({"property": "rain"})
    True
    """
    if not isinstance(where, str):
        return parse_json(where)
    if where.lstrip().startswith("{"):
        return parse_json(decode(where))
    if where.startswith("@"):
        from tocsin.language.dialects import read_tagged  # it needs the table of operators

        return read_tagged(where).tree
    return parse(where)
