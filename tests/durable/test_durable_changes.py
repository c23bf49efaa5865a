"""After any sequence of changes, a durable engine, a reader that follows it and one opened again answer alike."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

import tocsin
from tests import strategies as own
from tests.engine.changes import Changes, World, subscriptions
from tests.engine.relaxed_samples import INTEGER_IDS, STRING_IDS
from tests.strategies.weighted import Weighted

pytestmark = [
    pytest.mark.filterwarnings("ignore:BBOX"),
    pytest.mark.filterwarnings("ignore:.*all subscriptions are read from the store"),
]
SETTINGS: Final = settings(
    max_examples=max(5, settings.default.max_examples * 2 // 5), stateful_step_count=50, deadline=None
)


class DurableChanges(Changes):
    """The engine lies in a folder, is closed or abandoned at times, and has a reader."""

    world = World(
        ("auto", "access", "scan"),
        own.expressions(max_depth=4).map(lambda tree: (tree, {})),
        own.with_lists(st.one_of(own.python_events(), own.bad_events())),
        ("n", "s", "flag"),
        ({}, {"n": 1, "s": "a", "flag": True}),
    )

    def __init__(self) -> None:
        super().__init__()
        self.reader: Any = None

    def teardown(self) -> None:
        if self.reader is not None:
            self.reader.close()
        super().teardown()

    @initialize(
        ids=st.sampled_from([STRING_IDS, INTEGER_IDS]),
        index=st.sampled_from(world.indexes),
        delta_limit=st.sampled_from([4, 16, 1, 8192]),
        first=st.lists(subscriptions, max_size=6),
        sync=st.sampled_from(["full", "relaxed"]),
    )
    def start(self, ids: tuple[Any, ...], index: str, delta_limit: int, first: list[Weighted], sync: str) -> None:
        self.ids, self.index, self.delta_limit, self.sync = ids, index, delta_limit, sync
        self.open()
        for place, one in enumerate(first):
            self.subscribe(place, one, False, None, None, False)

    def open(self) -> None:
        self.engine = tocsin.Engine.open(
            self.folder / "store", index=self.index, delta_limit=self.delta_limit, sync=self.sync
        )

    @rule(ends=st.sampled_from(["closed", "checkpointed and closed"]), index_goes=st.booleans())
    def open_again(self, ends: str, index_goes: bool) -> None:
        sequence = self.engine.sequence
        if ends.startswith("checkpointed"):
            self.engine.checkpoint()
        self.engine.close()
        if index_goes:
            (self.folder / "store" / "manifest.json").unlink()
        self.open()
        assert self.engine.sequence == sequence

    @rule()
    def checkpoint(self) -> None:
        self.engine.checkpoint()

    @rule()
    def follow(self) -> None:
        """A reader that was opened at any time has the same after a refresh."""
        if self.reader is None:
            self.reader = tocsin.Engine.open(self.folder / "store", read_only=True, delta_limit=self.delta_limit)
        assert self.reader.refresh() == self.engine.sequence
        assert self.reader.lag == 0
        self.check(self.reader)

    @rule(place=st.integers(0, 1))
    def back_up(self, place: int) -> None:
        target = self.folder / f"backup-{place}-{self.engine.sequence}"
        if not target.exists():
            self.engine.backup(target)
            with tocsin.Engine.open(target) as copy:
                self.check(copy)

    def save_and_load(self) -> None:  # type: ignore[override]
        """Not of interest here: a loaded engine is not durable."""


DurableChanges.TestCase.settings = SETTINGS
TestDurableChanges = DurableChanges.TestCase
