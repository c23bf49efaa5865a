"""A durable engine: a change is acknowledged once it is in a SQLite database, and then no crash loses it."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from tocsin.engine.durable.amending import Amend
from tocsin.engine.durable.changes import Put, PutAll, Remove, RemoveAll, Rescore
from tocsin.engine.durable.checkpoints import Checkpoints
from tocsin.engine.engine import Engine
from tocsin.engine.holdings import optional_parts
from tocsin.engine.loading import checked_rejects, collect
from tocsin.engine.only import Choice
from tocsin.engine.sources import SegmentSource
from tocsin.errors import InvalidInput, RecordError, SegmentError, StoreError
from tocsin.model.showing import refuse_pickling
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.texts import Text
from tocsin.records import Parsed, parsed_record
from tocsin.records.changes import ChangeBatch
from tocsin.segment import SegmentBuilder, Snapshots
from tocsin.segment.amending import Amendment
from tocsin.segment.storage import MANIFEST
from tocsin.store import Committer, Database, Row, Writer, back_up

_TAIL: Final = 50_000
"""After so many changes, or `_PERIOD_S` after the first of them, a checkpoint is due."""
_PERIOD_S: Final = 60.0
_KEPT_TOMBSTONES: Final = 1_000_000
"""A reader that is more changes behind reads everything again."""
_IN_BULK: Final = 512
"""From so many changes on, they are compiled together."""


class DurableEngine(Engine):
    """An engine whose subscriptions survive a crash. `Engine.open` makes one.

    `subscribe`, `subscribe_many`, `unsubscribe`, `unsubscribe_many` and `rescore` return when the change is durable.
    Changes of many threads share transactions. Everything else is as in `Engine`. A process that was forked from the
    writer may match, but not change anything.

    Attributes
    ----------
    folder : Path
        The folder with the store and the index.
    checkpoint_error : str or None
        Why the index could not be written in the background. The store has all changes nevertheless.

    Examples
    --------
    >>> import tempfile, tocsin
    >>> folder = tempfile.mkdtemp()
    >>> with tocsin.Engine.open(folder) as engine:
    ...     engine.subscribe("s1", "price <= 580")
    >>> with tocsin.Engine.open(folder) as engine:
    ...     list(engine.match({"price": 550})), engine.sequence
    ([Match(subscription='s1', score=1.0)], 1)
    """

    def __init__(
        self,
        database: Database,
        writer: Writer | None,
        index: str,
        delta_limit: int,
        texts: Mapping[str, Text],
    ) -> None:
        """Only `Engine.open` makes one."""
        super().__init__(index, delta_limit=delta_limit, texts=texts)
        self.folder = database.folder
        self.checkpoint_error: str | None = None
        self._database, self._writer = database, writer
        self._process = os.getpid()
        self._following = threading.Lock()  # held while a reader catches up
        self._is_closed = False
        self._read()
        has_no_index = self._sequence > 0 and not self._saved
        self._began = -_PERIOD_S if has_no_index else None  # when the first change came that no checkpoint has
        self._at_rest = -1  # the last change, when the committing thread had time the last time
        self._saving: threading.Thread | None = None
        self._committer = None if writer is None else writer.start(self._keep_house)

    # Opening and following

    def _read(self) -> None:
        """Bring memory to the state of the store: by its index and the changes since then, or by everything."""
        database, self._checkpoints = self._database, Checkpoints(self.folder)
        with database.one_state():
            self._identity, newest, floor = database.identity, database.sequence, int(database.meta("floor"))
            self._checkpoints.identity = self._identity
            sources, begin = self._mapped(floor, newest) if database.count() else ([], 0)
            self._begin(self._new_store(sources))
            self._saved = begin
            self._take(database.removed(begin) if begin else (), database.rows(begin))
        self._sequence = newest

    def _mapped(self, floor: int, newest: int) -> tuple[list[SegmentSource], int]:
        """The segments of the index, and the last change that they have; none if the index is of no use."""
        try:
            return self._checkpoints.open(floor, newest)
        except SegmentError as error:
            warnings.warn(f"{self.folder}: {error}; all subscriptions are read from the store", stacklevel=6)
            return [], 0

    def _take(self, removed: Iterable[SubscriptionId], rows: Iterable[Row]) -> None:
        """Make changes of the store in memory."""
        for id in removed:
            if self._store.has(id):
                self._store.remove(id)
        records = _records(rows)
        few = [record for _, record in zip(range(_IN_BULK), records, strict=False)]
        if len(few) < _IN_BULK:
            for record in few:
                super()._add(self._parsed(record), replace=True)
            return

        def all_records() -> Iterator[dict[str, Any]]:
            yield from few
            yield from records

        builder = collect(all_records(), self._templates)
        super()._add_all(builder, replace=True, strict=True)

    def _parsed(self, record: Mapping[str, Any]) -> Parsed:
        try:
            return parsed_record(record, self._templates)
        except RecordError as error:
            raise StoreError(f"{self.folder} has a subscription that cannot be read: {error}") from None

    @property
    def sequence(self) -> int:
        """The number of the last durable change that this engine has."""
        return self._sequence if self._committer is None else self._committer.sequence

    @property
    def log_error(self) -> str | None:
        """Why SQLite's log could not be moved into the database, or why it grows. The store has all changes."""
        return None if self._writer is None else self._writer.log_error

    @property
    def log_bytes(self) -> int:
        """The size of SQLite's log. It grows beyond 64 MB only while a process reads one state of the store."""
        return self._database.log_bytes

    @property
    def lag(self) -> int:
        """How many durable changes a read-only engine does not have yet; 0 for the writer."""
        return 0 if self._committer is not None else max(self._now().sequence - self._sequence, 0)

    def _now(self) -> Database:
        """This process's connection for reading; a forked child gets its own."""
        if self._is_closed:
            raise StoreError(f"the engine of {self.folder} is closed")
        if os.getpid() != self._process:
            self._parents, self._database = self._database, Database.open(self.folder, read_only=True)
            self._process = os.getpid()
        return self._database

    def refresh(self) -> int:
        """Take the changes that the writer made since the last call; the next match sees them.

        Returns
        -------
        int
            `sequence` afterwards.

        Raises
        ------
        StoreError
            If the store cannot be read.

        Notes
        -----
        Cost: that of the changes. A reader that is a million changes behind, or whose store was replaced, reads
        everything again, and warns.
        """
        if self._committer is not None:
            return self.sequence
        with self._following:
            database = self._now()
            if database.identity != self._identity or self._sequence < int(database.meta("floor")):
                warnings.warn(f"{self.folder}: the store was replaced, or is far ahead; it is read again", stacklevel=2)
                self._read()
                return self._sequence
            with database.one_state():
                newest = database.sequence
                if newest > self._sequence:
                    self._take(database.removed(self._sequence), database.rows(self._sequence))
            self._sequence = newest
        return self._sequence

    def _shared(self) -> tuple[Database, Committer]:
        """The database and the committing thread, for fences in the same folder."""
        return self._database, self._require_writer()

    def _snapshots(self) -> Snapshots:
        """The subscriptions at this moment, to be matched without the engine."""
        return self._store.hold().snapshots

    def _settled_sources(self) -> list[SegmentSource]:
        """The segments, after all recent subscriptions became some."""
        self._merger.settle()
        return list(self._store.segments)

    # Changes

    def _require_writer(self) -> Committer:
        """The committing thread; raises an error in a reader, and in a forked child."""
        if self._committer is None or self._writer is None:
            raise InvalidInput(f"{self.folder} was opened with read_only=True; its writer makes changes")
        self._writer.owner.require(self.folder)
        return self._committer

    def _add(self, parsed: Parsed, *, replace: bool) -> None:
        if self._require_writer().commit(Put(self._store, parsed, replace)) >= self._delta_limit:
            self._merger.wake()

    def _add_all(self, builder: SegmentBuilder, *, replace: bool, strict: bool) -> tuple[int, list[Reject]]:
        accepted, rejects = self._require_writer().commit(self._put_all(builder, replace=replace, strict=strict))
        self._merger.wake()
        if accepted >= _TAIL:
            self.checkpoint()
        return accepted, rejects

    def _put_all(self, builder: SegmentBuilder, *, replace: bool, strict: bool) -> PutAll:
        """The change that adds what a builder has. Its index is built here, so that other changes need not wait."""
        segment = self._finished(builder, replace=replace)
        rejects = checked_rejects(builder, strict=strict)
        return PutAll(self._store, segment, builder.rows, rejects, replace, strict)

    def _remove(self, id: SubscriptionId) -> None:
        self._require_writer().commit(Remove(self._store, id))

    def _remove_all(self, choice: Choice) -> list[SubscriptionId]:
        removed: list[SubscriptionId] = self._require_writer().commit(RemoveAll(self._store, choice))
        return removed

    def _rescore(self, id: SubscriptionId, score: float) -> None:
        self._require_writer().commit(Rescore(self._store, id, score))

    def amend(self, batch: ChangeBatch) -> Amendment:
        """Apply a batch of changes with versions, all of them or none.

        Parameters
        ----------
        batch : ChangeBatch
            The changes, from `tocsin.records.changes.read_changes`.

        Returns
        -------
        Amendment
            How many changes of each kind were made, and the rejects.
        """
        done: Amendment = self._require_writer().commit(Amend(self._store, batch, self._plan))
        self._merger.wake()
        return done

    # Checkpoints

    def checkpoint(self) -> None:
        """Write the index now, so that the next opening need not read the changes since the last one.

        Raises
        ------
        SegmentError
            If the index cannot be written. The store has all changes nevertheless.

        Notes
        -----
        This happens in the background after 50,000 changes or a minute, and at `close`. Changes and matches go on
        meanwhile.
        """
        committer = self._require_writer()
        with self._following:
            if committer.sequence <= self._saved and (self.folder / MANIFEST).exists():
                return
            self._merger.tidy()
            with committer.moment:
                sequence, moment = committer.sequence, self._store.hold()
            try:
                self._checkpoints.publish(moment.snapshots, self._plan, self._texts, sequence)
                self._saved = sequence
                self.checkpoint_error = None
            finally:
                self._store.release(moment)

    def _keep_house(self) -> None:
        """Start what is due; the committing thread calls this between transactions."""
        now = time.monotonic()
        assert self._writer is not None
        self._writer.fold(self._forget_tombstones)
        self._compile_at_rest()
        behind = self.sequence - self._saved
        if not behind:
            self._began = None
            return
        self._began = now if self._began is None else self._began
        is_due = behind >= _TAIL or now - self._began >= _PERIOD_S
        if is_due and (self._saving is None or not self._saving.is_alive()):
            self._began = now
            saving = threading.Thread(target=self._checkpoint_told, name="tocsin-checkpoint", daemon=True)
            saving.start()
            self._saving = saving

    def _compile_at_rest(self) -> None:
        """Compile recent subscriptions once no change has come for a second, so that a later match need not."""
        if self.sequence == self._at_rest:
            with suppress(Exception):  # the next match raises it, and the committing thread must go on
                self._store.keep_up()
        self._at_rest = self.sequence

    def _forget_tombstones(self) -> None:
        self._database.forget_tombstones(min(self._saved, self.sequence - _KEPT_TOMBSTONES))

    def _checkpoint_told(self) -> None:
        try:
            self.checkpoint()
        except Exception as error:  # the store has everything; `checkpoint_error` and `close` tell  # noqa: BLE001
            self.checkpoint_error = str(error)

    def backup(self, path: str | Path) -> None:
        """Copy the store of this moment into another folder, while the engine runs.

        `Engine.open` opens the copy. It has an epoch of its own, so that nobody who followed the original takes it for
        that.

        Parameters
        ----------
        path : str or Path
            The folder, which need not exist.

        Raises
        ------
        StoreError
            If the folder has a store already, or cannot be written.
        """
        back_up(self.folder, path)

    def close(self) -> None:
        """Write the index, and close the store; the engine still answers."""
        if self._is_closed or (self._writer is not None and not self._writer.owner.is_mine):
            return
        if self._writer is None:
            self._database.close()
        else:
            if self._saving is not None:
                self._saving.join()
            self._checkpoint_told()
            if self.checkpoint_error is not None:
                warnings.warn(f"{self.folder}: the index was not written: {self.checkpoint_error}", stacklevel=2)
            self._writer.close_told()
        self._is_closed = True
        super().close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(
            self, "pass its folder, and open it with Engine.open(folder, read_only=True) in the other process"
        )

    def __repr__(self) -> str:
        kind = "reader" if self._committer is None else "writer"
        return f"DurableEngine({str(self.folder)!r}, {kind}, {len(self):,} subscriptions, change {self.sequence:,})"


def _records(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Subscriptions of a store as records."""
    for row in rows:
        yield {"id": row.id, "where": row.condition, "score": row.score} | optional_parts(row.payload, row.weights)
