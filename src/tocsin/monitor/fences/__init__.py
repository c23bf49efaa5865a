"""Fences: which objects enter, stay in and leave which subscriptions, with places and the lines between them.

`fences` is the public class. `following` asks an engine for the matches of events, `tracking` has the state of the
objects, and `durable` keeps the state in a database.
"""

from tocsin.monitor.fences.durable import DurableFences
from tocsin.monitor.fences.fences import Fences

__all__ = ["DurableFences", "Fences"]
