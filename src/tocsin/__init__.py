"""Match streams of events against millions of standing subscriptions, exactly.

A subscription is a stored query, an event the data that queries it:

    >>> import tocsin
    >>> alerts = [{"id": "s1", "where": "model = 'iphone5s' AND color IN ('silver', 'gold') AND price <= 580"}]
    >>> tocsin.match(alerts, [{"model": "iphone5s", "color": "gold", "price": 550}]).table.to_pylist()
    [{'event': 0, 'subscription': 's1'}]
"""

import sys
from typing import TYPE_CHECKING

if sys.version_info < (3, 11):  # noqa: UP036  what follows does not say why it fails
    raise ImportError(f"tocsin needs Python 3.11 or newer, and this is Python {sys.version.split()[0]}")

from tocsin.lazy import lazy_names

if TYPE_CHECKING:
    from tocsin.public import *  # noqa: F403

__version__ = "0.2.0"

# Public names are imported on first use, so that the command line starts quickly.
__getattr__, __dir__ = lazy_names(__name__, globals())
