"""CIQ: cells that cover each subscription, with a bound in each on what the subscription's words must contribute."""

from tocsin.papers.skype.ciq.index import OPTIONS, CiqIndex

__all__ = ["OPTIONS", "CiqIndex"]
