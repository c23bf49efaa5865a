"""The blocks index: each word's subscriptions in blocks of similar ones, ruled out by bounds stored as bytes."""

from tocsin.index.window.blocks.index import BlocksIndex

__all__ = ["BlocksIndex"]
