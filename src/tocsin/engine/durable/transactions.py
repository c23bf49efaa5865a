"""Changes of a durable engine for layers above it, which write tables of their own in the same transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from tocsin.engine.durable.changes import Put, PutAll, Remove, RemoveAll
from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.loading import collect
from tocsin.engine.only import Choice, choice_of, ids_after
from tocsin.model.subscription import SubscriptionId
from tocsin.records import parsed_record
from tocsin.records.subscriptions import Check
from tocsin.store import Change, Database, Identity, Progress


class Transactions:
    """The committing thread of a durable engine, and the changes that its own calls would make."""

    def __init__(self, engine: DurableEngine) -> None:
        self._engine = engine
        self._committer = engine._require_writer()

    @property
    def identity(self) -> Identity:
        """Which store the engine has, and which of its histories."""
        return self._engine._identity

    @property
    def kind(self) -> type | None:
        """The type of the ids, str or int; None while there are no subscriptions."""
        return self._engine._store.kind

    def has(self, id: SubscriptionId) -> bool:
        """Whether there is a subscription, as far as memory has all changes."""
        return self._engine._store.has(id)

    def submit(self, change: Change) -> Future[Any]:
        """Hand a change over; the result is there when it is durable, and in memory."""
        return self._committer.submit(change)

    def read(self, ask: Callable[[Database], Any]) -> Any:
        """What `ask` reads with the writer's connection, between two transactions."""
        return self._committer.commit(_Read(ask))

    def progress(self) -> Progress:
        """The state of the committing thread."""
        return self._committer.progress()

    def put(self, record: Mapping[str, Any]) -> Put:
        """The change that adds or replaces a subscription; raises `RecordError`."""
        return Put(self._engine._store, parsed_record(record, self._engine._templates), replace=True)

    def put_all(
        self, records: Iterable[Mapping[str, Any]], check: Check | None = None, *, replace: bool = True
    ) -> PutAll:
        """The change that adds many subscriptions, or replaces them; of several with one id the last is kept.

        Without `replace` the first one is kept, and so are those that exist. `check` may refuse those that were parsed.
        """
        builder = collect(records, self._engine._templates, check=check)
        return self._engine._put_all(builder, replace=replace, strict=False)

    def remove(self, id: SubscriptionId) -> Remove:
        """The change that removes a subscription."""
        return Remove(self._engine._store, id)

    def choice(self, condition: str) -> Choice:
        """The subscriptions whose payload satisfies a condition. Cost: linear in all."""
        with self._engine._store.reading() as snapshots:
            return choice_of(snapshots, condition)

    def ids_after(self, condition: str, after: SubscriptionId | None, most: int) -> list[SubscriptionId]:
        """The first ids, after one of them, of the subscriptions that `choice` finds."""
        with self._engine._store.reading() as snapshots:
            return ids_after(snapshots, condition, after, most)

    def present(self, choice: Choice) -> list[SubscriptionId]:
        """The ids of the subscriptions of a choice that there are."""
        return self._engine._store.present(choice)

    def remove_all(self, choice: Choice) -> RemoveAll:
        """The change that removes the subscriptions of a choice."""
        return RemoveAll(self._engine._store, choice)

    def rewrite_index(self) -> None:
        """Write the index without what was removed, also if it has all changes already."""
        self._engine.merge()
        for _ in range(2):  # the folder also has the version before the current one
            self._engine._saved = min(self._engine._saved, self._engine.sequence - 1)
            self._engine.checkpoint()

    def grown(self, waiting: int | None = None) -> None:
        """Start a merge if `waiting`, what `Put.apply` returned, is many; after other changes always."""
        if waiting is None or waiting >= self._engine._delta_limit:
            self._engine._merger.wake()


class _Read:
    """A change that changes nothing."""

    is_alone = False

    def __init__(self, ask: Callable[[Database], Any]) -> None:
        self._ask, self._answer = ask, None

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        self._answer = self._ask(database)
        return sequence

    def apply(self) -> Any:
        return self._answer
