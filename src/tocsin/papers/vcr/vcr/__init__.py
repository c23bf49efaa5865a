"""`vcr`, an index of rectangles by virtual construct rectangles."""

from __future__ import annotations

from tocsin.papers.vcr.vcr.index import VCRBuilder

__all__ = ["VCRBuilder"]
