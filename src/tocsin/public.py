"""The public names of `import tocsin`. They are imported on first use, which takes a second."""

from tocsin.client import (
    AsyncClient,
    AsyncServedWindow,
    Client,
    DeliveredChange,
    Delivery,
    Published,
    Pushed,
    ServedWindow,
)
from tocsin.engine import (
    Answer,
    DurableEngine,
    Engine,
    EngineStats,
    Matches,
    Stats,
    explain,
    idf,
    match,
    sample,
)
from tocsin.errors import (
    DuplicateSubscription,
    ExpressionError,
    HalfChanged,
    InvalidInput,
    LeftOut,
    MissingExtra,
    RecordError,
    SegmentError,
    ServiceError,
    StoreError,
    TocsinError,
    UnknownIndex,
    UnknownSubscription,
    UnsuitableIndex,
    UnsupportedError,
)
from tocsin.index import Statistics
from tocsin.language import parse, parse_json, quote, to_json, to_text
from tocsin.language.dialects import convert
from tocsin.model.change import MonitorChange, MonitorChanges
from tocsin.model.fence import FenceChange, FenceChanges
from tocsin.model.ranking import Relaxed, Similar, Top
from tocsin.model.subscription import Match, Reject, Removal, Report, Subscription
from tocsin.model.texts import Text
from tocsin.model.values import Range
from tocsin.model.window import Change
from tocsin.monitor import DryRun, DurableFences, Fences, Monitor, MonitorExplanation
from tocsin.records import Conjunctions, SparseEvents
from tocsin.window import DurableWindow, Window, WindowAnswer, WindowExplanation, WindowStats

__all__ = [
    "Answer",
    "AsyncClient",
    "AsyncServedWindow",
    "Change",
    "Client",
    "Conjunctions",
    "DeliveredChange",
    "Delivery",
    "DryRun",
    "DuplicateSubscription",
    "DurableEngine",
    "DurableFences",
    "DurableWindow",
    "Engine",
    "EngineStats",
    "ExpressionError",
    "FenceChange",
    "FenceChanges",
    "Fences",
    "HalfChanged",
    "InvalidInput",
    "LeftOut",
    "Match",
    "Matches",
    "MissingExtra",
    "Monitor",
    "MonitorChange",
    "MonitorChanges",
    "MonitorExplanation",
    "Published",
    "Pushed",
    "Range",
    "RecordError",
    "Reject",
    "Relaxed",
    "Removal",
    "Report",
    "SegmentError",
    "ServedWindow",
    "ServiceError",
    "Similar",
    "SparseEvents",
    "Statistics",
    "Stats",
    "StoreError",
    "Subscription",
    "Text",
    "TocsinError",
    "Top",
    "UnknownIndex",
    "UnknownSubscription",
    "UnsuitableIndex",
    "UnsupportedError",
    "Window",
    "WindowAnswer",
    "WindowExplanation",
    "WindowStats",
    "convert",
    "explain",
    "idf",
    "match",
    "parse",
    "parse_json",
    "quote",
    "sample",
    "to_json",
    "to_text",
]
