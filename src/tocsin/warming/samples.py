"""Sample uses of tocsin that together compile every kernel. Each makes some calls of the API.

A kernel that no use reaches would be compiled when a user first needs it. A test checks that there are none.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.engine import Engine, match, sample
from tocsin.index.protocols import (
    ALL_MATCHES,
    BEST_MESSAGES,
    RECTANGLES,
    REGIONS_WITH_KEYWORDS,
    THE_BEST_FIRST,
    Registration,
)
from tocsin.index.published import packages
from tocsin.index.registry import QUESTIONS, built_in
from tocsin.index.window.registry import DISSEMINATORS
from tocsin.kernels.answers.columns import MANY
from tocsin.language import Templates
from tocsin.model.ranking import RANKINGS, Ranking, Relaxed, Top
from tocsin.model.values import Range
from tocsin.monitor import Monitor
from tocsin.placement import PLACEMENTS, planned
from tocsin.records import Conjunctions, SparseEvents, chunk_of, open_writer
from tocsin.records.formats import FORMATS
from tocsin.segment import SegmentBuilder
from tocsin.window import Window

_PLAIN: Final = (
    "model = 'iphone' AND price <= 580",
    "color IN ('silver', 'gold') AND price BETWEEN 10 AND 90",
    "price < 100 OR rating IS NOT NULL",
    "NOT color = 'red' AND stock >= 3 AND price > 5",
)
"""Conditions on numbers and strings, with OR and NOT."""

_ORDINARY: Final = ("color = 'red' AND size IN (1, 2)", "model = 'a' AND stock BETWEEN 1 AND 9", "NOT color = 'b'")

_REGIONS: Final = (
    "S_INTERSECTS(place, BBOX(-75, 40, -73, 41)) AND A_CONTAINS(tags, ('new', 'sale'))",
    "S_INTERSECTS(place, BBOX(-75, 40, -73, 41)) AND A_CONTAINS(tags, ('new')) AND price > 3",
    "S_INTERSECTS(area, BBOX(-75, 40, -73, 41)) AND A_CONTAINS(tags, (1, TRUE))",
)
_RECTANGLES: Final = (
    *(f"price BETWEEN {n} AND {n + 40} AND stock > {n % 7} AND color = 'gold'" for n in range(40)),
    "S_INTERSECTS(place, BBOX(-74.3, 40.5, -73.7, 40.9)) AND price > 1",
    "price < 100",
)

_RICH: Final = (
    *_PLAIN,
    "name LIKE 'ip%' OR name LIKE '%pad%' OR NOT name LIKE '_x%'",
    "CASEI(ACCENTI(city)) LIKE CASEI('são%') AND MATCHES(name, '(?i)ipad *[0-9]')",
    "MATCHES(name, 'pad') AND NOT MATCHES(city, '^O')",
    "A_CONTAINS(tags, ('new', 'sale')) OR A_OVERLAPS(tags, (1, TRUE)) AND NOT A_EQUALS(tags, ('x'))",
    "A_CONTAINEDBY(tags, ('new', 'old')) OR A_OVERLAPS(tags, words)",
    "S_INTERSECTS(place, BBOX(-74.3, 40.5, -73.7, 40.9)) AND price > 1",
    "S_INTERSECTS(place, area)",
    "price * 1.2 + stock <= 580 AND stock % 2 = 1 AND price DIV 10 > -stock",
    "price < rating OR name = city OR (price ^ 2) IS NULL",
    "(price > 100) = (rating > 4) OR used",
    "seen >= TIMESTAMP('2024-05-31T08:15:00Z') OR seller.since < DATE('2020-01-01')",
    "rating IS NULL",
    "TRUE",
)
_EVENTS: Final[tuple[dict[str, Any], ...]] = (
    {
        "model": "iphone",
        "price": 550,
        "color": "gold",
        "name": "ipad 2",
        "tags": ["new", "sale"],
        "place": [-74.0, 40.7],
    },
    {"price": 50.5, "rating": 4.5, "stock": 3, "city": "São Paulo", "words": ["new"], "used": True, "size": 1},
    {"color": "silver", "price": 20, "area": [-75.0, 40.0, -73.0, 41.0], "seller": {"since": "x"}, "tags": [1, True]},
    {"model": "a", "stock": 5, "name": 'quo"te \u00e9', "other": None, "list": [{"a": 1}], "price": -1e-3},
)
_SEEN: Final = datetime.datetime(2024, 6, 1, 12, tzinfo=datetime.UTC)
_ORDINARY_CHANGED: Final = tuple(f"price = {n} AND color = 'red'" for n in range(9))
_CHANGED: Final = 160
"""Enough that nodes of a tree are split, and fall short of children later."""

_MANY_MESSAGES: Final = 600
_MANY: Final = 5000
"""Enough that lists are long, and the top-k search walks them in order of score."""


def uses() -> Mapping[str, Callable[[], None]]:
    """Every use of tocsin by name; the slowest to compile come first."""
    return {
        "access": _access,
        **uses_of([one for one in (*built_in(), *DISSEMINATORS) if one.name != "access"]),
        "several attributes": _several_attributes,
        "many rectangles": _many_rectangles,
        "the best of many": _best_of_many,
        "changes": _changes,
        "places": _places,
        "a window that is filled": _filled_window,
        "a monitor": _monitor,
        "placements": _placements,
        "large answers": _large_answers,
        "sources": _sources,
    }


def published_uses() -> dict[Path, dict[str, Callable[[], None]]]:
    """The uses of indexes that packages publish, by the folder of each package."""
    names = [one.name for one in (*built_in(), *DISSEMINATORS)]
    return {folder: uses_of(own) for folder, own in packages(names).items()}


def uses_of(indexes: Iterable[Registration]) -> dict[str, Callable[[], None]]:
    """The uses of some indexes."""
    by_question = {THE_BEST_FIRST: _relaxed, BEST_MESSAGES: _window}
    return {f"index {one.name}": partial(by_question.get(one.question, _matcher), one) for one in indexes}


def _examples(questions: Iterable[str]) -> list[Ranking]:
    """An example of each ranking that some questions answer."""
    return [one.parse(one.example.split(":")) for one in RANKINGS.values() if one.question in questions]


def _subscriptions(texts: Iterable[str], weights: bool = False) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"id": f"s{n}", "where": text, "score": n / 2} for n, text in enumerate(texts)]
    return [{**one, "weights": {"price": 2.5}} if weights else one for one in found]


def _numbered(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [{"id": f"n{n}", "where": text} for n, text in enumerate(texts)]


def _access() -> None:
    """The default index over every kind of condition, one by one and in batches, saved, memory-mapped and merged."""
    events = [*_EVENTS, {"seen": _SEEN, "price": Range(5, 20), "rating": Range(1, 2, contained=True)}]
    _all_of("access", _RICH, events)
    match(_subscriptions(_PLAIN[:1]), [{"price": 3}])  # without programs


def _matcher(registration: Registration) -> None:
    """Another index, over the subscriptions that it accepts."""
    shapes = {RECTANGLES: _RECTANGLES, REGIONS_WITH_KEYWORDS: _REGIONS}
    texts = _RICH if registration.takes_all else shapes.get(registration.shapes, _ORDINARY)
    _all_of(registration.name, texts, [*_EVENTS, {"price": Range(5, 20), "color": "red"}])
    for ranking in _examples(registration.also):
        match(_subscriptions(_REGIONS), _EVENTS, index=registration.name, ranking=ranking)
    if registration.recent is not None:
        _changed_in_place(registration)


def _changed_in_place(registration: Registration) -> None:
    """Recent subscriptions in a structure that inserts and deletes: each match finds one more, then fewer."""
    engine = Engine(registration.name)
    texts = _REGIONS if registration.shapes == REGIONS_WITH_KEYWORDS else _ORDINARY_CHANGED
    for number in range(_CHANGED):
        engine.subscribe(f"s{number}", texts[number % len(texts)])
        if number % 16 == 0:
            engine.match_batch(_EVENTS)
    for number in range(_CHANGED - 3):
        engine.unsubscribe(f"s{number}")
        if number % 16 == 0:
            engine.match_batch(_EVENTS)


def _all_of(index: str, texts: tuple[str, ...], events: list[dict[str, Any]]) -> None:
    engine = Engine(index)
    engine.subscribe_many(_subscriptions(texts))
    with tempfile.TemporaryDirectory() as folder:
        engine.save(folder)
        for one in (engine, Engine.load(folder)):
            for ranking in (None, *_examples([ALL_MATCHES])):
                one.match_batch(events, ranking=ranking)
                for event in events:
                    one.match(event, ranking=ranking)
            match(folder, events, lists=True)
        engine.unsubscribe("s0")
        engine.match_batch(events, ranking=Top(1))
        engine.merge()
        engine.match_batch(events)


def _monitor() -> None:
    """Functions over time of all kinds, for more objects than a memory begins with, as time passes."""
    engine = Engine()
    texts = [f"{name}(x, TRUE, 'PT9S') > 2" for name in ("SUM", "AVG", "MIN", "MAX", "COUNT_DISTINCT")]
    texts += ["COUNT(x > 1, 'PT9S') >= 2", "PREVIOUS(x) = 1", "SINCE(x = 1) > 5", "SUM(x, TRUE, 'PT1H') / 2 > 5"]
    engine.subscribe_many(_subscriptions(texts))
    monitor = Monitor(engine, key="user", time="t", most_objects=90)
    monitor.push_batch([{"user": n % 100, "t": n, "x": 0.1 * (n % 40)} for n in range(600)])
    with tempfile.TemporaryDirectory() as folder:
        monitor.save(Path(folder) / "monitor")
        Monitor.load(Path(folder) / "monitor", engine).advance(10_000)
    monitor.advance(10_000)
    late = Monitor(engine, key="user", time="t", lateness=5, most_ahead=10)
    for moment in (0, 3, 100, 200):
        late.push({"user": moment % 2, "t": moment, "x": 3})


def _relaxed(registration: Registration) -> None:
    """Top-k by satisfied weight over a structure of intervals: by cursors, and by a full scan."""
    rich = _subscriptions(_RICH, weights=True)
    wide = [
        {"id": f"w{n}", "where": f"price BETWEEN {n % 90} AND {n % 90 + 9} AND stock > {n % 7}"} for n in range(2000)
    ]
    rare = [{"id": f"r{n}", "where": f"p{n % 600} BETWEEN 1 AND 3 AND q{n % 7} >= {n % 5}"} for n in range(2000)]
    for held in (rich, [*rich, *wide], wide, rare):
        engine = Engine(registration.name)
        engine.subscribe_many(held)
        engine.unsubscribe(held[0]["id"])
        events = [*_EVENTS, {"price": Range(5, 20)}, {"price": 45, "stock": 9}, {f"q{n}": 9 for n in range(7)}]
        for ranking in (
            Relaxed(2),
            Relaxed(500),
            Relaxed(2, drop=("price",)),
            Relaxed(1, combine="max"),
            Relaxed(1, combine=sum),
            Top(2),
        ):
            engine.match_batch(events * 20, ranking=ranking)
            engine.match(events[0], ranking=ranking)


def _window(registration: Registration) -> None:
    """A window by count and one by time, both so small that messages expire and results are searched again."""
    words = [["new", "sale", f"w{n % 50}"] for n in range(400)]
    for limits in ({"size": 100}, {"time": 50}):
        window = Window(bounds=(0, 0, 10, 10), index=registration.name, **limits)  # type: ignore[arg-type]
        subscriptions = [{"id": f"s{n}", "words": own, "location": [n % 9, 5], "k": 3} for n, own in enumerate(words)]
        window.subscribe_many(subscriptions * 2)
        window._sliding.order()
        for n, own in enumerate(words):
            window.push(words=own, location=(n % 7, 3), time=n)
        window.subscribe("s0", words=["new"], location=(1, 1), replace=True)
        window.unsubscribe("s0")
        if "time" in limits:
            window.advance(1000)
        window.results_table()


def _filled_window() -> None:
    """A window with enough messages and subscriptions, in two shares, that the final search covers them all."""
    words = [["new", "sale", f"w{n % 50}"] for n in range(2 * _MANY_MESSAGES)]
    window = Window(1_000, bounds=(0, 0, 10, 10), threads=2)
    window.subscribe_many([{"id": n, "words": own, "location": [n % 9, 5]} for n, own in enumerate(words)])
    window.push_batch(
        [{"words": own, "location": [n % 7, 3]} for n, own in enumerate(words[:_MANY_MESSAGES])], changes=False
    )
    window.push(words=["new"], location=(1, 1))


def _several_attributes() -> None:
    """So many subscriptions on the same attributes that these form a combined key; some need a full verification."""
    texts = [f"model = 'm{n % 9}' AND color IN ('red', 'c{n % 7}') AND price >= {n}" for n in range(_MANY // 5)]
    either = " OR ".join(f"stock = {n}" for n in range(40))
    events = [{"model": "m1", "color": "red", "price": 500, "stock": 3}, {"model": "m2", "color": "c1", "price": 9}]
    match(_subscriptions([*texts, *(f"{text} AND ({either})" for text in texts)]), events)


def _many_rectangles() -> None:
    """So many rectangles that they are searched in tiles, next to other subscriptions."""
    texts = [f"price BETWEEN {n} AND {n + 900} AND stock BETWEEN {n} AND {n + 900}" for n in range(_MANY)]
    for count in (1, 99):  # one by one, then tile by tile
        match(_subscriptions([*texts, "model = 'm'"]), [{"price": 1000, "stock": 1000, "model": "m"}] * count)


def _best_of_many() -> None:
    """Top-k with lists long enough to be walked in order of score, and with changing scores."""
    texts = [f"price <= {n % 50}" if n % 2 else f"price > {n % 50} AND stock = {n % 3}" for n in range(_MANY)]
    engine = Engine()
    engine.subscribe_many(_subscriptions(texts))
    for number in (1, 2):
        engine.match_batch(_EVENTS, ranking=Top(2))
        engine.rescore(f"s{number}", 9e9)
        engine.subscribe(f"t{number}", "price > 3")


def _places() -> None:
    """Distances, and shapes if shapely is installed."""
    texts = [f"DISTANCE_M(place, POINT({-74 - n / 50} 40.7)) <= {n * 1000} AND price > {n}" for n in range(90)]
    if importlib.util.find_spec("shapely") is not None:
        texts += [
            "S_INTERSECTS(place, POLYGON((-75 40, -73 40, -73 41, -75 40)))",
            "NOT S_WITHIN(place, BBOX(0, 0, 1, 1))",
        ]
        match(_subscriptions([f"{texts[-2]} AND A_CONTAINS(tags, ('new'))"]), _EVENTS, index="token_grid")
    events = [*_EVENTS, *({"place": [-74 - n / 70, 40.7]} for n in range(99)), {"place": [-75, 40, -73, 41]}]
    match(_subscriptions(_REGIONS), pa.table({"tags": [["sale", "new"], ["new", "sale"]]}))
    match(_subscriptions(texts), events)
    match(_subscriptions(texts), events[:2])


def _placements() -> None:
    """The placement of subscriptions with each kind of id, and the partitions that events visit."""
    for numbered in (False, True):
        builder = SegmentBuilder()
        records = [{"id": n if numbered else f"s{n}", "where": text} for n, text in enumerate([*_RICH, *_REGIONS])]
        builder.add(chunk_of(enumerate(records), Templates(), []))
        part, wanted = builder.part(), Wanted(None)
        batch = encode_objects(list(enumerate([*_EVENTS, {"place": [1.0, 2.0], "tags": ["new"]}])), wanted)
        for name in PLACEMENTS:
            planned(part, name, 2, batches=[batch])


def _changes() -> None:
    """Subscriptions that are added one by one, removed, and merged into a segment; and several segments."""
    engine = Engine(delta_limit=1 << 20, statistics=sample(_EVENTS))
    for one in _subscriptions(_RICH):
        engine.subscribe(one["id"], one["where"], score=one["score"])
    events = [*_EVENTS, {"seen": _SEEN}, {"price": Range(5, 20)}]
    for gone in ("s1", "s2"):
        for ranking in (None, *_examples(QUESTIONS)):
            engine.match_batch(events, ranking=ranking)
            engine.match(events[0], ranking=ranking)
        engine.rescore("s3", 4.5)
        engine.unsubscribe(gone)
        engine.subscribe_many(_numbered(f"price > {n} AND model = 'm{n}'" for n in range(200)))
    engine.merge()
    engine.match_batch(events)
    numbered = Engine()
    numbered.subscribe_many([{"id": n, "where": f"price > {n}"} for n in range(9)])
    numbered.subscribe(100, "price > 1")
    numbered.match_batch(events, ranking=Top(2))


def _large_answers() -> None:
    """So many matches that the columns of the answer are written past the cache, with integer ids of both kinds."""
    for step in (1, 2):
        engine = Engine()
        engine.subscribe_many([{"id": n * step, "where": f"price > {n}"} for n in range(64)])
        engine.match_batch([{"price": 99}] * (MANY // 16))


def _sources() -> None:
    """Events and subscriptions in every supported form."""
    subscriptions = _subscriptions(_RICH)
    predicates = [{"attribute": "price", "op": op, "value": 5.0} for op in ("=", "<>", "<", "<=", ">", ">=")]
    conjunctions = Conjunctions(pa.table({"id": ["c1", "c2"], "predicates": [predicates[:3], predicates[3:]]}))
    with tempfile.TemporaryDirectory() as folder:
        for source in _event_sources(Path(folder)):
            match(subscriptions, source)
        text = Path(folder, "subscriptions.jsonl")
        text.write_text("".join(json.dumps(one) + "\n" for one in subscriptions * 300), "utf-8")
        match(text, _EVENTS)
    match(conjunctions, _EVENTS)
    match(pa.Table.from_pylist(subscriptions), _EVENTS)


def _event_sources(folder: Path) -> Iterator[Any]:
    lines = "".join(json.dumps(one) + "\n" for one in _EVENTS).encode()
    yield lines + b'{"price": 1, "price": 2}\n\n[1]\n{"a": {"b": [1, {"c": 2}]}, "name": "\\u00e9"}\n'
    flat = [{key: value for key, value in one.items() if isinstance(value, str | int | float)} for one in _EVENTS]
    table = pa.Table.from_pylist(flat)
    yield table.append_column("seen", pa.array([_SEEN] * len(flat))).append_column(
        "color2", pa.array(["red"] * len(flat)).dictionary_encode()
    )
    yield pa.Table.from_pylist([{"tags": ["a", "b"], "place": [1.0, 2.0], "seller": {"since": "x"}}])
    for path in (folder / f"events{row.endings[0]}" for row in FORMATS.values() if row.sink is not None):
        with open_writer(path) as writer:
            writer.write(table)
        yield path
    yield SparseEvents(pa.table({"names": [["price", "stock"], ["price"]], "values": [[5.0, 3.0], [7.0]]}))
