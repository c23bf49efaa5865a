"""Which rectangles cover this point? `vcr`: virtual construct rectangles."""

from __future__ import annotations

from tocsin.index.rectangles.vcr.index import VCRBuilder

__all__ = ["VCRBuilder"]
