"""Letters: deliveries to a destination that failed. They are tried again, or dead.

A letter has the number of its delivery, which stays in the outbox until retention deletes it. A letter that is dead
stays longer, as the record of what was not delivered.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tocsin.service.clock import TOLERANCE_MS, Moment
from tocsin.service.directory import Destination

OVERFLOW, REFUSED, ATTEMPTS, SET_ASIDE, EXPIRED = "overflow", "refused", "attempts", "set-aside", "expired"
"""Why a letter is dead: the outbox was full, all tries failed, and the last one because the endpoint refused it or
because of the endpoint, it held up those behind it, retention deleted it."""
KEPT_MS: Final = 30 * 86_400_000
"""How long the record of a dead letter is kept."""
_AT_ONCE: Final = 1000
_PUT: Final = "INSERT OR REPLACE INTO service_letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def _further(destination: str, sequence: str) -> str:
    return (
        "SELECT coalesce(sum(length(m.subscriptions)), 0) FROM service_more AS m "
        f"WHERE m.destination = {destination} AND m.sequence = {sequence}"
    )


FURTHER: Final = _further("?", "?")
"""The characters of the further parts of a delivery."""
SIZE: Final = f"length(d.subscriptions) + length(e.event) + ({_further('d.destination', 'd.sequence')})"
"""The characters of a delivery with all its parts."""
_SIZE_OF_ONE: Final = f"""
SELECT {SIZE} FROM service_deliveries AS d
JOIN service_events AS e ON e.sequence = d.event WHERE d.destination = ? AND d.sequence = ?
"""


class Letter(NamedTuple):
    """A delivery that failed. Times are milliseconds since 1970."""

    event: int
    dead: str  # why it is not tried again; empty if it is
    attempts: int
    due: int  # when it is tried again
    reason: str  # of the last failure
    status: int | None  # that the endpoint answered
    since: int  # when it failed last
    refusals: int = 0  # attempts that the endpoint answered, and did not take it

    def due_from(self, now: Moment) -> int:
        """When it is tried again, by the steady clock: after its whole delay, if it failed in the future."""
        return now.due(self.due, self.due - self.since)


def put_letters(connection: sqlite3.Connection, destination: int, letters: Iterable[tuple[int, Letter]]) -> None:
    """Write letters by the number of their delivery."""
    connection.executemany(_PUT, [(destination, number, *letter) for number, letter in letters])


def drop_letters(connection: sqlite3.Connection, destination: int, numbers: Iterable[int]) -> None:
    """Delete letters whose deliveries were delivered."""
    statement = "DELETE FROM service_letters WHERE destination = ? AND sequence = ?"
    connection.executemany(statement, [(destination, number) for number in numbers])


def waiting_letters(connection: sqlite3.Connection, destination: int) -> dict[int, Letter]:
    """The letters that are tried again, by number."""
    statement = "SELECT * FROM service_letters WHERE destination = ? AND dead = ''"
    rows = connection.execute(statement, (destination,)).fetchall()
    return {row[1]: Letter(*row[2:]) for row in rows}


def lettered(connection: sqlite3.Connection, destination: int, first: int, last: int) -> set[int]:
    """The numbers that have letters."""
    statement = "SELECT sequence FROM service_letters WHERE destination = ? AND sequence BETWEEN ? AND ?"
    return {number for (number,) in connection.execute(statement, (destination, first, last)).fetchall()}


def redate_letters(connection: sqlite3.Connection, now: int, before: int) -> None:
    """Let letters that failed in the future, or before a time, have failed now. Their delays stay."""
    connection.execute(
        "UPDATE service_letters SET due = max(0, due - since + ?), since = ? WHERE since > ? OR since < ?",
        (now, now, now + TOLERANCE_MS, before),
    )


def forget_letters(connection: sqlite3.Connection, before: int) -> None:
    """Delete old records of dead letters, some at once."""
    connection.execute(
        "DELETE FROM service_letters WHERE (destination, sequence) IN ("
        "SELECT destination, sequence FROM service_letters WHERE dead <> '' AND since < ? LIMIT ?)",
        (before, _AT_ONCE),
    )


def delivery_size(connection: sqlite3.Connection, destination: int, number: int) -> int | None:
    """The characters of a delivery with all its parts; None if retention deleted it."""
    row = connection.execute(_SIZE_OF_ONE, (destination, number)).fetchone()
    return None if row is None else int(row[0])


class Expired(NamedTuple):
    """Deliveries that retention deletes before they were delivered."""

    counts: Counter[int]  # by destination
    sizes: Counter[int]


def expire(
    connection: sqlite3.Connection,
    outlets: Mapping[int, Destination],
    deleted: Sequence[tuple[int, int, int]],  # destination, number, event
    now: int,
) -> Expired:
    """Make dead letters of what is deleted and was not delivered. Called before it is deleted."""
    expired = Expired(Counter(), Counter())
    of: dict[int, dict[int, int]] = {}
    for destination, sequence, event in deleted:
        if destination in outlets:
            of.setdefault(destination, {})[sequence] = event
    for number, own in of.items():
        waiting = waiting_letters(connection, number)
        known = lettered(connection, number, min(own), max(own))
        lost: dict[int, Letter] = {}
        for sequence, event in own.items():
            if sequence in waiting:
                lost[sequence] = waiting[sequence]._replace(dead=EXPIRED, since=now)
            elif sequence > outlets[number].acknowledged and sequence not in known:
                lost[sequence] = Letter(event, EXPIRED, 0, 0, "retention deleted it", None, now)
        put_letters(connection, number, lost.items())
        expired.counts[number] = len(lost)
        expired.sizes[number] = sum(delivery_size(connection, number, sequence) or 0 for sequence in lost)
    return expired
