"""Group commit: one thread writes the changes of all others, many in a transaction.

A change is acknowledged once its transaction is durable and memory has it. The thread is never interrupted by a signal,
so that memory and database stay alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol, TypeAlias

from tocsin.errors import StoreError, TocsinError
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
        adds its own. Raises a `TocsinError`, before it writes anything, if it is refused.
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


class Committer:
    """Writes changes in groups. `between` runs after each group, and when nothing came for `idle_s` seconds.

    `between` must not raise anything.
    """

    def __init__(self, database: Database, owner: Owner, between: Callable[[], None], idle_s: float = 1.0) -> None:
        self._database, self._owner, self._between, self._idle_s = database, owner, between, idle_s
        self._waiting: SimpleQueue[_Waiting | None] = SimpleQueue()  # None comes last, after `close`
        self._next_first: _Waiting | None = None  # taken from the queue, but for the next group
        self._opening = threading.Lock()  # held while something is put into the queue
        self._is_closed = False
        self.moment = threading.Lock()  # held while memory is brought to the state of the database
        self.sequence = database.sequence
        self._failure: BaseException | None = None
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
            raise StoreError(f"{self._database.folder} is closed; open it again")

    def close(self) -> None:
        """Write what waits, and end the thread."""
        with self._opening:
            self._is_closed = True
            self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            group, is_last = self._next()
            if group:
                self._commit(group)
            self._between()

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
        """Write a group, apply it and tell the callers."""
        if self._failure is not None:
            _refuse(group, _broken(self._database, self._failure))
            return
        written: list[_Waiting] = []
        sequence, touched = self.sequence, set[Any]()
        try:
            with self._database.transaction():
                for change, done in group:
                    if isinstance(done, Answer) and not done.claim():
                        continue
                    try:
                        sequence = change.write(self._database, sequence, touched)
                        written.append((change, done))
                    except StoreError:
                        raise
                    except TocsinError as error:
                        done.set_exception(error)
        except BaseException as error:  # noqa: BLE001
            _refuse(group, error)
            return
        self._apply(written, sequence)

    def _apply(self, written: list[_Waiting], sequence: int) -> None:
        """Bring memory to the state that is durable now."""
        with self.moment:
            try:
                answers = [change.apply() for change, _ in written]
            except BaseException as error:  # noqa: BLE001
                self._failure = error
                _refuse(written, _broken(self._database, error))
                return
            self.sequence = sequence
        for (_, done), answer in zip(written, answers, strict=True):
            done.set_result(answer)


def _refuse(group: list[_Waiting], error: BaseException) -> None:
    for _, done in group:
        if not done.done():
            done.set_exception(error)


def _broken(database: Database, error: BaseException) -> StoreError:
    return StoreError(
        f"a change is durable in {database.folder}, but memory does not have it ({error!r}); open the engine again"
    )
