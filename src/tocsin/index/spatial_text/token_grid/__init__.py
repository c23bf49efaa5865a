"""Which region-and-keyword subscriptions does this message satisfy? `token_grid`: boxes under rarest keywords."""

from __future__ import annotations

from tocsin.index.spatial_text.token_grid.index import TokenGridBuilder

__all__ = ["TokenGridBuilder"]
