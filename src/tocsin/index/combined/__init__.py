"""Which structure leads to each subscription? Access keys, or a rectangle in tiles, by what an event will cost.

`index` is the Matcher over both, `choosing` says who goes where, `kernels.answers.merging` merges what both find.
"""

from tocsin.index.combined.index import Combined, CombinedBuilder

__all__ = ["Combined", "CombinedBuilder"]
