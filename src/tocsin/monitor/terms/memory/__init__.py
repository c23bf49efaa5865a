"""What has been seen of objects: counts, sums and others within spans, and when time alone changes them."""

from tocsin.monitor.terms.memory.memory import Rows, TermMemory

__all__ = ["Rows", "TermMemory"]
