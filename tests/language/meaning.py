"""What a condition means, asked in every way that an engine has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin import Engine, explain, parse, parse_json, to_json, to_text


def assert_meaning(
    text: str, match: Sequence[Mapping[str, Any]], fail: Sequence[Mapping[str, Any]], now: str | None = None
) -> None:
    """One event, many events, and `explain` agree on which events match; the text and its JSON are read back."""
    events = [*match, *fail]
    expected = [True] * len(match) + [False] * len(fail)
    engine = Engine()
    engine.subscribe("s", text)

    assert [bool(engine.match(event, now=now)) for event in events] == expected
    many = engine.match_batch(events * 3, now=now).table["event"].to_pylist()
    assert many == [row for row, holds in enumerate(expected * 3) if holds]
    assert [explain(text, event, now=now).matched for event in events] == expected
    assert [engine.explain("s", event, now=now).matched for event in events] == expected
    tree = parse(text)
    assert parse(to_text(tree)) == tree == parse_json(to_json(tree))
