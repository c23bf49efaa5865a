"""What the oracle of conditions over time has, as texts and streams for a monitor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import tocsin
from tests.naive.monitor import Change, NaiveMonitor, Subscription
from tests.naive.over_time import Condition, Term
from tests.naive.over_time_changes import Lasting, Options
from tocsin.language import to_text
from tocsin.language.operators.over_time import OverTime
from tocsin.model.expression import Attribute, Constant, Expression, fold
from tocsin.model.values import Instant

Brief = tuple[int, int | None, object, str, str, float]
"""A change: instant, number of the event or None, object, subscription, change, seconds."""


def tree_of(condition: Condition) -> Expression:
    """A condition with its terms inside, where it has names."""
    terms = {name: node_of(term) for name, term in condition.terms}

    def combine(node: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(node, Attribute) and node.name in terms:
            return terms[node.name]
        return node.with_children(parts) if parts else node

    return fold(condition.expression, combine)


def node_of(term: Term) -> OverTime:
    """A term as a node of the language."""
    arguments: list[Expression] = []
    if term.attribute is not None:
        arguments.append(Attribute(term.attribute))
    if term.condition is not None:
        arguments.append(tree_of(term.condition))
    elif term.function == "COUNT":
        arguments.append(Constant(True))
    if term.span is not None:
        arguments.append(Constant(f"PT{term.span // 1_000_000}.{term.span % 1_000_000:06d}S"))
    return OverTime(term.function, tuple(arguments))


def text_of(condition: Condition) -> str:
    """A condition as text."""
    return to_text(tree_of(condition))


def moment(microseconds: int) -> datetime:
    """An instant as a Python object."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def given(record: Mapping[str, object]) -> dict[str, object]:
    """A record of the oracle as an event."""
    return {name: moment(one.microseconds) if isinstance(one, Instant) else one for name, one in record.items()}


def expected(changes: Sequence[Change]) -> list[tuple[int, object, str, str, float]]:
    """Changes of the oracle as plain values."""
    return [
        (one.at, one.object[0] if len(one.object) == 1 else one.object, one.subscription, one.change, one.seconds)
        for one in changes
    ]


def came(changes: Sequence[tocsin.MonitorChange]) -> list[tuple[int, object, Any, str, float | None]]:
    """Changes of a monitor in the same form."""
    return [(one.microseconds, one.object, one.subscription, one.change, one.seconds) for one in changes]


def both(
    conditions: Sequence[Condition],
    keys: Sequence[tuple[str, ...]] = (),
    lateness: int | None = None,
    far: int | None = None,
    **options: Any,
) -> tuple[NaiveMonitor, tocsin.Monitor]:
    """The oracle and a monitor of the same subscriptions, `s0` and so on; spans are in microseconds."""
    own = [keys[number] if number < len(keys) else () for number in range(len(conditions))]
    pairs = list(zip(conditions, own, strict=True))
    naive = NaiveMonitor(
        [Subscription(f"s{number}", one, by or None) for number, (one, by) in enumerate(pairs)],
        ("user",),
        "t",
        lateness=lateness,
        far=far,
        options=Options(**options),
    )
    engine = tocsin.Engine()
    for number, (one, by) in enumerate(pairs):
        engine.subscribe(f"s{number}", text_of(one), by=list(by) or None)
    return naive, tocsin.Monitor(engine, key="user", time="t", **_options(lateness, far, options))


def _options(lateness: int | None, far: int | None, options: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: f"{one.span / 1e6:.6f} s" if isinstance(one, Lasting) else one for name, one in options.items()
    }
    if found.get("dwell") is not None:
        found["dwell"] /= 1e6
    found["lateness"] = None if lateness is None else lateness / 1e6
    return found if far is None else {**found, "most_ahead": far / 1e6}
