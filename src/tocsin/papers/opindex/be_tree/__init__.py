"""The BE-tree, a baseline for Boolean expressions that partitions space by attribute and value.

`index` is the Matcher, `growing` the tree while it grows.
"""

from tocsin.papers.opindex.be_tree.index import BETree, BETreeBuilder

__all__ = ["BETree", "BETreeBuilder"]
