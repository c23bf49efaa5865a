"""Indexes over subscriptions, one folder a family; `registry` lists them."""

from tocsin.index.clock import at_moment
from tocsin.index.found import Found
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import Best, Matcher, Registration
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
    "registrations",
    "sampled",
]
