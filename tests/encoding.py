"""How tests make a batch of events: encoded, with what somebody asks of its places and lists, as an engine has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.index.elements import with_conditions


def encoded(events: Sequence[Mapping[str, Any]], wanted: Wanted) -> EventBatch:
    return with_conditions(encode_objects(enumerate(events), wanted), wanted)
