"""The clocks of a server, and which of them is for what.

    wall    milliseconds since 1970: what users see, and what is stored. It can be set, forwards or back.
    steady  milliseconds since the machine started: it only goes on, and means nothing after the next start.

Delays in memory run on the steady clock. A stored time is of the wall. It becomes one of the steady clock when it is
read, and is then at most its longest delay away, however the wall clock was set in between. What is deleted by its age
waits while the wall clock is not where the steady one lets expect it. What is stored meanwhile has the expected time,
unless users see it: the process may be killed, and the next one find a clock that is right again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.store import Database

_LOG: Final = logging.getLogger("tocsin.service")
_HOUR_MS: Final = 3_600_000
JUMP_MS: Final = _HOUR_MS
"""A wall clock that gains more than this at once has jumped."""
TOLERANCE_MS: Final = 10_000
"""A stored time that is further ahead was written by a wall clock that was set back since."""
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAME: Final = "service_clock"
_MISDATED: Final = "service_misdated"
"""The setting with the last of the events that a wrong clock may have dated, and the time that counts for their age."""


def _steady_s() -> float:
    """Seconds since the machine started, with the time that it slept, where this can be measured."""
    source = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if source is None else time.clock_gettime(source)


class Moment(NamedTuple):
    """A moment by both clocks, in milliseconds."""

    wall: int
    steady: int

    def due(self, stored: int, longest_ms: int) -> int:
        """The steady time of a stored one that lies ahead. It is at most `longest_ms` from this moment."""
        return self.steady + min(max(stored - self.wall, 0), max(longest_ms, 0))

    def past(self, stored: int) -> int:
        """The steady time of a stored one that lies behind. It is not after this moment."""
        return self.steady - max(self.wall - stored, 0)


class Mark(NamedTuple):
    """The difference between the clocks that is trusted, and the start of the machine for which it holds."""

    boot: str
    offset_ms: int


class Clock:
    """Both clocks of a server. `wall` and `steady` give seconds; tests replace them.

    `look` notices jumps of the wall clock. A jump forwards lasts until the clock comes back, or `confirm`. A clock that
    is set back is trusted after an hour, so that it may return before without a jump.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = _steady_s) -> None:
        self.wall, self.steady = wall, steady
        self.jump_ms = 0  # how far the wall clock is ahead of where it is expected; 0 if it has not jumped
        self.returns = 0  # how often it was set back, and came back before it was trusted
        self._back_since: int | None = None  # steady
        self._boot = _boot()
        self._trusted = self._offset(self.moment())

    def now_ms(self) -> int:
        """The time of the wall clock."""
        return int(self.wall() * 1000)

    def moment(self) -> Moment:
        """This moment by both clocks."""
        return Moment(self.now_ms(), int(self.steady() * 1000))

    def expected(self, now: Moment) -> Moment:
        """A moment with the time that the wall clock should show, if it is more than an hour from it."""
        wall = now.steady + self._trusted
        return now if abs(now.wall - wall) <= JUMP_MS else Moment(wall, now.steady)

    @staticmethod
    def _offset(now: Moment) -> int:
        return now.wall - now.steady

    @property
    def is_right(self) -> bool:
        """Whether the wall clock is where it is expected, as of the last look, so that what is old may be deleted."""
        return not self.jump_ms and self._back_since is None

    def look(self) -> Moment:
        """This moment, after which `jump_ms` says whether the wall clock has jumped."""
        now = self.moment()
        ahead = self._offset(now) - self._trusted
        if ahead > JUMP_MS:
            if not self.jump_ms:
                _LOG.error(
                    "the clock jumped ahead by %s, so that nothing is deleted by its age. It goes on when the clock "
                    "comes back. If the new time is right: POST /v1/clock/confirm", _length(ahead),
                )  # fmt: skip
            self.jump_ms, self._back_since = ahead, None
            return now
        if self.jump_ms:
            _LOG.warning("the clock came back, and what is old is deleted again")
        self.jump_ms = 0
        if ahead >= -JUMP_MS:
            self.returns += self._back_since is not None
            self._back_since, self._trusted = None, self._offset(now)
        elif self._back_since is None:
            _LOG.warning("the clock was set back by %s", _length(-ahead))
            self._back_since = now.steady
        elif now.steady - self._back_since >= _HOUR_MS:
            self._trust(now)
        return now

    def confirm(self) -> int:
        """Trust the wall clock from now on; returns by how many milliseconds it had jumped."""
        now, jump_ms = self.look(), self.jump_ms
        self._trust(now)
        if jump_ms:
            _LOG.warning("the jump of the clock by %s is confirmed", _length(jump_ms))
        return jump_ms

    def _trust(self, now: Moment) -> None:
        self.jump_ms, self._back_since, self._trusted = 0, None, self._offset(now)

    @property
    def mark(self) -> Mark | None:
        """What is trusted, for a later process; None where the starts of the machine cannot be told apart."""
        return None if self._boot is None else Mark(self._boot, self._trusted)

    def resume(self, mark: Mark | None) -> None:
        """Go on from the mark of an earlier process, so that a jump in between is noticed."""
        if mark is not None and mark.boot == self._boot:
            self._trusted = mark.offset_ms


def _length(milliseconds: int) -> timedelta:
    return timedelta(seconds=round(milliseconds / 1000))


def _boot() -> str | None:
    try:
        return _BOOT.read_text().strip() or None
    except OSError:  # not Linux
        return None


class RememberClock:
    """The change that stores the mark of a clock."""

    is_alone = True

    def __init__(self, mark: Mark) -> None:
        self._mark = mark

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        database.put_meta(_NAME, json.dumps(self._mark))
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""


def stored_mark(database: Database) -> Mark | None:
    """The mark of the process that served a store before; None if there was none."""
    found = database.meta(_NAME)
    return None if found is None else Mark(*json.loads(found))


def misdated(database: Database) -> tuple[int, int]:
    """The last of the events that a wrong clock may have dated, and the time that counts for the age of these."""
    last, moment = json.loads(database.meta(_MISDATED) or "[0, 0]")
    return int(last), int(moment)


def put_misdated(database: Database, last: int, moment: int) -> None:
    """Let all events up to `last` be as old as if they were published at a moment, within a transaction."""
    database.put_meta(_MISDATED, json.dumps((last, moment)))
