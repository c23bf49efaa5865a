"""Objects that are followed from event to event: who enters, stays in and leaves which subscriptions.

`fences` is the public class. `following` asks an engine for the matches of events, `tracking` has the state of the
objects, `witness` tells FALSE from UNKNOWN, and `durable` keeps the state in a database.
"""

from tocsin.monitor.durable import DurableFences
from tocsin.monitor.fences import Fences

__all__ = ["DurableFences", "Fences"]
