"""The names that an index of another package needs: what it implements, what it may build on, and its contract test.

A package publishes an index as an entry point of the group `tocsin.indexes`, which names a `Registration`. The simplest
index is a `CandidateIndex`, of which only the search is missing. `check` compares an index with a scan.
"""

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.alive import Alive
from tocsin.index.found import Found
from tocsin.index.protocols import ALL_MATCHES, ANY_EXPRESSION, Arrays, Best, Builder, Matcher, Registration
from tocsin.index.statistics import Statistics
from tocsin.indexes.candidates import CandidateIndex, Needs, Values
from tocsin.indexes.checking import Checked, check

__all__ = [
    "ALL_MATCHES",
    "ANY_EXPRESSION",
    "Alive",
    "Arrays",
    "Best",
    "Builder",
    "CandidateIndex",
    "Checked",
    "CompiledExpressions",
    "EventBatch",
    "Found",
    "Matcher",
    "Needs",
    "Registration",
    "Statistics",
    "Values",
    "check",
]
