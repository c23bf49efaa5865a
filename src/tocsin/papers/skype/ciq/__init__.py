"""Whom does a message reach? CIQ: cells that cover each subscription, and what its words must bring in each."""

from tocsin.papers.skype.ciq.index import OPTIONS, CiqIndex

__all__ = ["OPTIONS", "CiqIndex"]
