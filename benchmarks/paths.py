"""The paths around the kernels that users meet: one event, areas, answers, texts, dicts, wide tables, a CSV, memory.

Each row with a share compares two paths of one run, which alternate; the ratio of medians is its value.
"""

from __future__ import annotations

import csv
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import tocsin
from benchmarks import saved_searches
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row

_ROUNDS = 5


def rows(subscriptions: int) -> Iterator[Row]:
    """Saved searches, a thousand plain alerts, and the texts of every operator."""
    draw = random.Random(1)
    searches = [{"id": f"s{i}", "where": one.cql} for i, one in enumerate(saved_searches.searches(subscriptions))]
    offers = [row for row in map(_sound, saved_searches.offers(20_000)) if row]
    engine = tocsin.Engine()
    engine.subscribe_many(searches)
    yield from _one_event("TEXT", engine, offers[:2_000])
    alerts = [f"model = 'm{i % 50}' AND price <= {draw.randint(1, 1000)}" for i in range(1_000)]
    few = tocsin.Engine()
    few.subscribe_many([{"id": i, "where": where} for i, where in enumerate(alerts)])
    yield from _one_event("alert", few, [{"model": f"m{i % 60}", "price": draw.random() * 1000} for i in range(2_000)])
    yield from _pushes(draw)
    yield from _areas(draw)
    yield from _answers(draw)
    yield from _texts(draw, subscriptions)
    yield from _forms(engine, offers)
    yield from _command(engine, offers)
    yield _memory(subscriptions)


def _sound(row: dict[str, str]) -> dict[str, Any] | None:
    """An offer with numbers; None if the row of the CSV is dirty."""
    try:
        return {**row, "price": float(row["price"]), "rating": float(row["rating"])}
    except (KeyError, ValueError):
        return None


def _one_event(load: str, engine: tocsin.Engine, events: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """`engine.match` of one event, by its share of a batch."""
    first, last = events[: len(events) // 4], events[len(events) // 4 :]
    for event in first:
        engine.match(event)
    singly = statistics.median(wall_seconds(lambda one=event: engine.match(one)) for event in last)
    share = _median(lambda: engine.match_batch(last, threads=1)) / len(last)
    note = f"{len(engine):,} subscriptions; {singly / share:.1f} times its share of a batch, {share * 1e6:.1f} us"
    yield Row("one event", load, "engine.match", singly * 1e6, "us", note)


def _pushes(draw: random.Random) -> Iterator[Row]:
    """One position for `Fences`, one message for `Window`."""
    engine = tocsin.Engine()
    for i in range(100):
        west, south = 13 + i % 10 / 10, 52 + i // 10 / 10
        engine.subscribe(i, f"S_INTERSECTS(location, BBOX({west}, {south}, {west + 0.1}, {south + 0.1}))")
    fences = tocsin.Fences(engine, key="vehicle", time="time")
    window = tocsin.Window(size=1_000, bounds=(0, 0, 10, 10))
    words = [f"w{number}" for number in range(500)]
    for i in range(1_000):
        window.subscribe(i, words=draw.sample(words, 4), location=(draw.uniform(0, 10), draw.uniform(0, 10)))
    positions, messages = [], []
    for i in range(2_000):
        place = [13 + draw.random(), 52 + draw.random()]
        positions.append(
            wall_seconds(lambda i=i, at=place: fences.push({"vehicle": i % 20, "time": i, "location": at}))
        )
        chosen, at = draw.sample(words, 5), (draw.uniform(0, 10), draw.uniform(0, 10))
        messages.append(wall_seconds(lambda chosen=chosen, at=at: window.push(words=chosen, location=at)))
    yield Row("one event", "fence", "Fences.push", statistics.median(positions[500:]) * 1e6, "us", "100 fences")
    yield Row(
        "one event", "words", "Window.push", statistics.median(messages[1_000:]) * 1e6, "us", "1,000 subscriptions"
    )


def _areas(draw: random.Random) -> Iterator[Row]:
    """Polygons in one place, each for another carrier, beside boxes."""
    count = 3_000
    shapes: dict[str, list[str]] = {"boxes": [], "polygons": []}
    for _ in range(count):
        west, south = draw.uniform(-0.1, 0), draw.uniform(-0.1, 0)
        east, north = west + draw.uniform(0.5, 1), south + draw.uniform(0.5, 1)
        corners = [(west, south), (east, south), (east, north - 0.2), (east - 0.2, north), (west, north), (west, south)]
        shapes["boxes"].append(f"BBOX({west}, {south}, {east}, {north})")
        shapes["polygons"].append(f"POLYGON(({', '.join(f'{x} {y}' for x, y in corners)}))")
    events = [
        {"carrier": f"c{draw.randrange(count)}", "location": [draw.uniform(0, 0.5), draw.uniform(0, 0.5)]}
        for _ in range(10_000)
    ]
    table, taken = pa.Table.from_pylist(events), dict[str, float]()
    for kind, own in shapes.items():
        engine = tocsin.Engine()
        engine.subscribe_many(
            [{"id": i, "where": f"carrier = 'c{i}' AND S_INTERSECTS(location, {one})"} for i, one in enumerate(own)]
        )
        taken[kind] = _median(lambda engine=engine: engine.match_batch(table, threads=1)) / len(events)
        note = f"{count:,} in one place, each for another carrier; {taken[kind] / taken['boxes']:.1f} times boxes"
        yield Row("areas", kind, "match_batch", taken[kind] * 1e6, "us an event", note)
        first = statistics.median(_first_batch(engine, table) for _ in range(_ROUNDS))
        yield Row("areas", kind, "the first batch after load", first / count * 1e6, "us", "each area")


def _first_batch(engine: tocsin.Engine, table: pa.Table) -> float:
    """The seconds that the first batch takes longer than the second, in an engine that was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        engine.save(folder)
        with tocsin.Engine.load(folder) as loaded:
            first, second = (wall_seconds(lambda: loaded.match_batch(table, threads=1)) for _ in range(2))
    return first - second


def _answers(draw: random.Random) -> Iterator[Row]:
    """Rows of events that match thousands of subscriptions, by what it takes to copy their columns."""
    table = pa.table({"price": [draw.uniform(600, 1000) for _ in range(500)]})
    for kind in ("integers", "strings"):
        engine = tocsin.Engine()
        ids = [i if kind == "integers" else f"s{i}" for i in range(20_000)]
        engine.subscribe_many([{"id": one, "where": f"price < {draw.randrange(1_000)}"} for one in ids])
        answer = engine.match_batch(table, threads=1).table
        taken = _median(lambda engine=engine: engine.match_batch(table, threads=1))
        copied = _median(lambda answer=answer: _copies(answer))
        width = 16 if kind == "integers" else 12
        note = f"{copied / taken:.2f} of the rate at which its {width} bytes a row are copied, with matching"
        yield Row("answers", kind, "match_batch", taken / len(answer) * 1e9, "ns a row", note)


def _copies(answer: pa.Table) -> list[Any]:
    """The numbers of both columns, copied; an id that is a string is a number in its dictionary."""
    events, ids = answer["event"].chunks, answer["subscription"].chunks
    numbers = [one if pa.types.is_integer(one.type) else one.indices for one in ids]
    return [one.to_numpy().copy() for one in (*events, *numbers)]


_TEXTS: dict[str, Callable[[random.Random], str]] = {
    "numbers": lambda draw: f"model = 'm{draw.randint(1, 999)}' AND price <= {draw.randint(1, 999)}",
    "IN": lambda draw: f"model IN ('m{draw.randint(1, 999)}', 'm{draw.randint(1, 999)}') AND price <= 5",
    "TEXT": lambda draw: f"TEXT(title, 'w{draw.randint(1, 999)} w{draw.randint(1, 999)}') AND price <= 5",
    "CASEI": lambda draw: f"CASEI(model) = CASEI('M{draw.randint(1, 999)}') AND price <= 5",
    "dates": lambda draw: f"listed >= DATE('2026-05-{draw.randint(10, 28)}') AND model = 'm{draw.randint(1, 999)}'",
    "MATCHES": lambda draw: f"MATCHES(model, 'm{draw.randint(1, 999)}') AND price <= 5",
    "ANY": lambda draw: f"ANY(items, price > {draw.randint(1, 999)}) AND model = 'm{draw.randint(1, 999)}'",
    "metres": lambda draw: f"DISTANCE_M(at, POINT({draw.randint(1, 80)} 5)) <= 500 AND price <= 5",
    "shapes": lambda draw: f"S_INTERSECTS(at, POLYGON((0 0, {draw.randint(1, 9)} 0, 0 {draw.randint(1, 9)}, 0 0)))",
}


def _texts(draw: random.Random, subscriptions: int) -> Iterator[Row]:
    """Loading texts of one kind."""
    count = min(subscriptions, 20_000)
    for kind, text in _TEXTS.items():
        records = [{"id": i, "where": text(draw)} for i in range(count)]
        tocsin.Engine().subscribe_many(records[:100])
        seconds = _median(lambda records=records: tocsin.Engine().subscribe_many(records), 3)
        yield Row("load texts", "", kind, seconds / count * 1e6, "us", "each")


def _forms(engine: tocsin.Engine, offers: list[dict[str, Any]]) -> Iterator[Row]:
    """Rates of dicts, JSON lines and a table of a thousand columns, as shares of a table's."""
    table = pa.Table.from_pylist(offers)
    wide = table
    for number in range(1_000 - table.num_columns):
        wide = wide.append_column(f"other{number}", pa.array([float(number)] * len(offers)))
    lines = "".join(json.dumps(one) + "\n" for one in offers).encode()
    forms: dict[str, Any] = {"Arrow": table, "dicts": offers, "JSON lines": lines, "1,000 columns": wide}
    taken = {
        form: _median(lambda source=source: engine.match_batch(source, threads=1)) for form, source in forms.items()
    }
    for form, seconds in taken.items():
        note = f"{taken['Arrow'] / seconds:.2f} of the rate of an Arrow table"
        yield Row("forms", "TEXT", form, len(offers) / seconds, "events/s", note)


def _command(engine: tocsin.Engine, offers: list[dict[str, Any]]) -> Iterator[Row]:
    """`tocsin match INDEX offers.csv --out matches.csv` without its start, by the call on a table in memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine.save(folder / "index")
        for file, chosen in (("all.csv", offers), ("one.csv", offers[:1])):
            with (folder / file).open("w", encoding="utf-8", newline="") as out:
                writer = csv.DictWriter(out, saved_searches.COLUMNS)
                writer.writeheader()
                writer.writerows(chosen)
        table = pa.Table.from_pylist(offers)
        call = _median(lambda: engine.match_batch(table))
        whole, start = (_median(lambda file=file: _match(folder, file)) for file in ("all.csv", "one.csv"))
    note = f"{(whole - start) / call:.2f} times the call on a table; its start, {start:.2f} s, is not counted"
    yield Row("command", "TEXT", "tocsin match", len(offers) / (whole - start), "events/s", note)


def _match(folder: Path, file: str) -> None:
    command = [sys.executable, "-m", "tocsin", "match", "index", file, "--out", "matches.csv", "--no-warnings"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


_LOADER = """
import ctypes, gc, random, sys, tocsin
draw = random.Random(1)
def load(count):
    texts = (f"model = 'm{draw.randint(1, 999)}' AND price <= {draw.randint(1, 999)}" for _ in range(count))
    engine = tocsin.Engine()
    engine.subscribe_many({"id": f"s{i:07}", "where": text} for i, text in enumerate(texts))
    engine.match_batch([{"model": "m1", "price": 3}] * 10)
    return engine
def resident():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(open("/proc/self/statm").read().split()[1]) * 4096
first = load(int(sys.argv[1]))
before = resident()
second = load(int(sys.argv[1]))
print(resident() - before)
"""


def _memory(count: int) -> Row:
    """What a process grows by for each text, with an id of 8 characters, 31 of text, and the index.

    The second engine of two is measured, because a process grows by some 25 MB in its first load.
    """
    shown = subprocess.run([sys.executable, "-c", _LOADER, str(count)], capture_output=True, text=True, check=True)
    return Row("memory", "texts", "resident, with the index", int(shown.stdout) / count, "bytes", "each")


def _median(work: Callable[[], object], times: int = _ROUNDS) -> float:
    """The median wall time of several calls, after one that warms up."""
    work()
    return statistics.median(wall_seconds(work) for _ in range(times))
