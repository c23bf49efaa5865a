"""Indexes over subscriptions, one folder a family; `registry` lists them."""

from tocsin.index.clock import at_moment
from tocsin.index.found import Found
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import Best, Matcher, Recent, RecentMatcher, Registration
from tocsin.index.question import Part, Question, Structure
from tocsin.index.registry import (
    build_structure,
    choose,
    disseminators,
    find_index,
    index_builder,
    intersection,
    matcher_builder,
    parse_index,
    question_of,
    questions,
    ranker_builder,
    recent_structure,
    registrations,
)
from tocsin.index.scored.ranker import BestPlaces, Ranker
from tocsin.index.statistics import Statistics, sampled

__all__ = [
    "Best",
    "BestPlaces",
    "Chosen",
    "Found",
    "Matcher",
    "Part",
    "Plan",
    "Question",
    "Ranker",
    "Recent",
    "RecentMatcher",
    "Registration",
    "Statistics",
    "Structure",
    "at_moment",
    "build_structure",
    "choose",
    "disseminators",
    "find_index",
    "index_builder",
    "intersection",
    "matcher_builder",
    "parse_index",
    "question_of",
    "questions",
    "ranker_builder",
    "recent_structure",
    "registrations",
    "sampled",
]
