"""What the tests of an engine share: three subscriptions, events for them, and what can be seen of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import tocsin

SUBSCRIPTIONS: Final = (
    {"id": "low", "where": "n < 5", "score": 2.0, "payload": {"to": ["é", "b"]}},
    {"id": "text", "where": "s = 'a' OR n = 1", "score": -1.0},
    {"id": "none", "where": "n IS NULL"},
)
EVENTS: Final = ({"n": 1, "s": "b"}, {"n": 9, "s": "a"}, {}, {"n": 9})
OTHER_KIND: Final = "string|integer|kind"  # said of an id that is no string among strings, or the reverse


def small_engine() -> Any:
    """An engine that holds the three, in its delta."""
    engine = tocsin.Engine()
    assert engine.subscribe_many(SUBSCRIPTIONS) == tocsin.Report(3, [])
    return engine


def of(ids: Sequence[Any], **fields: Any) -> list[dict[str, Any]]:
    """Records of subscriptions that every event satisfies."""
    return [{"id": name, "where": "TRUE", **fields} for name in ids]


def pairs(matches: Sequence[tocsin.Match]) -> list[tuple[Any, float]]:
    """Ids and scores."""
    return [(match.subscription, match.score) for match in matches]


def state(engine: Any) -> tuple[Any, ...]:
    """Everything that can be seen of an engine with the ids of `SUBSCRIPTIONS`."""
    ids = [record["id"] for record in SUBSCRIPTIONS]
    known = [(name, engine.payload(name)) for name in ids if name in engine]
    return [pairs(engine.match(event)) for event in EVENTS], known, len(engine), engine.stats.subscriptions
