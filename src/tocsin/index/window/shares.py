"""A window divided among threads: each share has a part of the subscriptions, and all messages.

Shares are independent: messages, their words and what expires are the same in all, and kernels run side by side. Slot s
of share t of T is slot s * T + t to callers.

Cost: a message takes T times its own bytes, and T times the work that does not depend on subscriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered, inverse, starts_of
from tocsin.index.window.kernels.layouts import Batch, Changes, Messages
from tocsin.index.window.kernels.merging import merge_changes
from tocsin.index.window.sliding import Sliding
from tocsin.index.window.slots import Coming, Held, Joining

Result = TypeVar("Result")

_FEWEST: Final = 16
"""The fewest messages for which threads are started."""


class SharedJoining(NamedTuple):
    """New subscriptions with the slots that they will have, by share."""

    slots: NDArray[np.int32]  # (C,) as callers number them
    parts: list[tuple[int, Joining]]  # the number of each share, and its part


class Shares:
    """Behaves like one `Sliding`, except for the order in which slots are assigned."""

    def __init__(self, shares: Sequence[Sliding]) -> None:
        self._shares = list(shares)
        self._next = 0

    @property
    def is_whole(self) -> bool:
        """Whether all shares are, and have the same messages."""
        ends = {(share.held, share.taken) for share in self._shares}
        return len(ends) == 1 and all(share.is_whole for share in self._shares)

    # Words

    @property
    def squares(self) -> NDArray[np.float64]:
        """The squared weight of each word."""
        return self._shares[0].squares

    @property
    def uses(self) -> NDArray[np.int32]:
        """The number of subscriptions with each word."""
        uses: NDArray[np.int32] = np.sum([share.uses for share in self._shares], axis=0, dtype=np.int32)
        return uses

    def know_words(self, count: int, numbers: NDArray[np.int64], squares: NDArray[np.float64]) -> None:
        for share in self._shares:
            share.know_words(count, numbers, squares)

    # Subscriptions

    def plan(self, coming: Coming) -> SharedJoining:
        """Choose slots for new subscriptions, equally many in each share. Nothing changes before `add`."""
        count, shares = len(coming.ks), len(self._shares)
        slots = np.empty(count, np.int32)
        owners = (self._next + np.arange(count)) % shares
        parts = list[tuple[int, Joining]]()
        for number, share in enumerate(self._shares):
            places = np.flatnonzero(owners == number)
            if len(places):
                part = share.plan(coming.part(places))
                slots[places] = part.slots * shares + number
                parts.append((number, part))
        return SharedJoining(slots, parts)

    def add(self, joining: SharedJoining) -> None:
        """Add subscriptions. After an error, `remove_all` undoes it."""
        count = len(joining.slots)
        self._each([partial(self._shares[number].add, part) for number, part in joining.parts], count)
        self._next = (self._next + count) % len(self._shares)

    def remove_all(self, slots: NDArray[np.int32]) -> None:
        """Remove the subscriptions that some slots have."""
        for share, _, local in self._parted(slots):
            share.remove_all(local)

    def remove(self, slot: int) -> None:
        """Remove a subscription."""
        share, local = self._within(slot)
        share.remove(local)

    def rank(self, slots: NDArray[np.int32], ranks: NDArray[np.int64]) -> None:
        for share, places, local in self._parted(slots):
            share.rank(local, ranks[places])

    def held_at(self, slots: NDArray[np.int32]) -> Held:
        """The parameters of some subscriptions."""
        parted = [(places, share.held_at(local)) for share, places, local in self._parted(slots)]
        order = inverse(np.concatenate([np.empty(0, np.int64), *(places for places, _ in parted)]))
        lengths = [np.diff(held.starts) for _, held in parted]
        starts = starts_of(np.concatenate([np.empty(0, np.int64), *lengths]), len(slots))
        words = np.concatenate([np.empty(0, np.int32), *(held.words for _, held in parted)])
        own, _ = gathered(starts, order)
        records = np.concatenate([held.records for _, held in parted])[order] if parted else np.empty((0, 8))
        ks = np.concatenate([np.empty(0, np.int32), *(held.ks for _, held in parted)])[order]
        return Held(records, ks, starts_of(np.diff(starts)[order], len(slots)), words[own])

    def settle(self) -> bool:
        settled = [share.settle() for share in self._shares]
        return any(settled)

    def order(self) -> None:
        self._each([share.order for share in self._shares])

    # Messages

    @property
    def messages(self) -> Messages:
        """The messages of the window, the same in each share."""
        return self._shares[0].messages

    @property
    def held(self) -> int:
        return self._shares[0].held

    @property
    def taken(self) -> int:
        return self._shares[0].taken

    def start_at(self, number: int) -> None:
        for share in self._shares:
            share.start_at(number)

    def push(self, batch: Batch) -> Changes:
        """Push messages one after another; returns all changes."""
        return self._merged(self._each([partial(share.push, batch) for share in self._shares], len(batch.times)))

    def fill(self, batch: Batch) -> None:
        self._each([partial(share.fill, batch) for share in self._shares], len(batch.times))

    def end_fill(self) -> None:
        self._each([share.end_fill for share in self._shares])

    def advance(self, now: float) -> Changes:
        parts = [share.advance(now) for share in self._shares]
        return self._merged([part._replace(ends=np.array([len(part.slots)], np.int64)) for part in parts])

    def best(self, slot: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        share, local = self._within(slot)
        return share.best(local)

    def best_of_each(
        self, slots: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The best messages of some subscriptions: how many each has, then all numbers and scores, concatenated."""
        parted = [(places, share.best_of_each(local)) for share, places, local in self._parted(slots)]
        order = inverse(np.concatenate([np.empty(0, np.int64), *(places for places, _ in parted)]))
        counts = np.concatenate([np.empty(0, np.int64), *(one[0] for _, one in parted)])
        own, _ = gathered(starts_of(counts, len(slots)), order)
        numbers = np.concatenate([np.empty(0, np.int64), *(one[1] for _, one in parted)])
        scores = np.concatenate([np.empty(0), *(one[2] for _, one in parted)])
        return counts[order], numbers[own], scores[own]

    def counts(self) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = np.sum([share.counts() for share in self._shares], axis=0)
        return counts

    def bytes_for(self, ks: Sequence[int]) -> int:
        return sum(share.bytes_for(ks[place :: len(self._shares)]) for place, share in enumerate(self._shares))

    def sizes(self) -> Mapping[str, int]:
        own = [share.sizes() for share in self._shares]
        return {name: sum(one[name] for one in own) for name in own[0]}

    # Within

    def _within(self, slot: int) -> tuple[Sliding, int]:
        """The share of a slot, and the slot's number in it."""
        return self._shares[slot % len(self._shares)], slot // len(self._shares)

    def _parted(self, slots: NDArray[np.int32]) -> Iterator[tuple[Sliding, NDArray[np.int64], NDArray[np.int32]]]:
        """The shares of some slots, the positions of their slots in `slots`, and their numbers in the share."""
        owners, local = slots % len(self._shares), slots // len(self._shares)
        for number, share in enumerate(self._shares):
            places = np.flatnonzero(owners == number)
            if len(places):
                yield share, places, local[places].astype(np.int32)

    def _each(self, steps: Sequence[Callable[[], Result]], size: int = _FEWEST) -> list[Result]:
        """The results of all steps, each in a thread if that pays. An error is raised after all have ended."""
        if size < _FEWEST or len(steps) < 2:
            return [step() for step in steps]
        with ThreadPoolExecutor(len(steps), "tocsin") as pool:
            running = [pool.submit(step) for step in steps]
        return [one.result() for one in running]

    def _merged(self, parts: Sequence[Changes]) -> Changes:
        """The changes of all shares, message by message, exits first, each by rank."""
        count, ends = len(self._shares), np.stack([part.ends for part in parts])
        firsts = np.cumsum([0, *(len(part.slots) for part in parts)])
        ranks = np.concatenate([share.ranks[part.slots] for share, part in zip(self._shares, parts, strict=True)])
        enters = np.concatenate([part.enters for part in parts])
        slots = np.concatenate([part.slots * count + number for number, part in enumerate(parts)])
        order, whole = np.empty(len(slots), np.int64), np.empty(ends.shape[1], np.int64)
        merge_changes(firsts, ends, enters, ranks, order, whole)
        numbers, scores = (np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "scores"))
        return Changes(slots[order].astype(np.int32), numbers[order], enters[order], scores[order], whole)
