"""After any calls, failures and crashes, a durable window is the window in memory that was given the same calls."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tocsin
from tests.durable.windows import BOUNDS, crashed, state, stored
from tocsin import RecordError, StoreError, TocsinError
from tocsin.window.durable import together

SETTINGS: Final = settings(
    max_examples=max(5, settings.default.max_examples * 2 // 5), stateful_step_count=40, deadline=None
)
WINDOWS: Final = [{"size": 1}, {"size": 3}, {"size": 20}, {"time": 4.0}, {"size": 5, "time": 6.0}]
WORDS: Final = st.lists(st.sampled_from(["a", "b", "c", "d", 'é"\\', "f\0", "g"]), max_size=7)
PLACES: Final = st.tuples(st.sampled_from([0.0, 1.0, 8.0]), st.sampled_from([0.0, 1.5, 4.0])) | st.tuples(
    st.floats(0, 8), st.floats(0, 4)
)
TEXTS: Final = st.sampled_from(["a b", "B, ç!", "", "a-b c"])
MESSAGES: Final = st.fixed_dictionaries(
    {"location": PLACES | st.just([9, 9])},
    optional={"passes": st.sampled_from([0, 1, 3, -2]), "key": st.integers(0, 5), "odd": st.sampled_from([None, 1.5])},
)
WORDED: Final = st.tuples(MESSAGES, WORDS | TEXTS)
INTERESTS: Final = st.tuples(
    st.integers(0, 6), WORDS, PLACES, st.integers(1, 4), st.sampled_from([0.0, 0.3, 0.999]) | st.floats(0, 0.99)
)


class DurableWindows(RuleBasedStateMachine):
    """Each call goes to both; the durable one is closed and opened, killed, and refused its commits at times."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.places = 0
        self.now = 0.0

    def teardown(self) -> None:
        self.durable.close()
        shutil.rmtree(self.folder)

    @initialize(
        kind=st.sampled_from(WINDOWS),
        weights=st.sampled_from([None, {"a": 0.3, "b": 2.5, "d": 1e-3}]),
        keys=st.sampled_from([None, str, int]),
        ids=st.sampled_from([str, int]),
        index=st.sampled_from(["blocks", "blocks(late=2, first=3)"]),
        threads=st.sampled_from([1, 1, 2]),
        sync=st.sampled_from(["full", "relaxed"]),
    )
    def start(self, kind: Any, weights: Any, keys: Any, ids: Any, index: str, threads: int, sync: str) -> None:
        self.keys, self.ids, self.threads, self.sync = keys, ids, threads, sync
        self.options = {"bounds": BOUNDS, "weights": weights, **kind}
        self.memory = tocsin.Window(**self.options, index=index)
        self.durable = tocsin.Window.open(self.folder / "0", **self.options, index=index, threads=threads, sync=sync)
        self.open = {"threads": threads, "sync": sync}

    def both(self, call: Callable[[Any], Any]) -> None:
        assert outcome(call, self.durable) == outcome(call, self.memory)

    def record(self, one: tuple[dict[str, Any], Any]) -> dict[str, Any]:
        """A message, which is bad or late at times, with a key of the drawn kind or, at times, of none."""
        fields, words = one
        self.now += max(fields.get("passes", 0), 0)
        record = {"location": fields["location"], "time": self.now + min(fields.get("passes", 0), 0)}
        record["text" if isinstance(words, str) else "words"] = words
        if self.keys is not None and "odd" not in fields:
            record["key"] = self.keys(fields.get("key", 0))
        elif fields.get("odd") is not None:
            record["key"] = fields["odd"]
        return record

    @rule(one=WORDED)
    def push(self, one: Any) -> None:
        record = self.record(one)
        self.both(lambda window: window.push(**record))

    @rule(some=st.lists(WORDED, max_size=12), changes=st.booleans(), strict=st.sampled_from([False, False, True]))
    def push_batch(self, some: Any, changes: bool, strict: bool) -> None:
        records = [self.record(one) for one in some]
        self.both(lambda window: window.push_batch(records, changes=changes, strict=strict))

    @rule(one=INTERESTS, replace=st.booleans())
    def subscribe(self, one: Any, replace: bool) -> None:
        id, words, place, k, alpha = one
        self.both(
            lambda window: window.subscribe(
                self.ids(id), words=words, location=place, k=k, alpha=alpha, replace=replace
            )
        )

    @rule(some=st.lists(INTERESTS, max_size=5), replace=st.booleans(), strict=st.booleans())
    def subscribe_many(self, some: Any, replace: bool, strict: bool) -> None:
        names = ("id", "words", "location", "k", "alpha")
        records = [{**dict(zip(names, one, strict=True)), "id": self.ids(one[0])} for one in some]
        self.both(lambda window: window.subscribe_many(records, replace=replace, strict=strict))

    @rule(first=WORDED, some=st.lists(WORDED, max_size=5), fails=st.booleans())
    def several_at_once(self, first: Any, some: Any, fails: bool) -> None:
        """Several calls in one transaction are all made, with what is written beside them, or none of them."""
        now, records = self.now, [self.record(one) for one in (first, *some)]
        noted = self.noted()
        try:
            with together(self.durable) as beside:
                self.durable.push_batch(records[:1])
                answer = self.durable.push_batch(records[1:])
                beside.append(lambda database: database.put_meta("beside", noted + 1))
                if fails:
                    raise RecordError("not this one")
        except RecordError:
            self.now = now
            assert (state(self.durable), self.noted()) == (state(self.memory), noted)
        else:
            self.memory.push_batch(records[:1])
            other = self.memory.push_batch(records[1:])
            assert (answer.table.to_pylist(), answer.errors) == (other.table.to_pylist(), other.errors)
            assert self.noted() == noted + 1

    def noted(self) -> int:
        return int(self.durable._database.meta("beside") or 0)

    @rule(id=st.integers(0, 6))
    def unsubscribe(self, id: int) -> None:
        self.both(lambda window: window.unsubscribe(self.ids(id)))

    @rule(passes=st.sampled_from([0, 2, 9, -1]))
    def advance(self, passes: int) -> None:
        self.now += max(passes, 0)
        self.both(lambda window: window.advance(self.now + min(passes, 0)))

    @rule()
    def close_and_open(self) -> None:
        self.durable.close()
        self.durable = tocsin.Window.open(self.durable.folder, **self.open)

    @rule()
    def crash(self) -> None:
        self.places += 1
        self.durable = crashed(self.durable, self.folder / str(self.places))

    @rule(some=st.lists(WORDED, max_size=5), one=INTERESTS, which=st.sampled_from(["messages", "subscriptions"]))
    def fail(self, some: Any, one: Any, which: str) -> None:
        """A change that cannot be written is as if it had not been asked for."""
        records = [self.record(one) for one in some]
        id, words, place, k, alpha = one
        self.durable._database.put_meta = full
        try:
            if which == "messages":
                self.durable.push_batch(records)
            else:
                self.durable.subscribe(self.ids(id), words=words, location=place, k=k, alpha=alpha, replace=True)
        except TocsinError:
            pass
        del self.durable._database.put_meta

    @invariant()
    def is_the_same(self) -> None:
        if not hasattr(self, "durable"):
            return
        now = state(self.durable)
        assert now == state(self.memory)
        first = now["taken"] - now["held"]
        assert stored(self.durable) == (list(range(first, now["taken"])), now["ids"])


def full(name: str, value: Any) -> None:
    raise StoreError("database or disk is full")


def outcome(call: Callable[[Any], Any], window: Any) -> Any:
    """What a call returns, or raises."""
    try:
        answer = call(window)
    except TocsinError as error:
        return type(error), str(error)
    if isinstance(answer, tocsin.WindowAnswer):
        return answer.table.to_pylist(), answer.errors, answer.stats.messages
    return answer


DurableWindows.TestCase.settings = SETTINGS
TestDurableWindows = DurableWindows.TestCase
