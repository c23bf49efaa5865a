"""Calls of several requests. Each is a generator that yields requests and gets their answers, and yields what it found.

Both clients run them: `items_of` says what to do next, and nothing here waits.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable
from typing import Any, Final, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.client import calls, delivery_calls
from tocsin.client.calls import Ask, Event, Matched
from tocsin.client.delivery_calls import Delivery
from tocsin.client.streams import checked_gaps
from tocsin.errors import InvalidInput, ServiceError
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Match, Removal, SubscriptionId, removed_ids

Item = TypeVar("Item")
Conversation: TypeAlias = Generator[Ask[Any] | Item, Any, None]
_IDS_AT_ONCE: Final = 50
"""Ids of a request, which are in its URL."""
END: Final = object()
"""What follows the last step of a conversation."""


def answered(conversation: Conversation[Item], answer: Any) -> Any:
    """The step after a request, or `END`. `answer` is what was read, or the error that the service answered."""
    try:
        return conversation.throw(answer) if isinstance(answer, ServiceError) else conversation.send(answer)
    except StopIteration:
        return END


def pages(path: str, name: str, *, only: str | None = None) -> Conversation[dict[str, Any]]:
    """All documents of some kind, page by page."""
    after: str | None = None
    while True:
        page = yield calls.page(path, after, only=only)
        yield from page[name]
        after = page.get("next")
        if after is None:
            return


def removals(ids: Iterable[SubscriptionId] | None, only: str | None, *, dry_run: bool) -> Conversation[Removal]:
    """The removal of many subscriptions, with some ids a request."""
    if only is not None and ids is None:
        yield (yield calls.unsubscribe_many((), only, dry_run=dry_run))
        return
    if ids is None or only is not None:
        raise InvalidInput("give either ids, or a condition on payloads as only=")
    names, removed, unknown = removed_ids(ids), 0, list[SubscriptionId]()
    for first in range(0, len(names), _IDS_AT_ONCE):
        part = yield calls.unsubscribe_many(names[first : first + _IDS_AT_ONCE], None, dry_run=dry_run)
        removed += part.removed
        unknown += part.unknown
    yield Removal(removed, unknown)


def matches(event: Event, ranking: Ranking | None) -> Conversation[Match]:
    """All matches of an event, answer by answer."""
    after: str | None = None
    while True:
        found, after = yield calls.match(event, ranking, after)
        yield from found
        if after is None:
            return


def batches(events: pa.Table | Iterable[Event], ranking: Ranking | None) -> Conversation[Matched]:
    """The matches of many events, answer by answer. The first event of an answer may be the last of that before."""
    rows = events if isinstance(events, pa.Table) else list(events)
    first, after = 0, None
    while True:
        part, further = yield calls.match_batch(rows[first:], ranking, after)
        if first:
            numbers = pc.add(part.table["event"], first)
            table = part.table.set_column(0, "event", numbers)
            part = Matched(table, [one._replace(row=one.row + first) for one in part.errors])
        if further is None:
            yield part
            return
        first, after = first + further.row, further.after
        yield part._replace(errors=[one for one in part.errors if one.row < first])


def dead_letters(destination: str) -> Conversation[dict[str, Any]]:
    """All dead letters of a webhook."""
    after: int | None = None
    while True:
        page = yield delivery_calls.dead_letters(destination, after)
        yield from page["dead_letters"]
        after = page.get("next")
        if after is None:
            return


def attempts(destination: str, sequence: int | None, *, failed: bool) -> Conversation[dict[str, Any]]:
    """The attempts of a webhook that are kept, the latest first."""
    before: int | None = None
    while True:
        page = yield delivery_calls.attempts(destination, before, sequence, failed=failed)
        yield from page["attempts"]
        before = page.get("next")
        if before is None:
            return


def deliveries(
    destination: str, after: int | None, wait_s: float, *, acknowledge: bool, gaps: str
) -> Conversation[Delivery]:
    """Deliveries in order, each with all its subscriptions. A page is acknowledged when the next one is asked for."""
    checked_gaps(gaps)
    while True:
        try:
            page = yield delivery_calls.pull(destination, after, wait_s)
        except ServiceError as error:
            after = _behind(error, gaps)
            continue
        for place, delivery in enumerate(page.deliveries):
            yield from _completed(delivery, page.wanting.get(place))
            yield delivery
            after = delivery.sequence
        if page.deliveries and acknowledge:
            yield delivery_calls.acknowledge(destination, page.deliveries[-1].sequence)
        if not page.deliveries and not wait_s:
            return


def _completed(delivery: Delivery, path: str | None) -> Conversation[Delivery]:
    """Read the subscriptions of a delivery that its page left out."""
    number: int | None = None
    while path is not None:
        found, changes, number = yield delivery_calls.more(path, number)
        delivery.subscriptions.extend(found)
        delivery.changes.extend(changes)
        path = path if number is not None else None


def _behind(error: ServiceError, gaps: str) -> int:
    """The number to go on after, where deliveries are gone; raises the error if it is another, or is to be raised."""
    if error.status != 410 or gaps == "raise" or "earliest" not in error.more:
        raise error
    warnings.warn(str(error), stacklevel=5)
    return int(error.more["earliest"]) - 1
