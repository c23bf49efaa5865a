"""Subscriptions with areas, looked up by their other conditions where many areas overlap.

`gates` is the entry point. `programs` relaxes the programs of subscriptions.
"""

from tocsin.index.gates.gates import Gate, Gates

__all__ = ["Gate", "Gates"]
