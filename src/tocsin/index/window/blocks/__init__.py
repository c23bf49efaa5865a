"""Whom does a message reach? Each word's subscriptions in blocks of what is alike, whose bytes say whom it cannot."""

from tocsin.index.window.blocks.index import BlocksIndex

__all__ = ["BlocksIndex"]
