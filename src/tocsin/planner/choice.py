"""Choosing the index: the one asked for by name, otherwise one that accepts every subscription."""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.index import Chosen, Plan, Statistics, parse_index, questions
from tocsin.index.protocols import ALL_MATCHES


def choose(index: str = "auto", statistics: Statistics | None = None) -> Plan:
    """The plan for an index by name (with options), or for `auto`.

    Raises `UnknownIndex`, or `InvalidInput` for invalid statistics or options out of range.

    >>> choose().index
    'access'
    """
    if statistics is not None and not isinstance(statistics, Statistics):
        raise InvalidInput(f"statistics is {statistics!r:.40}; give tocsin.Statistics, or what tocsin.sample counted")
    known = (
        "shares of attributes and values estimated from the subscriptions"
        if statistics is None
        else f"shares of attributes{' and values' if statistics.values else ''} {statistics.source}"
    )
    if index != "auto":
        registration, options = parse_index(index)
        registration.builder(**options)
        if registration.question != ALL_MATCHES:
            return _for_another_question(Chosen(registration.name, options), registration.question, known, statistics)
        return Plan(registration.name, f"asked for by name; {known}", statistics, options)
    return Plan("access", f"exact for every expression and the fastest that is; {known}", statistics)


def _for_another_question(index: Chosen, name: str, known: str, statistics: Statistics | None) -> Plan:
    """Use `access` for all matches, and the named index for its own question."""
    (question,) = [one for one in questions() if one.name == name]
    reason = f"{index.name} is asked for by name, for {question.purpose}; {known}"
    return Plan("access", reason, statistics, others={question.name: index})
