"""Search for many subscriptions at once: a window's messages in blocks, the most promising first."""

from tocsin.index.window.message_blocks.index import BatchSearch

__all__ = ["BatchSearch"]
