"""Hypothesis strategies for events and expressions, shared by all tests.

Both draw from small pools, and an attribute has a usual type, so that what is asked is often there and often
true. New features extend these files.
"""

from tests.strategies.conditions import (
    comparisons_with_constants,
    conjunctions_of_clauses,
    expressions,
    expressions_about_elements,
)
from tests.strategies.events import bad_events, json_events, json_text, python_events, with_lists
from tests.strategies.intervals import grid_ranges, interval_events, interval_grid_events, ranges
from tests.strategies.messages import WORDS as KEYWORDS
from tests.strategies.messages import keyword_lists, messages, region_and_keywords, regions
from tests.strategies.pools import NAMES, NUMBERS, STRINGS, attribute_names, boxes, points, scalars, values
from tests.strategies.rectangles import map_events, rectangle_expressions
from tests.strategies.region_conditions import region_alternatives, region_events, region_expressions
from tests.strategies.weighted import (
    WEIGHTS,
    conjunctions,
    conjunctions_of_ranges,
    conjunctions_of_words,
    grid_events,
    weighted,
    word_events,
)

__all__ = [
    "KEYWORDS",
    "NAMES",
    "NUMBERS",
    "STRINGS",
    "WEIGHTS",
    "attribute_names",
    "bad_events",
    "boxes",
    "comparisons_with_constants",
    "conjunctions",
    "conjunctions_of_clauses",
    "conjunctions_of_ranges",
    "conjunctions_of_words",
    "expressions",
    "expressions_about_elements",
    "grid_events",
    "grid_ranges",
    "interval_events",
    "interval_grid_events",
    "json_events",
    "json_text",
    "keyword_lists",
    "map_events",
    "messages",
    "points",
    "python_events",
    "ranges",
    "rectangle_expressions",
    "region_alternatives",
    "region_and_keywords",
    "region_events",
    "region_expressions",
    "regions",
    "scalars",
    "values",
    "weighted",
    "with_lists",
    "word_events",
]
