"""Indexes for sliding windows.

They find the subscriptions that a message reaches, and keep the best messages of each.
"""

from tocsin.index.window.shares import Shares
from tocsin.index.window.sliding import Sliding
from tocsin.index.window.slots import Coming

__all__ = ["Coming", "Shares", "Sliding"]
