"""B4: where subscriptions of a region with keywords, and messages, come from; drawn ones are the figures'."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
from reproduce.messages import Group, Subscriptions


class Load(Protocol):
    """Where subscriptions and messages come from."""

    @property
    def name(self) -> str:
        """What a row calls it."""

    def subscriptions(self, count: int, seed: int = 1) -> Subscriptions:
        """What is asked for."""

    def messages(self, group: Group, count: int, seed: int = 2) -> pa.Table:
        """A table of `location`, a list of two or four numbers, and `words`, a list of strings."""
