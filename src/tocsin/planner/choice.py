"""Which index holds these subscriptions, and by what statistics? What was asked for, else what accepts them all."""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.index import Plan, Statistics, parse_index


def choose(index: str = "auto", statistics: Statistics | None = None) -> Plan:
    """The plan for an index by name, options included, or `auto`.

    Raises `UnknownIndex`, or `InvalidInput` for statistics that are none and options out of range.

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
        if registration.question == "the best first":
            reason = f"{registration.name} is asked for by name, for relaxed rankings; {known}"
            return Plan("access", reason, statistics, ranker=registration.name, ranker_options=options)
        return Plan(registration.name, f"asked for by name; {known}", statistics, options)
    return Plan("access", f"exact for every expression and the fastest that is; {known}", statistics)
