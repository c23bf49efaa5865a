"""What the tests of interval events share: indexes, and an engine beside its reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import tocsin
from tests.engine.checking import check_batch, is_good
from tests.engine.samples import pairs
from tests.naive.engine import Reference
from tests.naive.flatten import flatten
from tests.naive.truth import concerns
from tocsin.model.expression import Expression
from tocsin.model.values import Range

UNLIMITED: Final = ("auto", "access", "scan")
"""What holds any expression."""
COMPARING: Final = ("k_index", "k_index(lowest=-9, highest=9)", "be_tree")
"""What holds nothing but comparisons with constants, or some of them."""
MATCHERS: Final = (*UNLIMITED, "opindex", *COMPARING)

Scored: TypeAlias = tuple[Any, Expression, float]


def scored(texts: Sequence[str]) -> list[Scored]:
    """Subscriptions under their places, with scores that tie and are in no order."""
    return [(place, tocsin.parse(text), float(place * 7 % 5)) for place, text in enumerate(texts)]


def holding(index: str, subscriptions: Sequence[Scored]) -> tuple[Any, Reference]:
    """An engine with every subscription that its index holds, and a reference with the same."""
    engine, reference = tocsin.Engine(index), Reference()
    for name, tree, score in subscriptions:
        try:
            engine.subscribe(name, tocsin.to_text(tree), score=score)
        except tocsin.UnsuitableIndex:
            assert index not in UNLIMITED
        else:
            reference.subscribe(name, tree, score=score)
    return engine, reference


def records(reference: Reference) -> list[dict[str, Any]]:
    """The subscriptions of a reference as a user writes them."""
    held = reference.held.items()
    return [{"id": name, "where": tocsin.to_json(one.tree), "score": one.score} for name, one in held]


def check(index: str, subscriptions: Sequence[Scored], events: Sequence[Any], *rankings: tocsin.Top | None) -> None:
    """Answers are the oracle's: new, merged into the index and in one call; of a batch and of each event."""
    engine, reference = holding(index, subscriptions)
    for is_merged in (False, True):
        if is_merged:
            engine.merge()
        for ranking in rankings or (None,):
            check_batch(engine, reference, events, ranking)
    for event in [event for event in events if is_good(event)][:3]:
        for ranking in rankings or (None,):
            assert pairs(engine.match(event, ranking=ranking)) == reference.match(event, ranking)
    if len(reference):
        answer = tocsin.match(records(reference), events, index=index)
        assert answer.subscription_errors == []
        assert [tuple(row.values()) for row in answer.table.to_pylist()] == [
            (row, name)
            for row, found in enumerate(reference.match_batch(events))
            for name in sorted(one for one, _ in found or ())
        ]
    engine.close()


def found_by(index: str, texts: Sequence[str], event: Any) -> list[str]:
    """The conditions that an event satisfies, as an engine finds them in its index."""
    engine = tocsin.Engine(index)
    for place, text in enumerate(texts):
        engine.subscribe(place, text)
    engine.merge()
    found = [texts[match.subscription] for match in engine.match(event)]
    engine.close()
    return found


def check_texts(index: str, texts: Sequence[str], events: Sequence[Any]) -> None:
    """Of the conditions that an index holds, and it holds some, an event satisfies those that can be TRUE."""
    engine, reference = holding(index, scored(texts))
    kept = [texts[name] for name in reference.held]
    for _ in range(2):
        for event in events:
            assert [texts[match.subscription] for match in engine.match(event)] == satisfied(kept, event), event
        engine.merge()
    assert kept
    engine.close()


def satisfied(texts: Sequence[str], event: Any) -> list[str]:
    """The conditions that can be TRUE of an event."""
    values, _ = flatten(event)
    return [text for text in texts if concerns(tocsin.parse(text), values)]


def ends_near(place: float, before: float, after: float) -> list[Range]:
    """Every range whose ends are a value or the next one on either side, or open."""
    ends = (None, before, place, after, None)
    return [
        Range(lo, hi, contained=contained)
        for at, lo in enumerate(ends[:-1])
        for hi in ends[max(at, 1) :]
        for contained in (False, True)
        if lo is not None or hi is not None
    ]
