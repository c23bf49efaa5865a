"""OpIndex: predicate lists by pivot attribute and operator, and counters.

`index` is the Matcher, `cost` the paper's cost model. `rewriting` turns expressions into simple subscriptions,
`building` turns these into lists. `recent` has lists that change in place.
"""

from tocsin.papers.opindex.opindex.index import SEGMENTS, SIGNATURE_BITS, OpIndex, OpIndexBuilder
from tocsin.papers.opindex.opindex.recent import recent_opindex

__all__ = ["SEGMENTS", "SIGNATURE_BITS", "OpIndex", "OpIndexBuilder", "recent_opindex"]
