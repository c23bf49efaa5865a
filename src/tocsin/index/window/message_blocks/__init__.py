"""Which messages are best for many subscriptions at once? A window's messages in blocks, searched best first."""

from tocsin.index.window.message_blocks.index import BatchSearch

__all__ = ["BatchSearch"]
