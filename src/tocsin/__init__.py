"""Match streams of events against millions of standing subscriptions, exactly.

A subscription is a stored query, an event the data that queries it:

    >>> import tocsin
    >>> alerts = [{"id": "s1", "where": "model = 'iphone5s' AND color IN ('silver', 'gold') AND price <= 580"}]
    >>> tocsin.match(alerts, [{"model": "iphone5s", "color": "gold", "price": 550}]).table.to_pylist()
    [{'event': 0, 'subscription': 's1'}]
"""

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
