"""Rules of other systems: how fast they load and match, beside an engine of the other system where a package has one.

10,000 event patterns of EventBridge, 3,141 rules of Sigma over log events, 1,000 queries of Elasticsearch, and 1,000 of
MongoDB. Events are matched one by one and in batches. The peers are asked about a sample of the events, which favours
none: each asks one rule about one event. Their answers are compared with tocsin's.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import yaml

import tocsin
from benchmarks.rows import Row
from benchmarks.rules_workload import COUNT, log_events, sigma_rules

_EVENTS = 20_000
_SAMPLE = 5
_WARM, _SINGLE = 500, 2_000
_STATES = ("running", "stopped", "pending", "terminated", "rebooting", "shutting-down")
_WORDS = tuple(f"word{number}" for number in range(2_000))

Event = dict[str, Any]
Ask = Callable[[Any, Event], bool]


class Load(NamedTuple):
    """Rules of one language, events for them, and a peer that asks one rule about one event, if there is one."""

    language: str
    rules: list[Any]
    events: list[Event]
    peer: str = ""
    ask: Ask | None = None


def _patterns(count: int, rng: random.Random) -> Iterator[Any]:
    for _ in range(count):
        detail: dict[str, Any] = {}
        if rng.random() < 0.6:
            detail["instance"] = [f"i-{rng.randrange(20_000)}"]
        else:
            detail |= {"state": rng.sample(_STATES, 2), "owner": [f"team-{rng.randrange(400)}"]}
        if rng.random() < 0.5:
            detail["tags"] = {"zone": [f"z{rng.randrange(50)}"]}
        if rng.random() < 0.2:
            detail["retired"] = [{"exists": False}]
        yield {"source": [rng.choice(("aws.ec2", "aws.s3", "shop"))], "detail": detail}


def _changes(count: int, rng: random.Random) -> Iterator[Event]:
    for _ in range(count):
        yield {
            "source": rng.choice(("aws.ec2", "aws.s3", "shop")),
            "detail": {
                "instance": f"i-{rng.randrange(20_000)}",
                "state": rng.choice(_STATES),
                "owner": f"team-{rng.randrange(400)}",
                "tags": {"zone": f"z{rng.randrange(50)}"},
            },
        }


def _queries(count: int, rng: random.Random) -> Iterator[Any]:
    for _ in range(count):
        yield {
            "bool": {
                "must": [{"match": {"title": {"query": " ".join(rng.choices(_WORDS, k=2)), "operator": "and"}}}],
                "filter": [
                    {"range": {"price": {"lte": rng.randrange(500)}}},
                    {"terms": {"kind": rng.sample("abcdef", 2)}},
                ],
                "must_not": [{"term": {"sold": True}}],
            }
        }


def _finds(count: int, rng: random.Random) -> Iterator[Any]:
    for _ in range(count):
        yield {
            "kind": {"$in": rng.sample("abcdef", 2)},
            "price": {"$lte": rng.randrange(500)},
            "words": {"$all": rng.choices(_WORDS, k=2)},
            "sold": {"$ne": True},
        }


def _offers(count: int, rng: random.Random) -> Iterator[Event]:
    for _ in range(count):
        words = rng.choices(_WORDS, k=10)
        event = {"title": " ".join(words), "words": words, "price": rng.randrange(500), "kind": rng.choice("abcdef")}
        yield event | ({"sold": True} if rng.random() < 0.2 else {})


def _ruler(pattern: Any, event: Event) -> bool:
    import event_ruler

    return bool(event_ruler.test_event_pattern(json.dumps(event), json.dumps(pattern)))


def _mongomock(query: Any, event: Event) -> bool:
    from mongomock.filtering import filter_applies

    return bool(filter_applies(query, event))


def _loads(rng: random.Random) -> Iterator[Load]:
    yield Load("eventbridge", [*_patterns(10_000, rng)], [*_changes(_EVENTS, rng)], "event-ruler", _ruler)
    rules = [yaml.safe_dump(rule, sort_keys=False) for rule in sigma_rules(COUNT, rng)]
    yield Load("sigma", rules, [*log_events(_EVENTS, rng)])
    yield Load("elasticsearch", [*_queries(1_000, rng)], [*_offers(_EVENTS, rng)])
    yield Load("mongodb", [*_finds(1_000, rng)], [*_offers(_EVENTS, rng)], "mongomock", _mongomock)


def rows() -> Iterator[Row]:
    """For each language the rules loaded, and the events matched, a second."""
    for load in _loads(random.Random(7)):
        engine = tocsin.Engine()
        records = [{"id": number, "where": rule, "language": load.language} for number, rule in enumerate(load.rules)]
        began = time.perf_counter()
        report = engine.subscribe_many(records)
        loaded = time.perf_counter() - began
        assert not report.errors, report
        engine.match_batch(load.events[:200])
        began = time.perf_counter()
        answer = engine.match_batch(load.events)
        matched = time.perf_counter() - began
        told = f"{len(load.rules):,} rules"
        yield Row("loading", "rules", load.language, len(load.rules) / loaded, "rules/s", f"{told}, {loaded:.2f} s")
        told = f"{told}, {len(answer.table):,} matches"
        yield Row("match_batch", "rules", load.language, len(load.events) / matched, "events/s", told)
        yield Row("match", "rules", load.language, _one_by_one(engine, load.events), "events/s", told)
        if load.ask is not None:
            yield _peer(load, answer.table)


def _one_by_one(engine: tocsin.Engine, events: Sequence[Event]) -> float:
    """The rate of single events, after those that bind their forms."""
    for event in events[:_WARM]:
        engine.match(event)
    began = time.perf_counter()
    for event in events[_WARM : _WARM + _SINGLE]:
        engine.match(event)
    return _SINGLE / (time.perf_counter() - began)


def _peer(load: Load, table: Any) -> Row:
    assert load.ask is not None
    began = time.perf_counter()
    found = [_asked(load.ask, load.rules, event) for event in load.events[:_SAMPLE]]
    rate = _SAMPLE / (time.perf_counter() - began)
    mine = table.filter(table["event"].to_numpy() < _SAMPLE).to_pylist()
    assert [(row["event"], row["subscription"]) for row in mine] == [
        (n, one) for n, own in enumerate(found) for one in own
    ]
    return Row("one by one", "rules", load.peer, rate, "events/s", f"{_SAMPLE} events, the same matches")


def _asked(ask: Ask, rules: Sequence[Any], event: Event) -> list[int]:
    return [number for number, rule in enumerate(rules) if ask(rule, event)]
