"""Which candidates can match? One file a structure, in families, beside `scan`; `registry` lists them all."""

from tocsin.index.plan import Plan
from tocsin.index.protocols import Best, Found, Matcher, Registration
from tocsin.index.registry import find_index, parse_index, registrations
from tocsin.index.statistics import Statistics, sampled

__all__ = [
    "Best",
    "Found",
    "Matcher",
    "Plan",
    "Registration",
    "Statistics",
    "find_index",
    "parse_index",
    "registrations",
    "sampled",
]
