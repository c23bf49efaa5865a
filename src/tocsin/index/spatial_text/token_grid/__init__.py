"""The `token_grid` index: boxes of regions under their rarest keyword."""

from __future__ import annotations

from tocsin.index.spatial_text.token_grid.index import TokenGridBuilder

__all__ = ["TokenGridBuilder"]
