"""One subscription for a command, chosen by its id from a file of subscriptions or an index folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.engine.durable.current import current_sources, current_texts
from tocsin.engine.loading import is_index, read_part, require_some
from tocsin.engine.sources import SegmentSource
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.index.alive import are_alive
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.texts import Text
from tocsin.segment import assemble


class Subscribed(NamedTuple):
    """A subscription, and how its engine reads events."""

    id: SubscriptionId
    text: str
    place: Callable[[], str]  # where an index stores it
    texts: Mapping[str, Text]  # the attributes that are texts in a saved engine


def subscribed(source: str, name: str | None, texts: Mapping[str, Text]) -> Subscribed:
    """The subscription with an id, or the only one. `texts` are those of a schema, for a file.

    Raises `InvalidInput` if there is no such subscription, and `RecordError` if none could be read.
    """
    return _in_folder(source, name) if is_index(source) else _in_file(source, name, texts)


def _in_file(source: str, name: str | None, texts: Mapping[str, Text]) -> Subscribed:
    part, rejects = read_part(source, texts=texts)
    number = _number(part.ids, name)
    if number is None:
        raise _none_such(source, name, len(part.ids), rejects)
    found: SubscriptionId = part.ids[number].as_py()
    return Subscribed(found, part.sources[number].as_py(), lambda: assemble(part, choose()).place(number), {})


def _in_folder(folder: str, name: str | None) -> Subscribed:
    sources = current_sources(folder)
    for source in sources:
        ids = source.segment.arrow_ids()
        numbers = np.flatnonzero(are_alive(source.alive, np.arange(len(ids))))
        number = _number(ids.take(pa.array(numbers)), name)
        if number is not None and (name is not None or sum(map(len, sources)) == 1):
            return _stored(source, int(numbers[number]), current_texts(folder))
    raise _none_such(folder, name, sum(map(len, sources)), [])


def _stored(source: SegmentSource, number: int, texts: Mapping[str, Text]) -> Subscribed:
    return Subscribed(source.segment.id_of(number), source.text(number), lambda: source.place(number), texts)


def _number(ids: pa.Array, name: str | None) -> int | None:
    """The position of an id, or of the only one; None if there is none."""
    if name is None:
        return 0 if len(ids) == 1 else None
    strings = not pa.types.is_integer(ids.type)
    if not strings and not _is_integer(name):
        return None
    number: int = pc.index(ids, pa.scalar(name if strings else int(name), ids.type)).as_py()
    return number if number >= 0 else None


def _is_integer(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) < 20 and -(1 << 63) <= int(name) < 1 << 63


def _none_such(source: str, name: str | None, count: int, rejects: list[Reject]) -> InvalidInput:
    require_some(count, rejects, "subscription")
    if name is None:
        several = f"{count} subscriptions; choose one with --id" if count else "no subscriptions"
        return InvalidInput(f"{source} holds {several}")
    for reject in rejects:
        if str(reject.id) == name:
            return InvalidInput(f"subscription {name!r} cannot be read: {reject.reason}")
    return InvalidInput(f"{source} holds no subscription {name!r}")
