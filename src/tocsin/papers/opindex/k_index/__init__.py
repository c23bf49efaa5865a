"""The k-index, a baseline for Boolean expressions with posting lists by attribute and value.

`index` is the Matcher, `layout` its tables, `building` makes the posting lists.
"""

from tocsin.papers.opindex.k_index.building import MOST_VALUES
from tocsin.papers.opindex.k_index.index import KIndex, KIndexBuilder

__all__ = ["MOST_VALUES", "KIndex", "KIndexBuilder"]
