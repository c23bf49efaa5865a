"""Matchers that find candidates by a box around part of what they ask for, and verify the rest (filter and refine)."""

from tocsin.index.filtering.index import FilterAndRefine

__all__ = ["FilterAndRefine"]
