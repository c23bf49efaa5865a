"""Which expressions does this event satisfy? OpIndex: lists by pivot attribute and operator, and counters.

`index` is the Matcher, `cost` the paper's model of it. `rewriting` makes simple subscriptions of expressions,
`building` lists of those.
"""

from tocsin.papers.opindex.opindex.index import SEGMENTS, SIGNATURE_BITS, OpIndex, OpIndexBuilder

__all__ = ["SEGMENTS", "SIGNATURE_BITS", "OpIndex", "OpIndexBuilder"]
