"""Which expressions does this event satisfy, by posting lists of values? The k-index, a baseline.

`index` is the Matcher, `layout` what it holds and how that is checked, `building` how its lists are made.
"""

from tocsin.papers.opindex.k_index.building import MOST_VALUES
from tocsin.papers.opindex.k_index.index import KIndex, KIndexBuilder

__all__ = ["MOST_VALUES", "KIndex", "KIndexBuilder"]
