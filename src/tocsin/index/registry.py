"""Which indexes are there, and which questions do they answer? One line each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import NoneType
from typing import Any, Final, cast

from tocsin.errors import InvalidInput, UnknownIndex
from tocsin.index.boolean.access import CURSORS_FROM
from tocsin.index.boolean.be_tree import BETreeBuilder
from tocsin.index.boolean.k_index import KIndexBuilder
from tocsin.index.boolean.opindex import SEGMENTS, SIGNATURE_BITS, OpIndexBuilder
from tocsin.index.boolean.scan import Scan
from tocsin.index.combined import CombinedBuilder
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import (
    ALL_MATCHES,
    ANY_EXPRESSION,
    RECTANGLES,
    REGIONS_WITH_KEYWORDS,
    SIMILAR_ENOUGH,
    THE_BEST_FIRST,
    Arrays,
    Builder,
    Registration,
)
from tocsin.index.question import AllMatches, Part, Question
from tocsin.index.rectangles.r_tree import RTreeBuilder
from tocsin.index.rectangles.tiles import TilesBuilder
from tocsin.index.rectangles.vcr import VCRBuilder
from tocsin.index.relaxed.question import MostHolds
from tocsin.index.scored.interval_tree import interval_trees
from tocsin.index.scored.ir_tree import ir_trees
from tocsin.index.scored.r_trees import scored_r_trees
from tocsin.index.scored.ranker import RankerBuilder
from tocsin.index.scored.segment_tree import segment_trees
from tocsin.index.scored.sopt_r_tree import ARRANGING, sopt_r_trees
from tocsin.index.scored.tree import BRANCHING, Arranging, Make, TreeBuilder
from tocsin.index.spatial_text.inverted_r_tree import InvertedRTreeBuilder
from tocsin.index.spatial_text.keyword_first import KeywordFirstBuilder
from tocsin.index.spatial_text.linear import build_everyone
from tocsin.index.spatial_text.question import Resembling
from tocsin.index.spatial_text.rt_trees import (
    RTPlusPlusTreeBuilder,
    RTPlusTreeBuilder,
    RTTreeBuilder,
    SpatialFirstBuilder,
)
from tocsin.index.spatial_text.token_grid import TokenGridBuilder
from tocsin.index.spatial_text.token_grid.building import build_shared
from tocsin.index.window.registry import DISSEMINATORS, WindowIndex
from tocsin.model.ranking import Similar


def _ranker(
    name: str, make: Make, source: str, is_baseline: bool = True, arranging: Arranging | None = None, **options: int
) -> Registration:
    """A structure of scored intervals."""
    builder = partial(TreeBuilder, make, arranging=arranging)
    shapes = "attributes compared with constants, each a dimension; others are found by access"
    return Registration(name, THE_BEST_FIRST, shapes, source, is_baseline, builder, options)


def _regions(name: str, builder: Callable[..., Any], source: str, is_baseline: bool, **options: int) -> Registration:
    """A structure of regions with keywords."""
    also = {SIMILAR_ENOUGH: lambda **options: builder(**options).alike}
    return Registration(name, ALL_MATCHES, REGIONS_WITH_KEYWORDS, source, is_baseline, builder, options, also)


_CHILDREN = {"least": 25, "most": 50}

_REGISTRATIONS = (
    Registration(
        "access",
        ALL_MATCHES,
        ANY_EXPRESSION,
        "access predicates (Fabret et al. 2001) by covers, rectangles among them",
        False,
        CombinedBuilder,
        {"cursors_from": CURSORS_FROM},
    ),
    Registration(
        "opindex",
        ALL_MATCHES,
        "comparisons with constants, IN, BETWEEN, LIKE, MATCHES and IS NOT NULL under AND, OR and NOT",
        "OpIndex (Zhang, Chan, Tan 2014, sections 4 to 6)",
        False,
        OpIndexBuilder,
        {"segments": SEGMENTS, "signature_bits": SIGNATURE_BITS},
    ),
    Registration(
        "scan",
        ALL_MATCHES,
        ANY_EXPRESSION,
        "exact linear baseline of every family",
        True,
        lambda: Scan,
        also={SIMILAR_ENOUGH: lambda: build_everyone},
    ),
    Registration(
        "k_index",
        ALL_MATCHES,
        "attributes compared with constants; ranges of a declared domain, or with both ends",
        "k-index (Whang et al. 2009)",
        True,
        KIndexBuilder,
        {"lowest": 1, "highest": 0},
    ),
    Registration(
        "be_tree",
        ALL_MATCHES,
        "attributes compared with constants",
        "BE-tree (Sadoghi and Jacobsen 2011)",
        True,
        BETreeBuilder,
        {"max_cap": 5},
    ),
    Registration("tiles", ALL_MATCHES, RECTANGLES, "packed boxes in tiles of rank codes (ours)", False, TilesBuilder),
    Registration(
        "vcr",
        ALL_MATCHES,
        RECTANGLES,
        "VCR (Wu, Chen, Yu 2004, sections 2.1 to 2.3)",
        False,
        VCRBuilder,
        {"lx": 0, "ly": 0, "overlapped": 0, "hashed": -1},
    ),
    Registration(
        "r_tree",
        ALL_MATCHES,
        RECTANGLES,
        "R-tree (Guttman 1984), packed by sort-tile-recursive",
        True,
        RTreeBuilder,
        {"branching": 16},
    ),
    Registration(
        "token_grid",
        ALL_MATCHES,
        REGIONS_WITH_KEYWORDS,
        "packed boxes in blocks under the rarest keyword (ours)",
        False,
        TokenGridBuilder,
        also={SIMILAR_ENOUGH: lambda: build_shared},
    ),
    _regions("rt_tree", RTTreeBuilder, "R^t-tree (Yu et al. 2015, section 3)", False, **_CHILDREN),
    _regions(
        "rt_plus_tree", RTPlusTreeBuilder, "R^t+-tree (Yu et al. 2015, section 4)", False, **_CHILDREN, selection=3
    ),
    _regions(
        "rt_plus_plus_tree",
        RTPlusPlusTreeBuilder,
        "R^t++-tree (Yu et al. 2015, section 5)",
        False,
        **_CHILDREN,
        selection=3,
    ),
    _regions(
        "inverted_r_tree",
        InvertedRTreeBuilder,
        "IR-tree (Cong, Jensen, Wu 2009) as Yu et al. 2015 ask it, section 2.3",
        True,
        **_CHILDREN,
    ),
    _regions(
        "spatial_first", SpatialFirstBuilder, "R-tree, then keywords (Yu et al. 2015, section 2.3)", True, **_CHILDREN
    ),
    _regions(
        "keyword_first",
        KeywordFirstBuilder,
        "counting (Yan and Garcia-Molina 1994), then regions (Yu et al. 2015, section 2.3)",
        True,
    ),
    _ranker(
        "sopt_r_tree",
        sopt_r_trees,
        "SOPT-R-tree (Machanavajjhala et al. 2008, section 3.2)",
        False,
        ARRANGING,
        branching=BRANCHING,
    ),
    _ranker("ir_tree", ir_trees, "IR-tree (Machanavajjhala et al. 2008, section 3.1)", False, branching=BRANCHING),
    _ranker("interval_tree", interval_trees, "scored interval tree (the same, section 2.2.2)"),
    _ranker("segment_tree", segment_trees, "scored segment tree (the same, section 2.2.1)"),
    _ranker("scored_r_tree", scored_r_trees, "scored R-tree (the same, section 2.2.3)", branching=BRANCHING),
)

QUESTIONS: Final[dict[type, Question]] = {
    ranking: question for question in (AllMatches(), MostHolds(), Resembling()) for ranking in question.rankings
}
"""Who answers which class of rankings."""

_ARGUMENTS: Final[dict[type, str]] = {Similar: "alpha, threshold"}


def registrations() -> tuple[Registration, ...]:
    """Every index, in the order of the documentation."""
    return _REGISTRATIONS


def disseminators() -> tuple[Registration, ...]:
    """Every structure for a window, in the order of the documentation."""
    return DISSEMINATORS


def window_index(text: str, diagonal: float) -> WindowIndex:
    """A structure for a window, by its name and options: `name`, or `name(option=1)`; raises `UnknownIndex`.

    `diagonal` is the longest distance.
    """
    registration, options = parse_index(text, DISSEMINATORS)
    return cast(WindowIndex, registration.builder(diagonal, **{**registration.options, **options}))


def find_index(name: str, among: Sequence[Registration] | None = None) -> Registration:
    """The registration of that name; raises `UnknownIndex`.

    >>> find_index("scan").question
    'all matches'
    """
    there = _REGISTRATIONS if among is None else among
    names = [r.name for r in there]
    known = ", ".join(names if among else ["auto", *names])
    if not isinstance(name, str):
        raise UnknownIndex(f"an index is named by a string, not {name!r:.40}. There are: {known}.")
    if name in names:
        return there[names.index(name)]
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownIndex(f"no index is named {name!r}{hint} There are: {known}.")


def matcher_builder(name: str, options: Mapping[str, int]) -> Builder:
    """What builds a Matcher; raises `UnknownIndex`."""
    return cast(Builder, _find(name, ALL_MATCHES)(**options))


def ranker_builder(name: str, options: Mapping[str, int]) -> RankerBuilder:
    """What builds a Ranker; raises `UnknownIndex`."""
    return cast(RankerBuilder, _find(name, THE_BEST_FIRST)(**options))


def _find(name: str, question: str) -> Callable[..., Any]:
    """What makes a builder of that index for a question."""
    registration = find_index(name)
    if registration.question == question:
        return registration.builder
    if question in registration.also:
        return registration.also[question]
    raise UnknownIndex(f"index {name!r} answers {registration.question!r}, not {question!r}")


def questions() -> tuple[Question, ...]:
    """Every question, each once."""
    return tuple(dict.fromkeys(QUESTIONS.values()))


def question_of(ranking: object) -> Question:
    """The question that a ranking asks, or None: that for every match; raises `InvalidInput` for what is no ranking."""
    for kind, question in QUESTIONS.items():
        if isinstance(ranking, kind):
            return question
    known = [f"tocsin.{kind.__name__}({_ARGUMENTS.get(kind, 'k')})" for kind in QUESTIONS if kind is not NoneType]
    raise InvalidInput(f"ranking is {ranking!r:.40}; give {', '.join(known)}, or nothing for every match")


def build_structure(question: Question, part: Part, plan: Plan, saved: Arrays | None = None) -> Any:
    """What answers a question of some subscriptions, by the index that the plan has for it.

    It is made anew where what was `saved` of it is not sound.
    """
    by_name = Chosen(plan.index, plan.options)
    chosen = plan.others.get(question.name, question.default)
    if question.name == ALL_MATCHES or question.name in find_index(plan.index).also:
        chosen = by_name
    builder = None if chosen is None else index_builder(question, chosen)
    if saved:
        with suppress(ValueError, KeyError, IndexError, TypeError):
            return question.restored(saved, part, builder, plan)
    return question.structure(part, builder, plan)


def index_builder(question: Question, chosen: Chosen) -> Any:
    """What builds an index that answers a question; raises `UnknownIndex` for one that does not."""
    return _find(chosen.name, question.name)(**chosen.options)


def parse_index(text: str, among: Sequence[Registration] | None = None) -> tuple[Registration, dict[str, int]]:
    """An index and its options, as a user writes them: `name`, or `name(option=1, other=2)`; raises `UnknownIndex`.

    >>> registration, options = parse_index("access")
    >>> registration.name, options
    ('access', {})
    """
    match = _WITH_OPTIONS.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return find_index(text, among), {}
    registration = find_index(match[1], among)
    given = [_option(registration, part) for part in match[2].split(",") if part.strip()]
    options = dict(given)
    if len(options) < len(given):
        raise UnknownIndex(f"{text!r:.80} gives an option twice; say each once.")
    return registration, options


_WITH_OPTIONS = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_OPTION = re.compile(r"\s*(\w+)\s*=\s*(-?\d{1,18})\s*")


def _option(registration: Registration, text: str) -> tuple[str, int]:
    match = _OPTION.fullmatch(text)
    if match is None or match[1] not in registration.options:
        allowed = ", ".join(f"{name}={default}" for name, default in registration.options.items()) or "none"
        raise UnknownIndex(
            f"{text.strip()!r:.60} is no option of {registration.name}; it has (with their defaults): {allowed}."
        )
    return match[1], int(match[2])
