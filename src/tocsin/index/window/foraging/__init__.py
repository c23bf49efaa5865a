"""Which messages are best for many subscriptions at once? A window's messages in blocks, searched best first."""

from tocsin.index.window.foraging.index import Foraging

__all__ = ["Foraging"]
