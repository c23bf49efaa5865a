"""The settings of a window on a cluster: size, rules and partitions, as sent to every task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from tocsin.errors import InvalidInput
from tocsin.window import Window
from tocsin.window.frequencies import BOOLEAN, TermFrequency
from tocsin.window.saving import with_defaults


@dataclass(frozen=True, slots=True)
class Settings:
    """A window, as in `tocsin.Window`, in `partitions`; types are names of Arrow types, or None."""

    size: int | None
    time: float | None
    bounds: tuple[float, ...]
    weights: Mapping[str, float] = field(repr=False)
    text: str
    index: str
    partitions: int
    placement: str
    id_type: str
    key_type: str | None
    lists: bool = False
    routes: str = ""  # a digest of the routes of words
    has_homes: bool = False  # whether subscriptions may have several copies, whose lists are merged
    term_frequency: TermFrequency = BOOLEAN
    weighed: str = field(init=False)  # a digest of the weights, which may be many

    def __post_init__(self) -> None:
        weights = json.dumps(sorted(self.weights.items())).encode()
        object.__setattr__(self, "weighed", blake2b(weights, digest_size=8).hexdigest())

    def window(self) -> Window:
        """An empty window with these settings."""
        return Window(
            self.size,
            bounds=self.bounds,
            time=self.time,
            weights=self.weights,
            text=self.text,
            term_frequency=self.term_frequency,
            index=self.index,
        )

    @property
    def message_type(self) -> str:
        """The type of messages' names: that of keys, or of numbers."""
        return self.key_type or "int64"

    def as_dict(self) -> dict[str, Any]:
        """The settings in a checkpoint: all that must not change in later runs."""
        return {
            "size": self.size,
            "time": self.time,
            "bounds": list(self.bounds),
            "weights": self.weighed,
            "text": self.text,
            "term_frequency": self.term_frequency,
            "partitions": self.partitions,
            "placement": self.placement,
            "subscriptions": self.routes,
            "ids": self.id_type,
            "keys": self.key_type,
            "homes": self.has_homes,
        }

    def check(self, before: Mapping[str, Any]) -> None:
        """Raise `InvalidInput` if a checkpoint was made with other settings."""
        known = with_defaults(before)
        for name, value in self.as_dict().items():
            if known.get(name, False) == value:
                continue
            if name in ("weights", "subscriptions"):
                what = f"other {name} than this query has"
            else:
                what = f"{name}={known.get(name)!r}, but this query has {name}={value!r}"
            raise InvalidInput(
                f"the checkpoint was made with {what}. Start the query with the same settings, or with a new "
                f"checkpointLocation: the window then begins empty."
            )
