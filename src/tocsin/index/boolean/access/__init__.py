"""Which expressions does this event satisfy? Clustered lists under the access keys of a cover, and verification.

`index` is the Matcher, `layout` what it holds, `building` makes that from compiled expressions, `decoding` goes back.
"""

from tocsin.index.boolean.access.best_first import CURSORS_FROM
from tocsin.index.boolean.access.index import Access, AccessBuilder

__all__ = ["CURSORS_FROM", "Access", "AccessBuilder"]
