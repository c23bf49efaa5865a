"""Calls that take one event, or give no payloads: the error says what to call instead."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin


def engine() -> tocsin.Engine:
    made = tocsin.Engine()
    made.subscribe("a", "n = 1", payload={"to": "me"})
    made.subscribe("b", "n = 1")
    return made


@pytest.mark.parametrize("source", [[{"n": 1}], "events.jsonl", Path("e.csv"), pa.table({"n": [1]}), b'{"n": 1}'])
def test_a_source_of_events_in_place_of_one_is_sent_to_the_other_method(source: Any) -> None:
    """Of an engine and of fences."""
    with pytest.raises(tocsin.RecordError, match=r"not .*; match_batch takes a source of events$"):
        engine().match(source)
    with pytest.raises(tocsin.RecordError, match=r"not .*; push_batch takes a source of events$"):
        tocsin.Fences(engine(), key="n").push(source)


@pytest.mark.parametrize("other", [None, 5])
def test_what_is_not_a_source_either_is_only_refused(other: Any) -> None:
    with pytest.raises(tocsin.RecordError, match=f"an event is an object of names and values, not {other}$"):
        engine().match(other)


def test_a_payload_that_was_not_asked_for() -> None:
    """Its error says how to ask; with payloads, a match without one has None. It is no attribute for `hasattr`."""
    plain, asked = engine().match({"n": 1}), engine().match({"n": 1}, payload=True)

    with pytest.raises(AttributeError, match=r"not asked for; call match\(event, payload=True\)"):
        _ = plain[0].payload
    assert not hasattr(plain[0], "payload") and plain[0] == asked[0]
    assert [one.payload for one in asked] == [{"to": "me"}, None]
    assert [one.payload for one in pickle.loads(pickle.dumps(asked))] == [{"to": "me"}, None]


@pytest.mark.parametrize(("name", "shown"), [(3, "an int"), (2.5, "a float"), (None, "None"), ((), "a tuple")])
def test_a_class_in_a_message_has_its_article(name: Any, shown: str) -> None:
    with pytest.raises(tocsin.RecordError, match=f"attribute names are strings, not {shown}$"):
        engine().match({name: 1})
