"""Which recent messages are best for each subscription? Structures that say whom a message reaches."""

from tocsin.index.window.sliding import SLACK, Sliding
from tocsin.index.window.slots import Coming

__all__ = ["SLACK", "Coming", "Sliding"]
