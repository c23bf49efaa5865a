"""`keyword_first`, a baseline for regions with keywords: counts keywords, then compares boxes."""

from __future__ import annotations

from tocsin.papers.location_aware.keyword_first.index import KeywordFirstBuilder

__all__ = ["KeywordFirstBuilder"]
