"""The interface of B4's workloads: regions with keywords, and messages. Drawn ones are in `reproduce.messages`."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
from reproduce.messages import Group, Subscriptions


class Load(Protocol):
    """A source of subscriptions and messages."""

    @property
    def name(self) -> str:
        """Its name in a row."""

    def subscriptions(self, count: int, seed: int = 1) -> Subscriptions:
        """The subscriptions."""

    def messages(self, group: Group, count: int, seed: int = 2) -> pa.Table:
        """A table of `location`, a list of two or four numbers, and `words`, a list of strings."""
