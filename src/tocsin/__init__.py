"""Match streams of events against millions of standing subscriptions, exactly.

A subscription is a stored query, an event the data that queries it:

    >>> import tocsin
    >>> alerts = [{"id": "s1", "where": "model = 'iphone5s' AND color IN ('silver', 'gold') AND price <= 580"}]
    >>> tocsin.match(alerts, [{"model": "iphone5s", "color": "gold", "price": 550}]).table.to_pylist()
    [{'event': 0, 'subscription': 's1'}]
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocsin.engine import Answer, Engine, EngineStats, Matches, Stats, explain, match, sample
    from tocsin.errors import (
        DuplicateSubscription,
        ExpressionError,
        InvalidInput,
        MissingExtra,
        RecordError,
        SegmentError,
        TocsinError,
        UnknownIndex,
        UnknownSubscription,
        UnsuitableIndex,
        UnsupportedError,
    )
    from tocsin.index import Statistics
    from tocsin.language import parse, parse_json, to_json, to_text
    from tocsin.model.ranking import Relaxed, Top
    from tocsin.model.subscription import Match, Reject, Report, Subscription
    from tocsin.model.values import Range
    from tocsin.records import Conjunctions, SparseEvents

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Conjunctions",
    "DuplicateSubscription",
    "Engine",
    "EngineStats",
    "ExpressionError",
    "InvalidInput",
    "Match",
    "Matches",
    "MissingExtra",
    "Range",
    "RecordError",
    "Reject",
    "Relaxed",
    "Report",
    "SegmentError",
    "SparseEvents",
    "Statistics",
    "Stats",
    "Subscription",
    "TocsinError",
    "Top",
    "UnknownIndex",
    "UnknownSubscription",
    "UnsuitableIndex",
    "UnsupportedError",
    "explain",
    "match",
    "parse",
    "parse_json",
    "sample",
    "to_json",
    "to_text",
]

_PLACES = {
    "tocsin.engine": ("Answer", "Engine", "EngineStats", "Matches", "Stats", "explain", "match", "sample"),
    "tocsin.errors": (
        "DuplicateSubscription",
        "ExpressionError",
        "InvalidInput",
        "MissingExtra",
        "RecordError",
        "SegmentError",
        "TocsinError",
        "UnknownIndex",
        "UnknownSubscription",
        "UnsuitableIndex",
        "UnsupportedError",
    ),
    "tocsin.index": ("Statistics",),
    "tocsin.language": ("parse", "parse_json", "to_json", "to_text"),
    "tocsin.model.ranking": ("Relaxed", "Top"),
    "tocsin.model.subscription": ("Match", "Reject", "Report", "Subscription"),
    "tocsin.model.values": ("Range",),
    "tocsin.records": ("Conjunctions", "SparseEvents"),
}
_PLACE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name, imported with all that it needs when it is first asked for: the command line begins without."""
    if name not in _PLACE_OF:
        if importlib.util.find_spec(f"{__name__}.{name}") is None:
            raise AttributeError(f"module 'tocsin' has no attribute {name!r}")
        return importlib.import_module(f"{__name__}.{name}")
    value = globals()[name] = getattr(importlib.import_module(_PLACE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
