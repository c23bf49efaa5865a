"""Events with lines, polygons and collections: read in every form, and matched exactly under every index."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import fork_server
from tests.encoding import encoded
from tests.engine.test_places import GEOJSON, SHAPES, events, texts
from tests.naive import match as naive
from tests.naive.flatten import flatten
from tests.waiting import HANG_S
from tocsin.columns.arrays import frozen
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.boolean.scan import Scan
from tocsin.kernels import codes

LINE = "LINESTRING(-1 1, 9 1)"
AREA = "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))"
ASKED = [
    {"id": "box", "where": "S_INTERSECTS(p, BBOX(1, 0.5, 2, 2))"},
    {"id": "far", "where": "S_INTERSECTS(p, BBOX(5, 5, 6, 6))"},
    {"id": "not far", "where": "NOT S_INTERSECTS(p, BBOX(5, 5, 6, 6)) AND n = 1"},
    {"id": "crosses", "where": f"S_CROSSES(p, {AREA})"},
    {"id": "within", "where": "S_WITHIN(p, BBOX(-2, 0, 10, 2))"},
    {"id": "there", "where": "p IS NOT NULL"},
    {"id": "near", "where": "DISTANCE_M(p, POINT(0 1)) < 1000000"},
    {"id": "not near", "where": "NOT DISTANCE_M(p, POINT(0 1)) < 1000"},
    {"id": "both", "where": "S_TOUCHES(p, q)"},
]
OF_LINE = ["box", "crosses", "near", "not far", "there", "within"]


def subscriptions_of(answer: Any) -> list[str]:
    return sorted(row["subscription"] for row in answer.table.to_pylist())


@pytest.mark.parametrize("index", ["auto", "scan"])
def test_every_form_of_events(index: str, tmp_path: Any) -> None:
    """GeoJSON and well-known text and binary, as dicts, JSON lines, tables and Parquet, by schema or by itself."""
    line = shapely.from_wkt(LINE)
    geojson, wkb = json.loads(shapely.to_geojson(line)), shapely.to_wkb(line)
    table = pa.table({"p": pa.array([wkb], pa.binary()), "n": [1]})
    pq.write_table(table, tmp_path / "e.parquet")
    (tmp_path / "e.csv").write_text(f'p,n\n"{LINE}",1\n')
    schema = {"p": "geometry", "n": "number"}
    sources: list[tuple[Any, dict[str, Any]]] = [
        ([{"p": geojson, "n": 1}], {}),
        ([{"p": wkb, "n": 1}], {}),
        ([{"p": line, "n": 1}], {}),
        ([{"p": LINE, "n": 1}], {"schema": schema}),
        (json.dumps({"p": geojson, "n": 1}).encode(), {}),
        (json.dumps({"p": LINE, "n": 1}).encode(), {"schema": schema}),
        (table, {}),
        (pa.table({"p": pa.array([wkb], pa.large_binary()), "n": [1]}), {"schema": schema}),
        (pa.table({"p": pa.array([geojson]), "n": [1]}), {}),
        (tmp_path / "e.parquet", {}),
        (tmp_path / "e.csv", {"schema": schema}),
    ]

    for source, options in sources:
        assert subscriptions_of(tocsin.match(ASKED, source, index=index, **options)) == OF_LINE


@given(
    st.lists(texts(), min_size=1, max_size=8), events, st.sampled_from(["auto", "scan", "tiles", "opindex", "be_tree"])
)
def test_under_any_index(asked: list[str], batch: list[Any], index: str) -> None:
    """Held for a while, merged, some gone; an index that cannot hold an expression says so."""
    engine = tocsin.Engine(index)
    try:
        engine.subscribe_many([{"id": number, "where": text} for number, text in enumerate(asked)])
    except tocsin.UnsuitableIndex:
        return
    engine.unsubscribe(0)
    expected = naive.match([(number, tocsin.parse(text)) for number, text in enumerate(asked)][1:], batch)

    for _ in range(2):
        answer = engine.match_batch(batch).table.to_pylist()
        assert [(row["event"], row["subscription"]) for row in answer] == expected
        engine.merge()


@given(st.lists(texts(), min_size=1, max_size=6), events)
def test_one_by_one_and_ranked(asked: list[str], batch: list[Any]) -> None:
    """A call for one event, the best of all, and any element of a list."""
    engine = tocsin.Engine()
    for number, text in enumerate(asked):
        engine.subscribe(number, text, score=number)
        engine.subscribe(100 + number, f"ANY(stops, {text})")
    trees = [(number, tocsin.parse(text)) for number, text in enumerate(asked)]

    for event in batch:
        expected = [number for _, number in naive.match(trees, [event])]
        of_stops = [100 + number for number in expected]
        assert [one.subscription for one in engine.match({**event, "stops": [event]})] == [*expected, *of_stops]
        best = engine.match(event, ranking=tocsin.Top(2))
        assert [one.subscription for one in best] == sorted(expected, reverse=True)[:2]


def test_relaxed_rankings_take_shapes() -> None:
    """A dimension that is a place holds of a shape as it does in a match."""
    held = [
        {"id": "both", "where": "S_INTERSECTS(p, BBOX(1, 0, 2, 2)) AND n = 1", "weights": {"p": 3, "n": 1}},
        {"id": "one", "where": "S_INTERSECTS(p, BBOX(5, 5, 6, 6)) AND n = 1", "weights": {"p": 3, "n": 1}},
    ]
    event = {"p": json.loads(shapely.to_geojson(shapely.from_wkt(LINE))), "n": 1}

    table = tocsin.match(held, [event], ranking=tocsin.Relaxed(2)).table

    assert [(row["subscription"], row["score"]) for row in table.to_pylist()] == [("both", 4.0), ("one", 1.0)]


def test_what_is_no_geometry_is_told_and_fails_no_batch() -> None:
    """Of each form what is wrong; the events are served without it."""
    bad_wkb = [
        shapely.to_wkb(shapely.from_wkt(text)) for text in ("POLYGON EMPTY", "POLYGON((0 0, 2 2, 2 0, 0 2, 0 0))")
    ]
    dicts = [
        {"p": {"type": "Polygon", "coordinates": [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]}, "n": 1},
        {"p": {"type": "LineString", "coordinates": "x"}, "n": 1},
        {"p": b"no geometry", "n": 1},
        {"p": shapely.Point(), "n": 1},
        {"p": {"type": "MultiPoint", "coordinates": [[1, 1], [float("inf"), 1]]}, "n": 1},
    ]
    asked = [{"id": 1, "where": "n = 1"}, {"id": 2, "where": "S_INTERSECTS(p, BBOX(-9, -9, 9, 9))"}]
    table = pa.table(
        {"p": pa.array([b"x", *bad_wkb, None, shapely.to_wkb(shapely.Point(1, 1))], pa.binary()), "n": [1] * 5}
    )

    for source, rows in ((dicts, range(5)), (table, range(3))):
        answer = tocsin.match(asked, source)
        assert [(one.row, one.field) for one in answer.event_errors] == [(row, "p") for row in rows]
        assert all("geometry" in one.reason and "Exception" not in one.reason for one in answer.event_errors)
        assert sum("it crosses itself at 1 1" in one.reason for one in answer.event_errors) == 1
        assert [row["event"] for row in answer.table.to_pylist() if row["subscription"] == 1] == list(range(5))
    assert [row["event"] for row in answer.table.to_pylist() if row["subscription"] == 2] == [4]


def test_without_shapely_they_are_of_no_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said what to install; points need none."""

    monkeypatch.setitem(sys.modules, "shapely", None)
    asked = [{"id": 1, "where": "S_INTERSECTS(p, BBOX(0, 0, 9, 9))"}]
    point = {"p": {"type": "Point", "coordinates": [1, 1]}}

    for source in ([{"p": GEOJSON[0]}, point], pa.table({"p": pa.array([b"x"], pa.binary())})):
        answer = tocsin.match(asked, source)
        assert "pip install 'tocsin[geo]'" in answer.event_errors[0].reason
    assert len(tocsin.match(asked, [{"p": GEOJSON[0]}, point])) == 1


def test_many_shapes_meet_many_boxes_as_shapely_says() -> None:
    """Lines of random walks and boxes of all sizes, one in ten of them a point or a line."""
    random = np.random.default_rng(8)
    walks = np.cumsum(random.normal(0, 1, (200, 12, 2)), axis=1)
    lines = shapely.linestrings(walks)
    corners = random.normal(0, 3, (3000, 2))
    sizes = random.exponential(1, (3000, 2)) * (random.random((3000, 2)) > 0.1)
    held = [
        {"id": n, "where": f"S_INTERSECTS(p, BBOX({x!r}, {y!r}, {x + w!r}, {y + h!r}))"}
        for n, ((x, y), (w, h)) in enumerate(zip(corners.tolist(), sizes.tolist(), strict=True))
    ]

    answer = tocsin.match(held, [{"p": json.loads(one)} for one in shapely.to_geojson(lines)])

    boxes = np.array([shapely.box(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners, sizes, strict=True)])
    event, box = np.nonzero(shapely.intersects(lines[:, None], boxes[None, :]))
    assert {(row["event"], row["subscription"]) for row in answer.table.to_pylist()} == set(
        zip(event.tolist(), box.tolist(), strict=True)
    )


def test_a_shape_is_explained() -> None:
    event = {"p": GEOJSON[0], "q": [9, 9]}
    for shape in SHAPES:
        text = f"S_INTERSECTS(p, {shape})"
        assert tocsin.explain(text, event).matched == bool(naive.match([(1, tocsin.parse(text))], [event]))
    assert flatten(event)[0]["p"] == tocsin.parse(f"S_WITHIN(x, {SHAPES[0]})").arguments[1].value  # type: ignore[union-attr]


@pytest.mark.parametrize("reversed_boxes", [False, True])
def test_boxes_in_any_order_are_met(reversed_boxes: bool) -> None:
    """Leaves are usually in the order of their boxes, and need not be; two leaves may have one box."""
    boxes = ["BBOX(0, 0, 1, 2)", "BBOX(5, 5, 6, 6)", "BBOX(2, 0.5, 3, 1)", "BBOX(-1, 1, -1, 1)"]
    whole = compile_expressions([tocsin.parse(f"NOT S_INTERSECTS(p, {box}) OR n = {k}") for k, box in enumerate(boxes)])
    if reversed_boxes:
        arrays = whole.arrays
        own = arrays.leaf_kinds == codes.INTERSECTS
        others = np.where(own, len(arrays.boxes) - 1 - arrays.leaf_others, arrays.leaf_others)
        changed = arrays._replace(boxes=frozen(arrays.boxes[::-1], np.float64), leaf_others=frozen(others, np.int32))
        whole = replace(whole, arrays=changed)
    line = json.loads(shapely.to_geojson(shapely.from_wkt(LINE)))

    found = Scan.build(whole).match(encoded([{"p": line}, {"p": [0, 0]}, {"q": line}], Wanted(whole.attributes)))

    assert list(zip(found.events.tolist(), found.subscriptions.tolist(), strict=True)) == [
        (0, 1),
        (1, 1),
        (1, 2),
        (1, 3),
    ]


MANY_THREADS = """
import threading
import numpy as np
import shapely
import tocsin

dice = np.random.default_rng(0)


def area(x, y):
    turns = np.sort(dice.uniform(0, 2 * np.pi, 40))
    radii = dice.uniform(0.5, 1.5, 40)
    return shapely.Polygon(np.column_stack([x + radii * np.cos(turns), y + radii * np.sin(turns)]))


asked = [
    {"id": f"{name} {number}", "where": f"{name}(p, {shapely.to_wkt(area(0, 0))})"}
    for name in ("S_TOUCHES", "S_INTERSECTS", "S_OVERLAPS", "S_WITHIN")
    for number in range(4)
]
shapes = [{"p": area(*dice.uniform(-1, 1, 2))} for _ in range(40)]
expected = tocsin.match(asked, shapes, threads=1).table
differ = []


def ask(engine, together):
    together.wait()
    if engine.match_batch(shapes, threads=1).table != expected:
        differ.append(engine)


for _ in range(40):
    with tocsin.Engine() as engine:
        engine.subscribe_many(asked)
        together = threading.Barrier(4)
        threads = [threading.Thread(target=ask, args=(engine, together)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
assert not differ
"""


def test_threads_that_ask_about_shapes_at_once_do_not_meet() -> None:
    """GEOS writes into a geometry that is prepared; two threads in one of these end the process, or worse."""
    ran = subprocess.run(
        [*fork_server.python(), "-c", MANY_THREADS], capture_output=True, text=True, timeout=HANG_S, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
