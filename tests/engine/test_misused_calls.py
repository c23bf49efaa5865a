"""Calls that take one event, or give no payloads: the error says what to call instead."""

from __future__ import annotations

from typing import Any

import pytest

import tocsin


def engine() -> tocsin.Engine:
    made = tocsin.Engine()
    made.subscribe("a", "n = 1", payload={"to": "me"})
    made.subscribe("b", "n = 1")
    return made


@pytest.mark.parametrize(("name", "shown"), [(3, "an int"), (2.5, "a float"), (None, "None"), ((), "a tuple")])
def test_a_class_in_a_message_has_its_article(name: Any, shown: str) -> None:
    with pytest.raises(tocsin.RecordError, match=f"attribute names are strings, not {shown}$"):
        engine().match({name: 1})
