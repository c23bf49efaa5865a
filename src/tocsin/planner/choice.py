"""Which index holds these subscriptions? The one that was asked for, else the best one that accepts them."""

from __future__ import annotations

from tocsin.index import Plan, find_index


def choose(index: str = "auto") -> Plan:
    """The plan for an index name, `auto` included; raises `UnknownIndex`.

    >>> choose().index
    'scan'
    """
    if index != "auto":
        return Plan(find_index(index).name, "asked for by name")
    return Plan("scan", "the only index yet that accepts every expression")
