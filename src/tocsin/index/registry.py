"""Which indexes are there? One line each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import partial
from typing import cast

from tocsin.errors import UnknownIndex
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.be_tree import BETreeBuilder
from tocsin.index.boolean.k_index import KIndexBuilder
from tocsin.index.boolean.opindex import SEGMENTS, SIGNATURE_BITS, OpIndexBuilder
from tocsin.index.boolean.scan import Scan
from tocsin.index.protocols import ANY_EXPRESSION, Builder, Question, Registration
from tocsin.index.scored.interval_tree import interval_trees
from tocsin.index.scored.ir_tree import ir_trees
from tocsin.index.scored.r_trees import scored_r_trees
from tocsin.index.scored.ranker import RankerBuilder
from tocsin.index.scored.segment_tree import segment_trees
from tocsin.index.scored.sopt_r_tree import sopt_r_trees
from tocsin.index.scored.tree import BRANCHING, Make, TreeBuilder


def _ranker(name: str, make: Make, source: str, is_baseline: bool = True, **options: int) -> Registration:
    """A structure of scored intervals."""
    shapes = "attributes compared with constants, each a dimension; others are found by access"
    return Registration(name, "the best first", shapes, source, is_baseline, partial(TreeBuilder, make), options)


_REGISTRATIONS = (
    Registration(
        "access",
        "all matches",
        ANY_EXPRESSION,
        "access predicates (Fabret et al. 2001) by covers",
        False,
        lambda: Access,
    ),
    Registration(
        "opindex",
        "all matches",
        "comparisons with constants, IN, BETWEEN, LIKE, MATCHES and IS NOT NULL under AND, OR and NOT",
        "OpIndex (Zhang, Chan, Tan 2014, sections 4 to 6)",
        False,
        OpIndexBuilder,
        {"segments": SEGMENTS, "signature_bits": SIGNATURE_BITS},
    ),
    Registration("scan", "all matches", ANY_EXPRESSION, "exact linear baseline of every family", True, lambda: Scan),
    Registration(
        "k_index",
        "all matches",
        "attributes compared with constants; ranges of a declared domain, or with both ends",
        "k-index (Whang et al. 2009)",
        True,
        KIndexBuilder,
        {"lowest": 1, "highest": 0},
    ),
    Registration(
        "be_tree",
        "all matches",
        "attributes compared with constants",
        "BE-tree (Sadoghi and Jacobsen 2011)",
        True,
        BETreeBuilder,
        {"max_cap": 5},
    ),
    _ranker(
        "sopt_r_tree",
        sopt_r_trees,
        "SOPT-R-tree (Machanavajjhala et al. 2008, section 3.2)",
        False,
        branching=BRANCHING,
    ),
    _ranker("ir_tree", ir_trees, "IR-tree (Machanavajjhala et al. 2008, section 3.1)", False, branching=BRANCHING),
    _ranker("interval_tree", interval_trees, "scored interval tree (the same, section 2.2.2)"),
    _ranker("segment_tree", segment_trees, "scored segment tree (the same, section 2.2.1)"),
    _ranker("scored_r_tree", scored_r_trees, "scored R-tree (the same, section 2.2.3)", branching=BRANCHING),
)


def registrations() -> tuple[Registration, ...]:
    """Every index, in the order of the documentation."""
    return _REGISTRATIONS


def find_index(name: str) -> Registration:
    """The registration of that name; raises `UnknownIndex`.

    >>> find_index("scan").question
    'all matches'
    """
    names = [r.name for r in _REGISTRATIONS]
    if not isinstance(name, str):
        raise UnknownIndex(
            f"an index is named by a string, not {name!r:.40}. There are: {', '.join(['auto', *names])}."
        )
    if name in names:
        return _REGISTRATIONS[names.index(name)]
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownIndex(f"no index is named {name!r}{hint} There are: {', '.join(['auto', *names])}.")


def matcher_builder(name: str, options: Mapping[str, int]) -> Builder:
    """What builds a Matcher; raises `UnknownIndex`."""
    return cast(Builder, _find(name, "all matches").builder(**options))


def ranker_builder(name: str, options: Mapping[str, int]) -> RankerBuilder:
    """What builds a Ranker; raises `UnknownIndex`."""
    return cast(RankerBuilder, _find(name, "the best first").builder(**options))


def _find(name: str, question: Question) -> Registration:
    registration = find_index(name)
    if registration.question != question:
        raise UnknownIndex(f"index {name!r} answers {registration.question!r}, not {question!r}")
    return registration


def parse_index(text: str) -> tuple[Registration, dict[str, int]]:
    """An index and its options, as a user writes them: `name`, or `name(option=1, other=2)`; raises `UnknownIndex`.

    >>> registration, options = parse_index("access")
    >>> registration.name, options
    ('access', {})
    """
    match = _WITH_OPTIONS.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return find_index(text), {}
    registration = find_index(match[1])
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
