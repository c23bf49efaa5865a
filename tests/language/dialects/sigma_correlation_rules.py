"""Random correlations of Sigma, and random streams of events for them."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.naive.sigma_correlations import Event

NAMES: Final = "abc"
BASE: Final = [{"name": name, "detection": {"s": {"T": f"*{name}*"}, "condition": "s"}} for name in NAMES]
KINDS: Final = ("event_count", "value_count", "value_sum", "value_avg", "temporal", "temporal_ordered")
RANKED: Final = ("value_median", "value_percentile")
COLUMNS: Final = ("T", "u", "v", "n", "s", "second")


def stream(random: Random, least_pause: int = 0) -> list[Event]:
    """Events in order, of which some satisfy several rules, and some lack a value."""
    events, second = [], 0
    for _ in range(40):
        second += random.randint(least_pause, 4)
        values = {
            "T": random.choice(("a", "b", "c", "ab", "bc", "d")),
            "u": random.choice(("x", "y", None)),
            "v": random.choice(("p", "q")),
            "n": random.choice((None, -2, 0, 1, 2, 2.5, 7)),
            "s": random.choice((None, "k", "l", "m")),
            "second": second,
        }
        events.append(Event(second, {name: value for name, value in values.items() if value is not None}))
    return events


def documents(random: Random, kinds: tuple[str, ...] = KINDS, *, nested: bool = True) -> list[dict[str, Any]]:
    """A correlation, and the documents that it names."""
    group = random.choice((["u"], ["u", "v"]))
    inner = {**correlation(random, ("event_count", "value_sum", "temporal"), list(NAMES), group), "name": "inner"}
    names = [*NAMES, "inner"] if nested and random.random() < 0.4 else list(NAMES)
    return [correlation(random, kinds, names, group), inner, *BASE]


def correlation(random: Random, kinds: tuple[str, ...], names: list[str], group: list[str]) -> dict[str, Any]:
    """A correlation of some of the rules."""
    kind = random.choice(kinds)
    count = 2 if kind == "temporal_ordered" else random.randint(1, 3)
    chosen = random.sample(names, count)
    given: dict[str, Any] = {"type": kind, "rules": chosen, "group-by": group, "timespan": f"{random.randint(1, 12)}s"}
    if kind == "temporal_ordered" or (kind == "temporal" and random.random() < 0.4):
        return {"correlation": given}
    condition: dict[str, Any] = {random.choice(("gt", "gte", "lt", "lte", "eq", "neq")): random.randint(1, 3)}
    if kind == "temporal":
        condition = {random.choice(("gte", "lte", "eq")): random.randint(1, count)}
    elif kind == "value_count":
        condition["field"] = random.choice("sn")
    elif kind != "event_count":
        condition["field"] = "n"
    if kind == "value_percentile":
        condition["percentile"] = random.choice((0.1, 1, 25, 50, 66.7, 90, 100))
    return {"correlation": {**given, "condition": condition}}
