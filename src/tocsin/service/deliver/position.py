"""Where a sender is in its outbox: which deliveries are on their way, which wait for another try, and the cursor."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from tocsin.service.deliver.letters import Letter
from tocsin.service.hub import Told


@dataclass(slots=True, eq=False)
class Batch:
    """Deliveries of one request, in order, how often they were tried, and how often the endpoint refused them."""

    deliveries: Sequence[Told]
    attempts: int = 0
    refusals: int = 0

    @property
    def numbers(self) -> list[int]:
        """Their numbers."""
        return [one.sequence for one in self.deliveries]


@dataclass(slots=True)
class Position:
    """The place of a sender. It is held in memory, ahead of what the database has."""

    cursor: int = 0
    taken: int = 0  # the last delivery that was read from the outbox and sent
    is_strict: bool = True
    letters: dict[int, Letter] = field(default_factory=dict)  # tried again when they are due by the steady clock
    flying: set[int] = field(default_factory=set)  # numbers on their way
    read: int = 0  # the last delivery that was read
    page: deque[Told] = field(default_factory=deque)  # what was read, and is not sent yet
    _settled: set[int] = field(default_factory=set)  # numbers beyond `taken` that are done

    def begin(self, cursor: int, letters: dict[int, Letter], *, is_strict: bool) -> None:
        """Begin with what the database has."""
        self.cursor = self.taken = self.read = cursor
        self.letters, self.is_strict = letters, is_strict
        self.flying, self._settled = set(), set()
        self.page.clear()

    def keep(self, found: Sequence[Told], lettered: Collection[int], read: int) -> None:
        """Keep what was read up to a number, but what is done, or has a letter."""
        passed = (lettered, self._settled, self.letters, self.flying)
        self.page.extend(one for one in found if not any(one.sequence in some for some in passed))
        self.read = max(self.read, read)
        if not self.page:
            self.taken = max(self.taken, self.read)

    def depart(self, batch: Batch, *, is_letter: bool) -> None:
        """A request begins."""
        self.flying.update(batch.numbers)
        if not is_letter:
            self.taken = max(self.taken, batch.numbers[-1] if self.page else self.read)

    def arrive(self, numbers: Iterable[int]) -> None:
        """A request is over, whatever came of it."""
        self.flying.difference_update(numbers)

    def settle(self, number: int) -> bool:
        """A delivery is done; returns whether it had a letter."""
        if number > self.taken:
            self._settled.add(number)
        return self.letters.pop(number, None) is not None

    def advance(self) -> int:
        """The cursor: all up to it are done, or dead letters, or (unless the order is strict) are tried again later."""
        held = [number for number in self.flying if number > self.cursor]
        if self.is_strict:
            held += [number for number in self.letters if number > self.cursor]
        self.cursor = max(self.cursor, min([self.taken, *(number - 1 for number in held)]))
        if self._settled:
            self._settled = {number for number in self._settled if number > self.taken}
        return self.cursor

    def due(self) -> tuple[int, Letter] | None:
        """The letter that comes next: the first one if the order is strict, else the one that is due first."""
        waiting = [(number, letter) for number, letter in self.letters.items() if number not in self.flying]
        if not waiting:
            return None
        return min(waiting) if self.is_strict else min(waiting, key=lambda one: (one[1].due, one[0]))
