"""Matchers that find candidates by a box that bounds part of an expression, and verify the rest (filter and refine)."""

from tocsin.index.filtering.index import FilterAndRefine

__all__ = ["FilterAndRefine"]
