"""Group commit: one thread writes the changes of all others, many in a transaction.

A change is acknowledged once its transaction is durable and memory has it. The thread is never interrupted by a signal,
so that memory and database stay alike. A transaction that a change makes fail is taken back, and its changes are
written again in halves, until the change to blame is alone: it costs its sender alone. Sound groups pay nothing for
that, as they would for savepoints, which are statements.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from tocsin.errors import InvalidInput, StoreError, TocsinError
from tocsin.store.database import Database
from tocsin.store.owner import Owner

_MOST_AT_ONCE: Final = 4096
"""The most changes in a transaction."""


class Change(Protocol):
    """A change of the subscriptions. One that `is_alone` depends on memory, and gets a transaction of its own."""

    is_alone: bool

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        """Write it, numbered from `sequence` + 1 on; returns the number of its last part.

        `touched` has the ids that this transaction has changed so far, so that memory does not tell of them; the change
        adds its own. Raises a `TocsinError`, before it writes anything, if it is refused. It may be called again, with
        another set, after a transaction that was taken back.
        """

    def apply(self) -> Any:
        """Bring memory to the same state; returns the answer to the caller."""


class Answer:
    """The answer to a caller who waits for it. It takes a tenth of the time of a `Future`."""

    __slots__ = ("_answer", "_claimed", "_error", "_is_there", "_lock")

    def __init__(self) -> None:
        self._claimed = threading.Lock()
        self._answer: Any = None
        self._error: BaseException | None = None
        self._is_there = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def set_result(self, answer: Any) -> None:
        self._answer = answer
        self._arrive()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._arrive()

    def _arrive(self) -> None:
        self._is_there = True
        self._lock.release()

    def claim(self) -> bool:
        """Whether the change is the caller's who asks first: the committing thread, or one that takes it back."""
        return self._claimed.acquire(blocking=False)

    def done(self) -> bool:
        return self._is_there

    def wait(self) -> Any:
        """The answer, or the error that is the answer. An interrupt is raised once either is there."""
        try:
            self.wait_quietly()
        except BaseException:
            self.wait_quietly()
            raise
        if self._error is not None:
            raise self._error
        return self._answer

    def wait_quietly(self) -> None:
        """Wait until there is an answer or an error."""
        while not self._is_there:
            self._lock.acquire()


_Waiting: TypeAlias = "tuple[Change, Answer | Future[Any]]"


class Progress(NamedTuple):
    """The state of a committing thread at a moment."""

    is_alive: bool
    waited_s: float
    """For how long the thread has been at the same work while changes wait for it; 0 if none waits."""
    error: BaseException | None
    """Why the store refused the last change that wrote something; None if it took that one."""
    failed_s: float
    """How long ago the store first refused changes; 0 if it did not."""


class Committer:
    """Writes changes in groups. `between` runs after each group, and when nothing came for `idle_s` seconds.

    If `between` fails, it is called again after the next group.
    """

    def __init__(self, database: Database, owner: Owner, between: Callable[[], None], idle_s: float = 1.0) -> None:
        self._database, self._owner, self._between, self._idle_s = database, owner, between, idle_s
        self._waiting: SimpleQueue[_Waiting | None] = SimpleQueue()  # None comes last, after `close`
        self._next_first: _Waiting | None = None  # taken from the queue, but for the next group
        self._opening = threading.Lock()  # held while something is put into the queue
        self._is_closed = False
        self._ended_by: BaseException | None = None  # the error that ended the thread
        self.moment = threading.Lock()  # held while memory is brought to the state of the database
        self.sequence = database.sequence
        self._failure: BaseException | None = None  # why memory lacks a durable change
        self._refused: tuple[BaseException, float] | None = None  # the store's last error, and when the first came
        self._group: list[_Waiting] = []  # that is being written
        self._began: float | None = None  # when the thread took up its work; None while it has none
        self._thread = threading.Thread(target=self._run, name="tocsin-commit", daemon=True)

    def start(self) -> None:
        """Begin to write; `between` may be called from now on."""
        self._thread.start()

    def commit(self, change: Change) -> Any:
        """Make a change durable; returns what `apply` returns, or raises what refused it.

        An interrupt is raised once the change is durable, or refused.
        """
        answer = Answer()
        try:
            self._put(change, answer)
            return answer.wait()
        except BaseException:
            if not answer.claim():  # otherwise an interrupt came early enough to take the change back
                answer.wait_quietly()
            raise

    def submit(self, change: Change) -> Future[Any]:
        """Hand a change over; the result, as of `commit`, comes when the change is durable. It cannot be cancelled."""
        done: Future[Any] = Future()
        done.set_running_or_notify_cancel()
        self._put(change, done)
        return done

    def _put(self, change: Change, answer: Answer | Future[Any]) -> None:
        self._owner.require(self._database.folder)  # the lock may be held in the parent
        with self._opening:
            self._require_open()
            self._waiting.put((change, answer))

    def require(self) -> None:
        """Raise `StoreError` if nothing can be committed: in a forked child, and after `close`."""
        self._owner.require(self._database.folder)
        self._require_open()

    def _require_open(self) -> None:
        if self._is_closed:
            raise self._closed()

    def _closed(self) -> StoreError:
        """The error of those who come too late."""
        if self._ended_by is None:
            return StoreError(f"{self._database.folder} is closed; open it again")
        return StoreError(
            f"changes of {self._database.folder} are no longer written ({self._ended_by!r}); open it again"
        )

    def progress(self) -> Progress:
        """The state of the thread at this moment; any thread may ask, and none waits."""
        now, began, refused = time.monotonic(), self._began, self._refused
        if refused is None and self._owner.trouble is not None:
            refused = self._owner.refusal(self._database.folder), now
        waits = bool(self._group) or self._next_first is not None or not self._waiting.empty()
        return Progress(
            self._thread.is_alive(),
            now - began if began is not None and waits else 0.0,
            None if refused is None else refused[0],
            0.0 if refused is None else now - refused[1],
        )

    def close(self) -> None:
        """Write what waits, and end the thread."""
        with self._opening:
            self._is_closed = True
            self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_last = False
        try:
            while not is_last:
                self._group, is_last = self._next()
                self._began = time.monotonic()
                if self._group:
                    self._commit(self._group)
                self._group = []
                self._keep_house()
                self._began = None
        except BaseException as error:
            self._end(error)
            raise

    def _keep_house(self) -> None:
        try:
            self._between()
        except Exception as error:  # no change may wait for ever because of it  # noqa: BLE001
            warnings.warn(f"{self._database.folder}: work between changes failed: {error!r}", stacklevel=2)

    def _end(self, error: BaseException) -> None:
        """Refuse what waits, and all that would come: the thread ends by an error."""
        with self._opening:
            self._is_closed = True
            self._ended_by = error
            reason = self._closed()
            self._refuse_all(reason)
        _refuse(self._group, reason)

    def _refuse_all(self, reason: StoreError) -> None:
        """Refuse the changes in the queue."""
        waiting, self._next_first = [self._next_first], None
        with suppress(Empty):
            while True:
                waiting.append(self._waiting.get_nowait())
        _refuse([one for one in waiting if one is not None], reason)

    def _next(self) -> tuple[list[_Waiting], bool]:
        """The next changes to write together, in the order of arrival, and whether no more will come."""
        group: list[_Waiting] = []
        one, self._next_first = self._next_first, None
        try:
            one = self._waiting.get(timeout=self._idle_s) if one is None else one
            while one is not None:
                if group and (group[-1][0].is_alone or one[0].is_alone):
                    self._next_first = one
                    return group, False
                group.append(one)
                if len(group) == _MOST_AT_ONCE:
                    return group, False
                one = self._waiting.get_nowait()
        except Empty:
            return group, False
        return group, True

    def _commit(self, group: list[_Waiting]) -> None:
        """Write a group, apply it and tell the callers. One that cannot be written is halved.

        Changes that their callers have taken back are left out. From now on the others cannot be.
        """
        parts = [[(change, done) for change, done in group if not isinstance(done, Answer) or done.claim()]]
        while parts:
            part = parts.pop()
            error = self._write(part) if part else None
            if error is None:
                continue
            if len(part) > 1 and not concerns_store(error):
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
            else:
                _refuse(part, _refusal(error))

    def _write(self, group: list[_Waiting]) -> BaseException | None:
        """Write changes in one transaction, and apply them; returns the error that took the transaction back."""
        if self._failure is not None:
            return self._noted(_broken(self._database, self._failure))
        before = self._database.changes
        written: list[_Waiting] = []
        refused: list[tuple[_Waiting, TocsinError]] = []
        sequence, touched = self.sequence, set[Any]()
        try:
            with self._database.transaction():
                for waiting in group:
                    try:
                        sequence = waiting[0].write(self._database, sequence, touched)
                        written.append(waiting)
                    except StoreError:
                        raise
                    except TocsinError as error:
                        refused.append((waiting, error))
        except BaseException as error:  # noqa: BLE001
            return self._noted(error)
        if self._database.changes != before:
            self._refused = None
        for waiting, refusal in refused:
            _refuse([waiting], refusal)
        self._apply(written, sequence)
        return None

    def _noted(self, error: BaseException) -> BaseException:
        """An error, which `progress` tells until the store takes a change, if it concerns the store."""
        if concerns_store(error):
            self._refused = error, time.monotonic() if self._refused is None else self._refused[1]
        return error

    def _apply(self, written: list[_Waiting], sequence: int) -> None:
        """Bring memory to the state that is durable now."""
        with self.moment:
            try:
                answers = [change.apply() for change, _ in written]
            except BaseException as error:  # noqa: BLE001
                self._failure = error
                _refuse(written, self._noted(_broken(self._database, error)))
                return
            self.sequence = sequence
        for (_, done), answer in zip(written, answers, strict=True):
            done.set_result(answer)


_OF_VALUES: Final = (UnicodeError, OverflowError, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""Errors of values that SQLite does not take."""


def concerns_store(error: BaseException) -> bool:
    """Whether an error concerns all changes alike, such as that of a full disk, and not one of them."""
    cause = error.__cause__
    return isinstance(error, StoreError) and not isinstance(cause, (*_OF_VALUES, sqlite3.IntegrityError))


def _refusal(error: BaseException) -> BaseException:
    """The error that the sender of a change gets: of a value that cannot be stored it is an `InvalidInput`."""
    cause = error.__cause__ if isinstance(error, StoreError) else error
    if not isinstance(cause, _OF_VALUES):
        return error
    refusal = InvalidInput(f"the change has a value that cannot be stored: {cause!s:.200}")
    refusal.__cause__ = cause
    return refusal


def _refuse(group: list[_Waiting], error: BaseException) -> None:
    for _, done in group:
        if not done.done():
            done.set_exception(error)


def _broken(database: Database, error: BaseException) -> StoreError:
    return StoreError(
        f"a change is durable in {database.folder}, but memory does not have it ({error!r}); open the engine again"
    )
