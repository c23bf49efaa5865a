"""Which expressions does this event satisfy, by space cutting? The BE-tree, a baseline.

`index` is the Matcher, `layout` what it holds and how that is checked, `growing` the tree while it changes.
"""

from tocsin.papers.opindex.be_tree.index import BETree, BETreeBuilder

__all__ = ["BETree", "BETreeBuilder"]
