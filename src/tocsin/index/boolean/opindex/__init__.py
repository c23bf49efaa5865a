"""Which expressions does this event satisfy? OpIndex: lists by pivot attribute and operator, and counters.

`index` is the Matcher, `changes` the same lists under insertions and deletions, `cost` the paper's model of both.
`rewriting` makes simple subscriptions of expressions, `building` lists of those, `checks` looks at what is loaded.
"""

from tocsin.index.boolean.opindex.index import SEGMENTS, SIGNATURE_BITS, OpIndex, OpIndexBuilder

__all__ = ["SEGMENTS", "SIGNATURE_BITS", "OpIndex", "OpIndexBuilder"]
