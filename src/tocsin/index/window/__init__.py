"""Which recent messages are best for each subscription? Structures that say whom a message reaches."""

from tocsin.index.window.shares import Shares
from tocsin.index.window.sliding import Sliding
from tocsin.index.window.slots import Coming

__all__ = ["Coming", "Shares", "Sliding"]
