"""After any sequence of changes an engine answers like a dictionary of subscriptions, each evaluated by itself."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tocsin
from tests import strategies as own
from tests.engine.samples import pairs
from tests.naive.engine import Reference
from tocsin.model.expression import Expression

STRING_IDS: Final = ("a", "b", "B", "é", "z", "｡", "😀", "", "a b", "10", "9", "a\x00")
INTEGER_IDS: Final = (0, -1, 5, 10, 9, 2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, -(2**63), 7, 8)
EVERYTHING: Final = tocsin.Top(1000)
INDEXES: Final = ("auto", "scan", "access")  # what holds any expression

places = st.integers(0, len(STRING_IDS) - 1)
scores = st.sampled_from([None, 1, 1.0, 2.0, 0.5, -1.0, 0.0, -0.0, 1e308, 5e-324])
payloads = st.sampled_from([None, None, 0, "", "é", {"to": ["x", 1.5, None]}, [[]], True])
trees = own.expressions(max_depth=4)
rankings = st.sampled_from([None, None, tocsin.Top(1), tocsin.Top(3), EVERYTHING])
odd_events = st.one_of(own.python_events(), own.python_events(), own.python_events(), own.bad_events())
BAD_WHERES: Final = ("n = ", "", "(n = 1", "NOSUCH(n) = 1", "MATCHES(s, '(')", {"op": "="}, None, 5)
BAD_FIELDS: Final = (
    *({"where": where} for where in BAD_WHERES),
    {"id": None},
    {"id": 1.5},
    {"id": 2**63},
    {"score": "2"},
    {"score": True},
    {"weights": {"n": -1}},
    {"were": "n = 1"},
    {"id": "of the other kind"},
)
SPOILT: Final = st.one_of(*[st.just({})] * 4, st.sampled_from(BAD_FIELDS))


def written(tree: Expression, as_json: bool) -> Any:
    """An expression as a user gives it: CQL2 text, or a JSON object."""
    return tocsin.to_json(tree) if as_json else tocsin.to_text(tree)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the kind of error that it raises."""
    try:
        return call()
    except KeyError:
        return "unknown"
    except tocsin.DuplicateSubscription:
        return "taken"
    except tocsin.InvalidInput:
        return "bad"


def listed(engine: Any, events: Any, ranking: tocsin.Top | None) -> list[list[Any] | None]:
    """What `match_batch` gives for each event as lists: tuples of id and, when ranked, score; None for a bad one."""
    table = engine.match_batch(events, ranking=ranking, lists=True).table
    assert table["event"].to_pylist() == list(range(table.num_rows))
    columns = [table[name].to_pylist() for name in table.column_names[1:]]
    return [None if lists[0] is None else list(zip(*lists, strict=True)) for lists in zip(*columns, strict=True)]


def flat(engine: Any, events: Any, ranking: tocsin.Top | None) -> list[tuple[Any, ...]]:
    """What `match_batch` gives as rows: the event's number, the id and, when ranked, the score."""
    answer = engine.match_batch(events, ranking=ranking)
    assert answer.subscription_errors == []
    assert answer.complete
    return [tuple(row.values()) for row in answer.table.to_pylist()]


def expected(reference: Reference, events: Sequence[Any], ranking: tocsin.Top | None) -> list[list[Any] | None]:
    """The lists that the reference gives."""
    width = 1 if ranking is None else 2
    return [None if m is None else [match[:width] for match in m] for m in reference.match_batch(events, ranking)]


def check_batch(
    engine: Any, reference: Reference, events: Sequence[Any], ranking: tocsin.Top | None, source: Any = None
) -> None:
    """Rows and lists of a batch are the reference's; `source` is another form of the events."""
    source = events if source is None else source
    lists = expected(reference, events, ranking)

    assert listed(engine, source, ranking) == lists
    assert flat(engine, source, ranking) == [(row, *match) for row, some in enumerate(lists) for match in some or ()]


def superseded(names: Sequence[Any], rows: Sequence[int]) -> set[int]:
    """Of the rows that are good, those whose id comes again in a later one."""
    return {row for row in rows if any(names[later] == names[row] for later in rows if later > row)}


class Changes(RuleBasedStateMachine):
    """The engine, the reference, and the last events that were seen, which are matched again after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.reference = Reference()
        self.seen: list[Any] = [{}, {"n": 1, "s": "a", "flag": True}]
        self.folder = Path(tempfile.mkdtemp(prefix="tocsin-changes-"))
        self.engine: Any = None

    def teardown(self) -> None:
        if self.engine is not None:
            self.engine.close()
        shutil.rmtree(self.folder)

    @initialize(
        ids=st.sampled_from([STRING_IDS, INTEGER_IDS]),
        index=st.sampled_from(INDEXES),
        delta_limit=st.sampled_from([4, 16, 1, 8192]),
        first=st.lists(trees, max_size=6),
    )
    def start(self, ids: tuple[Any, ...], index: str, delta_limit: int, first: list[Expression]) -> None:
        self.ids, self.delta_limit = ids, delta_limit
        self.engine = tocsin.Engine(index, delta_limit=delta_limit)
        for place, tree in enumerate(first):
            self.subscribe(place, tree, False, None, None, False)

    def chosen(self, place: int) -> Any:
        """An id that is there, three times in four; or perhaps not."""
        held = sorted(self.reference.held)
        return held[place % len(held)] if held and place > 2 else self.ids[place]

    @rule(place=places, tree=trees, as_json=st.booleans(), score=scores, payload=payloads, replace=st.booleans())
    def subscribe(self, place: int, tree: Any, as_json: bool, score: Any, payload: Any, replace: bool) -> None:
        name, fields = self.ids[place], {"score": score, "payload": payload, "replace": replace}

        ours = outcome(lambda: self.engine.subscribe(name, written(tree, as_json), **fields))

        assert ours == outcome(lambda: self.reference.subscribe(name, tree, **fields))

    @rule(place=places, bad=st.sampled_from(BAD_WHERES), replace=st.booleans())
    def subscribe_what_cannot_be_read(self, place: int, bad: Any, replace: bool) -> None:
        with pytest.raises(tocsin.InvalidInput):
            self.engine.subscribe(self.ids[place], bad, replace=replace)

    @rule(
        drawn=st.lists(st.tuples(places, trees, st.booleans(), scores, payloads, SPOILT), max_size=6),
        replace=st.booleans(),
        as_lines=st.booleans(),
    )
    def subscribe_many(self, drawn: list[tuple[Any, ...]], replace: bool, as_lines: bool) -> None:
        records, same = [], []
        for place, tree, as_json, score, payload, spoilt in drawn:
            spoilt = self._of_the_other_kind(spoilt)
            fields = {"id": self.ids[place], "score": score, "payload": payload}
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

    @rule(place=places, score=scores.filter(lambda score: score is not None))
    def rescore(self, place: int, score: float) -> None:
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.rescore(name, score))

        assert ours == outcome(lambda: self.reference.rescore(name, score))

    @rule(event=odd_events, ranking=rankings)
    def match(self, event: Any, ranking: tocsin.Top | None) -> None:
        ours = outcome(lambda: pairs(self.engine.match(event, ranking=ranking)))

        assert ours == outcome(lambda: self.reference.match(event, ranking))
        self.seen = [*self.seen[-3:], event]

    @rule(events=st.lists(odd_events, max_size=3), ranking=rankings)
    def match_batch(self, events: list[Any], ranking: tocsin.Top | None) -> None:
        check_batch(self.engine, self.reference, [*self.seen, *events], ranking)

    @rule(events=st.lists(own.json_events(), max_size=3), ranking=rankings)
    def match_lines(self, events: list[Any], ranking: tocsin.Top | None) -> None:
        lines = "".join(own.json_text(event) + "\n" for event in events).encode()

        check_batch(self.engine, self.reference, events, ranking, lines)

    @rule(place=places, event=own.python_events())
    def explain(self, place: int, event: Any) -> None:
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.explain(name, event).truth)

        assert ours == outcome(lambda: self.reference.explain(name, event))

    @rule()
    def merge(self) -> None:
        self.engine.merge()

        assert len(self.engine.stats.segments) <= 1

    @rule(place=st.integers(0, 1), go_on=st.booleans())
    def save_and_load(self, place: int, go_on: bool) -> None:
        self.engine.save(self.folder / str(place))
        loaded = tocsin.Engine.load(self.folder / str(place), delta_limit=self.delta_limit)

        assert listed(loaded, self.seen, EVERYTHING) == expected(self.reference, self.seen, EVERYTHING)
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
            assert listed(self.engine, self.seen, EVERYTHING) == expected(self.reference, self.seen, EVERYTHING)


Changes.TestCase.settings = settings(
    max_examples=max(20, settings.default.max_examples * 2 // 5),
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestChanges = Changes.TestCase


WORDS: Final = ("red", "green", "blue", "rouge", "redder", "é")
TEMPLATES: Final[tuple[Callable[[random.Random], str], ...]] = (
    lambda r: f"n {r.choice(('=', '<', '>=', '<>'))} {r.randint(0, 9)}",
    lambda r: f"s = '{r.choice(WORDS)}'",
    lambda r: f"s IN ('{r.choice(WORDS)}', '{r.choice(WORDS)}') AND n > {r.randint(0, 9)}",
    lambda r: f"n = {r.randint(0, 9)} OR s = '{r.choice(WORDS)}'",
    lambda r: f"NOT (s = '{r.choice(WORDS)}' AND n < {r.randint(0, 9)})",
    lambda r: f"n BETWEEN {r.randint(0, 5)} AND {r.randint(3, 9)}",
    lambda r: f"s LIKE '{r.choice(WORDS)[:2]}%'",
    lambda r: f"A_CONTAINS(words, ('{r.choice(WORDS)}', '{r.choice(WORDS)}'))",
    lambda r: f"A_OVERLAPS(words, ('{r.choice(WORDS)}', '{r.choice(WORDS)}')) AND NOT n = {r.randint(0, 9)}",
    lambda r: f"a{r.randint(0, 40)} = {r.randint(0, 2)} OR n = {r.randint(0, 9)}",
    lambda r: f"n IS NULL OR s = '{r.choice(WORDS)}'",
)


class Soak:
    """Cheap random changes to an engine and its reference; `dice` decides everything."""

    def __init__(self, dice: random.Random, names: Sequence[Any], index: str, delta_limit: int, folder: Path) -> None:
        self.dice, self.names, self.folder, self.delta_limit = dice, names, folder, delta_limit
        self.engine: Any = tocsin.Engine(index, delta_limit=delta_limit)
        self.reference = Reference()

    def step(self) -> None:
        """One change; merges and folders are rare."""
        steps = (self.subscribe, self.unsubscribe, self.rescore, self.subscribe_many, self.merge, self.save_and_load)
        self.dice.choices(steps, (45, 25, 25, 4, 0.3, 0.2))[0]()

    def both(self, method: str, *arguments: Any, **fields: Any) -> None:
        """Tell both the same; both refuse it, or neither."""
        ours = outcome(lambda: getattr(self.engine, method)(*arguments, **fields))

        assert ours == outcome(lambda: getattr(self.reference, method)(*arguments, **fields))

    def subscribe(self) -> None:
        fields = self.fields()
        self.both("subscribe", fields.pop("id"), fields.pop("where"), **fields, replace=self.dice.random() < 0.3)

    def unsubscribe(self) -> None:
        self.both("unsubscribe", self.dice.choice(self.names))

    def rescore(self) -> None:
        self.both("rescore", self.dice.choice(self.names), self.score())

    def subscribe_many(self) -> None:
        records = [self.fields() for _ in range(self.dice.randint(1, 12))]
        report = self.engine.subscribe_many(iter(records))

        accepted, refused = self.reference.subscribe_many(records)
        assert (report.accepted, [(r.row, r.id) for r in report.errors]) == (len(accepted), refused)

    def merge(self) -> None:
        self.engine.merge()

    def save_and_load(self) -> None:
        self.engine.save(self.folder)
        self.engine.close()
        self.engine = tocsin.Engine.load(self.folder, delta_limit=self.delta_limit)

    def fields(self) -> dict[str, Any]:
        where = self.dice.choice(TEMPLATES)(self.dice)
        return {"id": self.dice.choice(self.names), "where": where, "score": self.score(), "payload": where}

    def score(self) -> float:
        return self.dice.choice((1.0, 2.0, -1.0, 0.0, -0.0, self.dice.random()))

    def event(self) -> dict[str, Any]:
        event = {
            "n": self.dice.randint(0, 9),
            "s": self.dice.choice(WORDS),
            "words": self.dice.sample(WORDS, self.dice.randint(0, 4)),
            f"a{self.dice.randint(0, 40)}": self.dice.randint(0, 2),
        }
        return {name: value for name, value in event.items() if self.dice.random() < 0.8}


@pytest.mark.parametrize(
    ("index", "names", "delta_limit"),
    [
        ("auto", range(120), 16),
        ("access", [f"s{n}" for n in range(120)], 64),
        ("scan", [2**62 + n for n in range(30)], 4),
    ],
)
def test_a_long_life_of_small_changes_is_answered_like_the_reference(
    index: str, names: Sequence[Any], delta_limit: int, tmp_path: Path
) -> None:
    """Thousands of changes of every kind, and after every ten the answers, payloads and ids are the reference's."""
    dice = random.Random(f"{index} {delta_limit}")
    soak = Soak(dice, names, index, delta_limit, tmp_path / "saved")

    for count in range(1, 2001):
        soak.step()
        if count % 10:
            continue
        events = [soak.event() for _ in range(6)]
        check_batch(soak.engine, soak.reference, events, dice.choice((None, tocsin.Top(2), EVERYTHING)))
        assert pairs(soak.engine.match(events[0])) == soak.reference.match(events[0])
        assert {name for name in names if name in soak.engine} == set(soak.reference.held)
        name = dice.choice(names)
        assert outcome(lambda name=name: soak.engine.payload(name)) == outcome(
            lambda name=name: soak.reference.payload(name)
        )

    assert len(soak.engine) == len(soak.reference) > len(names) / 4
    soak.engine.close()
