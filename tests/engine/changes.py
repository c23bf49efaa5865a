"""An engine that lives beside a reference: every kind of change, and every question that its index answers.

A `World` says what is subscribed and what comes; `Changes` is the same for all of them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.strategies import SearchStrategy

import tocsin
from tests import strategies as own
from tests.engine.checking import Question, check_batch, expected, is_good, listed, made, outcome
from tests.engine.relaxed_samples import INTEGER_IDS, RANKERS, STRING_IDS, Asked, questions
from tests.engine.samples import pairs
from tests.naive.engine import Reference
from tests.strategies.weighted import Weighted
from tocsin.model.expression import Expression

WHOLE: Final = tocsin.Top(1000)
IN_PART: Final = Asked(1000)
HOLD_ALL: Final = ("auto", "access", "scan", *RANKERS)


class World(NamedTuple):
    """What is subscribed, and what comes."""

    indexes: Sequence[str]
    subscriptions: SearchStrategy[Weighted]
    events: SearchStrategy[Any]
    names: Sequence[str]  # attributes that a relaxed ranking may drop
    seen: Sequence[Any]  # events from the beginning
    in_part: Collection[int] = ()  # relaxed rankings of these k are asked where an index could answer others, too
    has_ranges: bool = False


subscriptions = st.runner().flatmap(lambda machine: machine.world.subscriptions)
events = st.runner().flatmap(lambda machine: machine.world.events)
relaxed = st.runner().flatmap(lambda machine: questions(machine.world.names))
rankings = st.sampled_from([None, None, tocsin.Top(1), tocsin.Top(3), WHOLE])
places = st.integers(0, len(STRING_IDS) - 1)
scores = st.sampled_from([None, 1, 1.0, 2.0, 0.5, -1.0, 0.0, -0.0, 1e308, 5e-324])
payloads = st.sampled_from([None, None, 0, "", "é", {"to": ["x", 1.5, None]}, [[]], True])

BAD_WHERES: Final = ("n = ", "", "(n = 1", "NOSUCH(n) = 1", "MATCHES(s, '(')", {"op": "="}, None, 5)
BAD_WEIGHTS: Final = ({"n": -1}, {"n": float("nan")}, {"n": True}, {"no such name": 1})
UNREADABLE: Final = (*((where, None) for where in BAD_WHERES), *(("n = 1", weights) for weights in BAD_WEIGHTS))
BAD_FIELDS: Final = (
    *({"where": where} for where in BAD_WHERES),
    {"id": None},
    {"id": 1.5},
    {"id": 2**63},
    {"score": "2"},
    {"score": True},
    {"weights": {"n": -1}},
    {"weights": {"no such name": 1}},
    {"were": "n = 1"},
    {"id": "of the other kind"},
)
SPOILT: Final = st.one_of(*[st.just({})] * 4, st.sampled_from(BAD_FIELDS))


def written(tree: Expression, as_json: bool) -> Any:
    """An expression as a user gives it: CQL2 text, or a JSON object."""
    return tocsin.to_json(tree) if as_json else tocsin.to_text(tree)


def superseded(names: Sequence[Any], rows: Sequence[int]) -> set[int]:
    """Of the rows that are good, those whose id comes again in a later one."""
    return {row for row in rows if any(names[later] == names[row] for later in rows if later > row)}


class Changes(RuleBasedStateMachine):
    """The engine, the reference, and the last events that were seen, which are matched again after every step."""

    world: ClassVar[World]

    def __init__(self) -> None:
        super().__init__()
        self.reference = Reference()
        self.seen: list[Any] = list(self.world.seen)
        self.folder = Path(tempfile.mkdtemp(prefix="tocsin-changes-"))
        self.engine: Any = None

    def teardown(self) -> None:
        if self.engine is not None:
            self.engine.close()
        shutil.rmtree(self.folder)

    @initialize(
        ids=st.sampled_from([STRING_IDS, INTEGER_IDS]),
        index=st.runner().flatmap(lambda machine: st.sampled_from(machine.world.indexes)),
        delta_limit=st.sampled_from([4, 16, 1, 8192]),
        first=st.lists(subscriptions, max_size=6),
    )
    def start(self, ids: tuple[Any, ...], index: str, delta_limit: int, first: list[Weighted]) -> None:
        self.ids, self.index, self.delta_limit = ids, index, delta_limit
        self.engine = tocsin.Engine(index, delta_limit=delta_limit)
        for place, one in enumerate(first):
            self.subscribe(place, one, False, None, None, False)

    def chosen(self, place: int) -> Any:
        """An id that is there, three times in four; or perhaps not."""
        held = sorted(self.reference.held)
        return held[place % len(held)] if held and place > 2 else self.ids[place]

    def question(self, ranking: tocsin.Top | None, asked: Asked) -> Question:
        """What an index of the engine's kind answers: a ranker of dimensions, or a matcher of what matches whole."""
        if self.index in RANKERS:
            return asked
        return asked if self.index in ("auto", "scan") and asked.k in self.world.in_part else ranking

    @property
    def everything(self) -> tuple[Question, ...]:
        """The questions whose answers show all that the engine holds."""
        if self.index in RANKERS:
            return (IN_PART,)
        return (WHOLE, IN_PART) if self.index in ("auto", "scan") and self.world.in_part else (WHOLE,)

    @rule(
        place=places,
        one=subscriptions,
        as_json=st.booleans(),
        score=scores,
        payload=payloads,
        replace=st.booleans(),
    )
    def subscribe(self, place: int, one: Weighted, as_json: bool, score: Any, payload: Any, replace: bool) -> None:
        """What the index cannot hold is refused and changes nothing."""
        (tree, weights), name = one, self.ids[place]
        fields = {"score": score, "payload": payload, "weights": weights, "replace": replace}

        ours = outcome(lambda: self.engine.subscribe(name, written(tree, as_json), **fields))

        if ours != "bad" or self.index in HOLD_ALL:
            assert ours == outcome(lambda: self.reference.subscribe(name, tree, **fields))

    @rule(place=places, bad=st.sampled_from(UNREADABLE), replace=st.booleans())
    def subscribe_what_cannot_be_read(self, place: int, bad: tuple[Any, Any], replace: bool) -> None:
        where, weights = bad

        with pytest.raises(tocsin.InvalidInput):
            self.engine.subscribe(self.ids[place], where, weights=weights, replace=replace)

    @rule(
        drawn=st.lists(st.tuples(places, subscriptions, st.booleans(), scores, payloads, SPOILT), max_size=6),
        replace=st.booleans(),
        as_lines=st.booleans(),
    )
    def subscribe_many(self, drawn: list[tuple[Any, ...]], replace: bool, as_lines: bool) -> None:
        if self.index not in HOLD_ALL:
            return
        records, same = [], []
        for place, (tree, weights), as_json, score, payload, spoilt in drawn:
            spoilt = self._of_the_other_kind(spoilt)
            fields = {"id": self.ids[place], "score": score, "payload": payload, "weights": weights}
            records.append({**fields, "where": written(tree, as_json), **spoilt})
            same.append({**fields, "where": tree, **spoilt})
        source = "".join(json.dumps(record) + "\n" for record in records).encode() if as_lines else records

        report = self.engine.subscribe_many(source, replace=replace)

        accepted, refused = self.reference.subscribe_many(same, replace=replace)
        doubles = superseded([record["id"] for record in records], accepted) if replace else set()
        assert [(r.row, r.id) for r in report.errors if r.row not in doubles] == [
            (row, records[row]["id"] if records[row]["id"] == 2**63 else name) for row, name in refused
        ]
        assert len(accepted) - len(doubles) <= report.accepted <= len(accepted)

    def _of_the_other_kind(self, spoilt: Mapping[str, Any]) -> Mapping[str, Any]:
        """An id that is no string among strings, or the reverse; not where it would be the first."""
        if spoilt.get("id") != "of the other kind":
            return spoilt
        if not self.reference.held:
            return {}
        return {"id": 3 if self.ids is STRING_IDS else "3"}

    @rule(place=places)
    def unsubscribe(self, place: int) -> None:
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.unsubscribe(name))

        assert ours == outcome(lambda: self.reference.unsubscribe(name))

    @rule(some=st.lists(places, max_size=5), dry_run=st.booleans())
    def unsubscribe_many(self, some: list[int], dry_run: bool) -> None:
        """Ids that there are, and others; a dry run counts, and changes nothing."""
        names = {self.chosen(place) for place in some}
        there = names & self.reference.held.keys()

        assert self.engine.unsubscribe_many(names, dry_run=dry_run) == (len(there), sorted(names - there))

        for name in () if dry_run else there:
            self.reference.unsubscribe(name)

    @rule(payload=payloads.filter(lambda payload: isinstance(payload, dict)), wanted=st.sampled_from("xy"))
    def unsubscribe_by_payload(self, payload: dict[str, Any], wanted: str) -> None:
        chosen = [name for name, one in self.reference.held.items() if one.payload == payload and wanted == "x"]

        assert self.engine.unsubscribe_many(only=f"ANY(to, element = '{wanted}')") == (len(chosen), [])

        for name in chosen:
            self.reference.unsubscribe(name)

    @rule(place=places, score=scores.filter(lambda score: score is not None))
    def rescore(self, place: int, score: float) -> None:
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.rescore(name, score))

        assert ours == outcome(lambda: self.reference.rescore(name, score))

    @rule(event=events, ranking=rankings, asked=relaxed)
    def match(self, event: Any, ranking: tocsin.Top | None, asked: Asked) -> None:
        question = self.question(ranking, asked)

        ours = outcome(lambda: pairs(self.engine.match(event, ranking=made(question))))

        assert ours == outcome(lambda: self.reference.match(event, question))
        self.seen = [*self.seen[-3:], event]

    @rule(some=st.lists(events, max_size=3), ranking=rankings, asked=relaxed)
    def match_batch(self, some: list[Any], ranking: tocsin.Top | None, asked: Asked) -> None:
        check_batch(self.engine, self.reference, [*self.seen, *some], self.question(ranking, asked))

    @rule(some=st.lists(own.json_events(), max_size=3), ranking=rankings, asked=relaxed)
    def match_lines(self, some: list[Any], ranking: tocsin.Top | None, asked: Asked) -> None:
        lines = "".join(own.json_text(event) + "\n" for event in some).encode()

        check_batch(self.engine, self.reference, some, self.question(ranking, asked), lines)

    @rule(place=places, event=events.filter(is_good))
    def explain(self, place: int, event: Any) -> None:
        """It matched exactly where the reference finds it."""
        name = self.chosen(place)

        told = outcome(lambda: self.engine.explain(name, event))

        truth = outcome(lambda: self.reference.explain(name, event))
        if name not in self.reference:
            assert told == truth
            return
        assert told.matched == (name in dict(self.reference.match(event)))
        assert self.world.has_ranges or told.truth == truth

    @rule()
    def merge(self) -> None:
        self.engine.merge()

        assert len(self.engine.stats.segments) <= 1

    @rule(place=st.integers(0, 1), go_on=st.booleans(), by_name=st.booleans())
    def save_and_load(self, place: int, go_on: bool, by_name: bool) -> None:
        index = self.index if by_name or self.index not in HOLD_ALL else None
        self.engine.save(self.folder / str(place))
        loaded = tocsin.Engine.load(self.folder / str(place), index=index, delta_limit=self.delta_limit)

        self.check(loaded)
        if go_on:
            self.engine, loaded = loaded, self.engine
        loaded.close()

    @invariant()
    def they_hold_the_same(self) -> None:
        """Ids and payloads, and how many there are."""
        if self.engine is None:
            return
        assert [name in self.engine for name in self.ids] == [name in self.reference for name in self.ids]
        assert len(self.engine) == self.engine.stats.subscriptions == len(self.reference)
        payloads = [outcome(lambda name=name: self.engine.payload(name)) for name in self.ids]
        assert payloads == [outcome(lambda name=name: self.reference.payload(name)) for name in self.ids]

    @invariant()
    def they_answer_the_same(self) -> None:
        """The events seen last, with all scores."""
        if self.engine is not None:
            self.check(self.engine)

    def check(self, engine: Any) -> None:
        for question in self.everything:
            assert listed(engine, self.seen, question) == expected(self.reference, self.seen, question)
