"""Whom does a message reach? One function for every structure: each registers its own beside its layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tocsin.index.window.kernels.layouts import State
from tocsin.kernels.choosing import choose


def disseminate(structure: Any, state: State, x: float, y: float, norm: float, count: int) -> int:
    """Write to `work.hits` and `work.hit_scores` whose threshold a message reaches, each once; how many.

    Its words are `work.words[:count]`, the lightest first, and present. Adds to `work.counts` how many subscriptions
    were compared with it.
    """
    raise NotImplementedError("for kernels")


def retune(structure: Any, state: State, slot: int) -> None:
    """Take note of a threshold that was raised or fell. A fall must be known before the next message."""
    raise NotImplementedError("for kernels")


def register(layout: type, found: Callable[..., int], retuned: Callable[..., None]) -> None:
    """Let a structure disseminate: kernels that do what both functions say for its layout."""
    choose(disseminate, layout, found)
    choose(retune, layout, retuned)
