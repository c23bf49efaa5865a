"""The registry of indexes and of the questions that they answer: built-in indexes and those that packages publish."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from tocsin.errors import InvalidInput, UnknownIndex
from tocsin.index.boolean.access import CURSORS_FROM
from tocsin.index.boolean.scan import Scan
from tocsin.index.combined import CombinedBuilder
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import (
    ALL_MATCHES,
    ANY_EXPRESSION,
    BEST_MESSAGES,
    RECTANGLES,
    REGIONS_WITH_KEYWORDS,
    SIMILAR_ENOUGH,
    THE_BEST_FIRST,
    Arrays,
    Builder,
    Recent,
    Registration,
)
from tocsin.index.published import all_published, published, published_names
from tocsin.index.question import AllMatches, Part, Question
from tocsin.index.rectangles.tiles import TilesBuilder
from tocsin.index.relaxed.intersection import Intersection
from tocsin.index.relaxed.question import MostHolds
from tocsin.index.scored.ranker import RankerBuilder
from tocsin.index.scored.sopt_r_tree import ARRANGING, sopt_r_trees
from tocsin.index.scored.tree import BRANCHING, of_intervals
from tocsin.index.spatial_text.linear import build_everyone
from tocsin.index.spatial_text.question import Resembling
from tocsin.index.spatial_text.token_grid import TokenGridBuilder
from tocsin.index.spatial_text.token_grid.building import build_shared
from tocsin.index.statistics import Statistics
from tocsin.index.window.registry import DISSEMINATORS, WindowIndex
from tocsin.model.ranking import RANKINGS, Ranking

_BUILT_IN: Final = (
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
        "scan",
        ALL_MATCHES,
        ANY_EXPRESSION,
        "exact linear baseline of every family",
        True,
        lambda: Scan,
        also={SIMILAR_ENOUGH: lambda: build_everyone},
    ),
    Registration("tiles", ALL_MATCHES, RECTANGLES, "packed boxes in tiles of rank codes (ours)", False, TilesBuilder),
    Registration(
        "token_grid",
        ALL_MATCHES,
        REGIONS_WITH_KEYWORDS,
        "packed boxes in blocks under the rarest keyword (ours)",
        False,
        TokenGridBuilder,
        also={SIMILAR_ENOUGH: lambda: build_shared},
    ),
    of_intervals(
        "sopt_r_tree",
        sopt_r_trees,
        "SOPT-R-tree (Machanavajjhala et al. 2008, section 3.2)",
        is_baseline=False,
        arranging=ARRANGING,
        branching=BRANCHING,
    ),
)

QUESTIONS: Final[dict[str, Question]] = {one.name: one for one in (AllMatches(), MostHolds(), Resembling())}
"""Every question by its name, which rankings refer to."""


def built_in() -> tuple[Registration, ...]:
    """The built-in indexes, in the order of the documentation."""
    return _BUILT_IN


def registrations() -> tuple[Registration, ...]:
    """Every index except those for windows, built-in and published."""
    return (*_BUILT_IN, *(one for one in _all_published() if one.question != BEST_MESSAGES))


def disseminators() -> tuple[Registration, ...]:
    """Every index for windows, built-in and published."""
    return (*DISSEMINATORS, *(one for one in _all_published() if one.question == BEST_MESSAGES))


def _all_published() -> list[Registration]:
    return all_published({one.name for one in (*_BUILT_IN, *DISSEMINATORS)})


def window_index(text: str, diagonal: float) -> WindowIndex:
    """An index for windows, by name and options: `name`, or `name(option=1)`; raises `UnknownIndex`.

    `diagonal` is the longest distance.
    """
    registration, options = parse_index(text, for_windows=True)
    return cast(WindowIndex, registration.builder(diagonal, **options))


def find_index(name: str, *, for_windows: bool = False) -> Registration:
    """The registration with a name, among those for windows or among all others; raises `UnknownIndex`.

    >>> find_index("scan").question
    'all matches'
    """
    own = DISSEMINATORS if for_windows else _BUILT_IN
    names = [one.name for one in own]
    if not isinstance(name, str):
        raise UnknownIndex(f"an index is named by a string, not {name!r:.40}. {_known(names, for_windows)}")
    if name in names:
        return own[names.index(name)]
    registration = published(name)
    if registration is not None and (registration.question == BEST_MESSAGES) == for_windows:
        return registration
    if registration is not None:
        raise UnknownIndex(f"index {name!r} answers {registration.question!r}, and cannot be used here")
    near = difflib.get_close_matches(name, [*names, *published_names()], 1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownIndex(f"no index is named {name!r}{hint} {_known(names, for_windows)}")


def _known(names: list[str], for_windows: bool) -> str:
    """The available names, in words."""
    others = published_names()
    told = f"There are: {', '.join([*([] if for_windows else ['auto']), *names])}"
    if others:
        return f"{told}, and of packages, for expressions or for windows: {', '.join(others)}."
    return f"{told}. The indexes of papers need an installed tocsin: pip install tocsin, or pip install -e ."


def matcher_builder(name: str, options: Mapping[str, int]) -> Builder:
    """The builder of a Matcher; raises `UnknownIndex`."""
    return cast(Builder, _find(name, ALL_MATCHES)(**options))


def recent_structure(plan: Plan) -> Recent | None:
    """A structure for recent subscriptions that changes in place, if the plan's index has one."""
    make = find_index(plan.index).recent
    return None if make is None else make(plan.statistics, **plan.options)


def ranker_builder(name: str, options: Mapping[str, int]) -> RankerBuilder:
    """The builder of a Ranker; raises `UnknownIndex`."""
    return cast(RankerBuilder, _find(name, THE_BEST_FIRST)(**options))


def _find(name: str, question: str) -> Callable[..., Any]:
    """The factory of an index's builder for a question."""
    registration = find_index(name)
    if registration.question == question:
        return registration.builder
    if question in registration.also:
        return registration.also[question]
    raise UnknownIndex(f"index {name!r} answers {registration.question!r}, not {question!r}")


def questions() -> tuple[Question, ...]:
    """Every question."""
    return tuple(QUESTIONS.values())


def question_of(ranking: object) -> Question:
    """The question that a ranking asks; None asks for all matches. Raises `InvalidInput` for anything else."""
    if ranking is None:
        return QUESTIONS[ALL_MATCHES]
    if isinstance(ranking, Ranking) and ranking.question in QUESTIONS:
        return QUESTIONS[ranking.question]
    known = [f"tocsin.{kind.__name__}({', '.join(name for name, _ in kind.numbers)})" for kind in RANKINGS.values()]
    raise InvalidInput(f"ranking is {ranking!r:.40}; give {', '.join(known)}, or nothing for every match")


def build_structure(question: Question, part: Part, plan: Plan, saved: Arrays | None = None) -> Any:
    """The structure that answers a question of some subscriptions, by the index that the plan names for it.

    It is rebuilt if the `saved` arrays are not sound.
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
    """The builder of a chosen index for a question; raises `UnknownIndex` if the index does not answer it."""
    return _find(chosen.name, question.name)(**chosen.options)


def intersection(part: Part, plan: Plan) -> Intersection:
    """The search for the k best matches by the ranker that the plan names."""
    return Intersection(part, index_builder(QUESTIONS[THE_BEST_FIRST], plan.others[THE_BEST_FIRST]))


def parse_index(text: str, *, for_windows: bool = False) -> tuple[Registration, dict[str, int]]:
    """An index and its options, as a user writes them: `name`, or `name(option=1, other=2)`; raises `UnknownIndex`.

    >>> registration, options = parse_index("access")
    >>> registration.name, options
    ('access', {})
    """
    match = _WITH_OPTIONS.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return find_index(text, for_windows=for_windows), {}
    registration = find_index(match[1], for_windows=for_windows)
    given = [_option(registration, part) for part in match[2].split(",") if part.strip()]
    options = dict(given)
    if len(options) < len(given):
        raise UnknownIndex(f"{text!r:.80} gives an option twice; give each one once.")
    return registration, options


_WITH_OPTIONS = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_OPTION = re.compile(r"\s*(\w+)\s*=\s*(-?\w{1,40})\s*")
_NUMBER = re.compile(r"-?\d{1,18}")


def _option(registration: Registration, text: str) -> tuple[str, int]:
    match = _OPTION.fullmatch(text)
    name, value = match.groups() if match is not None else ("", "")
    words = registration.words.get(name, ())
    if value in words:
        return name, words.index(value)
    if words or name not in registration.options or not _NUMBER.fullmatch(value):
        allowed = ", ".join(_described(registration, *option) for option in registration.options.items()) or "none"
        raise UnknownIndex(
            f"{text.strip()!r:.60} is not an option of {registration.name}; its options (with their defaults) "
            f"are {allowed}."
        )
    return name, int(value)


def _described(registration: Registration, name: str, default: int) -> str:
    """An option with its default; one that is a word with all words, the default first."""
    words = registration.words.get(name)
    return f"{name}={default}" if words is None else f"{name}={' or '.join(words)}"


def choose(index: str = "auto", statistics: Statistics | None = None) -> Plan:
    """The plan for an index by name (with options), or for `auto`.

    Raises `UnknownIndex`, or `InvalidInput` for invalid statistics or options out of range.

    >>> choose().index
    'access'
    """
    if statistics is not None and not isinstance(statistics, Statistics):
        raise InvalidInput(f"statistics is {statistics!r:.40}; give tocsin.Statistics, or what tocsin.sample counted")
    known = (
        "shares of attributes and values estimated from the subscriptions"
        if statistics is None
        else f"shares of attributes{' and values' if statistics.values else ''} {statistics.source}"
    )
    if index != "auto":
        registration, options = parse_index(index)
        registration.builder(**options)
        if registration.question != ALL_MATCHES:
            return _for_another_question(Chosen(registration.name, options), registration.question, known, statistics)
        return Plan(registration.name, f"given by name; {known}", statistics, options)
    return Plan("access", f"the fastest index that takes every expression; {known}", statistics)


def _for_another_question(index: Chosen, name: str, known: str, statistics: Statistics | None) -> Plan:
    """Use `access` for all matches, and the named index for its own question."""
    (question,) = [one for one in questions() if one.name == name]
    reason = f"{index.name} is given by name, for {question.purpose}; {known}"
    return Plan("access", reason, statistics, others={question.name: index})
