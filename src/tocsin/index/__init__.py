"""Which candidates can match? One file a structure, in families, beside `scan`; `registry` lists them all."""

from tocsin.index.plan import Plan
from tocsin.index.protocols import Best, Found, Matcher, Registration
from tocsin.index.registry import find_index, matcher_builder, parse_index, ranker_builder, registrations
from tocsin.index.scored.ranker import BestPlaces, Ranker
from tocsin.index.statistics import Statistics, sampled

__all__ = [
    "Best",
    "BestPlaces",
    "Found",
    "Matcher",
    "Plan",
    "Ranker",
    "Registration",
    "Statistics",
    "find_index",
    "matcher_builder",
    "parse_index",
    "ranker_builder",
    "registrations",
    "sampled",
]
