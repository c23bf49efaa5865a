"""Durable windows: the database is the truth, memory follows it.

`window` has the class, `opening` makes and opens folders, `rows` reads and writes the tables, and `examining` is the
part of `tocsin doctor` that knows windows.
"""

from tocsin.window.durable.examining import examine_window
from tocsin.window.durable.opening import open_window
from tocsin.window.durable.window import DurableWindow, probe_store, progress_of, together

__all__ = ["DurableWindow", "examine_window", "open_window", "probe_store", "progress_of", "together"]
