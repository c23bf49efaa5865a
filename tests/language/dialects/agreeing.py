"""A rule asked in every way that users ask, and the answers of all ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
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


def matched(
    rules: Sequence[Any], language: str, events: Sequence[Mapping[str, Any]]
) -> tuple[dict[int, set[int]], dict[int, str]]:
    """For each rule that is read the events that it matches, all in one call; and for the others why they are not."""
    records = [{"id": number, "where": rule, "language": language} for number, rule in enumerate(rules)]
    answer = tocsin.match(records, events)
    assert not answer.event_errors
    refused = {error.row: error.reason for error in answer.subscription_errors}
    found: dict[int, set[int]] = {number: set() for number in range(len(rules)) if number not in refused}
    for row in answer:
        found[row["subscription"]].add(row["event"])
    return found, refused


def disagreements(
    rules: Sequence[Any],
    language: str,
    events: Sequence[Mapping[str, Any]],
    holds: Callable[[Any], set[int]],
) -> tuple[list[tuple[Any, Mapping[str, Any], bool]], dict[int, str]]:
    """Each rule and event on which tocsin and an oracle differ, and whether it is tocsin that matches."""
    found, refused = matched(rules, language, events)
    differences = [
        (rules[number], events[event], event in ours)
        for number, ours in found.items()
        for event in sorted(ours ^ holds(rules[number]))
    ]
    return differences, refused
