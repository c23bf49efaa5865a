"""Which region-and-keyword subscriptions does this message satisfy? `keyword_first`: keywords are counted, then boxes
compared, a baseline."""

from __future__ import annotations

from tocsin.papers.location_aware.keyword_first.index import KeywordFirstBuilder

__all__ = ["KeywordFirstBuilder"]
