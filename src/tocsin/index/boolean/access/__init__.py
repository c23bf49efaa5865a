"""The access index: clustered lists under the access keys of covers, and verification.

`index` has the Matcher, `layout` its data. `building` makes the layout from compiled expressions, `decoding` restores
them.
"""

from tocsin.index.boolean.access.best_first import CURSORS_FROM
from tocsin.index.boolean.access.index import Access, AccessBuilder

__all__ = ["CURSORS_FROM", "Access", "AccessBuilder"]
