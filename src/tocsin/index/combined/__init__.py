"""The combined index: each subscription under access keys, a rectangle in tiles, or a region with keywords, by cost.

`index` has the Matcher, `choosing` places the subscriptions, and `kernels.answers.merging` merges the results.
"""

from tocsin.index.combined.index import Combined, CombinedBuilder

__all__ = ["Combined", "CombinedBuilder"]
