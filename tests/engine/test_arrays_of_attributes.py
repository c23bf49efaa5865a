"""`A_CONTAINS(tags, ('new', kind))`: arrays of an event's own values, in every form, index and engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.naive import match as naive
from tocsin.index import registrations
from tocsin.language import parse, parse_json, to_json, to_text
from tocsin.language.operators.array import ARRAY_FUNCTIONS

EVENTS: list[dict[str, Any]] = [
    {"tags": ["new", "hat"], "kind": "hat"},
    {"tags": ["new"], "kind": "hat"},
    {"tags": ["new", "hat", 3], "kind": "hat", "n": 3},
    {"tags": ["hat"], "kind": ["hat"]},
    {"tags": ["new", "hat"]},
    {"tags": [], "kind": "hat", "n": 3},
    {"tags": "new", "kind": "new"},
    {"kind": "new", "n": 1, "used": True},
    {"tags": [True, 1], "n": 1, "used": True},
]
ASKED = {
    "A_CONTAINS(tags, ('new', kind))": [0, 2],
    "A_CONTAINS(('new', kind), tags)": [0, 1, 5],
    "A_CONTAINEDBY(tags, ('new', kind, n))": [2, 5],
    "NOT A_OVERLAPS(tags, (kind))": [1, 5],
    "A_OVERLAPS((n, kind), ('x', 3, kind))": [2, 5, 7],
    "A_EQUALS(tags, (used, n))": [8],
    "A_EQUALS(tags, (n))": [],
    "A_EQUALS((kind, kind), ('new', kind))": [6, 7],
    "A_CONTAINS(tags, (kind)) IS NULL": [3, 4, 6, 7, 8],
    "A_CONTAINS(('a', 'b'), (kind, 'a'))": [],
    "ANY(parts, A_CONTAINS(tags, (kind)))": [],
}
TABLES = [event for event in EVENTS if isinstance(event.get("kind"), str | None)]
"""Those that a table can have."""


def rows(answer: tocsin.Answer) -> list[int]:
    return answer.table["event"].to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("where", ASKED)
def test_what_it_means(where: str) -> None:
    """An array has no value where an attribute is absent, or no scalar; as the oracle says, too."""
    expected = naive.match([("x", parse(where))], EVENTS)

    for index in [one.name for one in registrations() if one.takes_all and one.question == "all matches"]:
        assert rows(tocsin.match([{"id": "x", "where": where}], EVENTS, index=index)) == ASKED[where]
    assert [row for row, _ in expected] == ASKED[where]


def test_of_elements() -> None:
    """A condition about elements may have arrays of their own values."""
    events = [{"parts": [{"tags": ["a"], "kind": "b"}, {"tags": ["b", "a"], "kind": "b"}]}, {"parts": [{"kind": "b"}]}]

    answer = tocsin.match([{"id": "x", "where": "ANY(parts, A_CONTAINS(tags, ('a', kind)))"}], events)

    assert rows(answer) == [0]


@pytest.mark.parametrize("form", ["dicts", "lines", "arrow", "maps"])
def test_every_form_and_engine(form: str, tmp_path: Path) -> None:
    """Segments, what came lately, what is loaded; one by one and in a batch."""
    events = TABLES if form in ("arrow", "maps") else EVENTS
    plain = [{k: v for k, v in one.items() if k != "tags" or isinstance(v, list)} for one in events]
    strings = [{**one, "tags": [*map(str, one["tags"])]} if "tags" in one else one for one in plain]
    source: Any = {
        "dicts": plain,
        "lines": "".join(json.dumps(one) + "\n" for one in plain).encode(),
        "arrow": pa.Table.from_pylist(strings, _SCHEMA) if form == "arrow" else None,
        "maps": strings,
    }[form]
    told = strings if form in ("arrow", "maps") else plain
    engine = tocsin.Engine()
    subscriptions = [(n, where) for n, where in enumerate(ASKED)]
    engine.subscribe_many([{"id": n, "where": where} for n, where in subscriptions[::2]])
    for n, where in subscriptions[1::2]:
        engine.subscribe(n, where)
    expected = naive.match([(n, parse(where)) for n, where in subscriptions], told)

    engine.save(tmp_path / "kept")
    for one in (engine, tocsin.Engine.load(tmp_path / "kept")):
        table = one.match_batch(source).table
        assert list(zip(*(table[name].to_pylist() for name in ("event", "subscription")), strict=True)) == expected
        alone = [(row, found.subscription) for row, event in enumerate(told) for found in one.match(event)]
        assert alone == expected


_SCHEMA = pa.schema([("tags", pa.list_(pa.string())), ("kind", pa.string()), ("n", pa.float64()), ("used", pa.bool_())])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(ARRAY_FUNCTIONS), st.lists(st.sampled_from(["a", "b", "'x'", "1", "TRUE"]), max_size=4)
        ),
        min_size=1,
        max_size=8,
    ),
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "l": st.lists(st.sampled_from(["x", "y", 1, True]), max_size=3),
                "a": st.sampled_from(["x", "y", 1, True, ["x"], [1.0, 2.0]]),
                "b": st.one_of(st.sampled_from(["x", 1]), st.builds(tocsin.Range, st.just(1), st.just(2))),
            },
        ),
        max_size=70,
    ),
    st.booleans(),
)
def test_as_the_oracle(asked: list[Any], events: list[dict[str, Any]], negated: bool) -> None:
    """Whatever is asked of whatever comes, in blocks of more than one."""
    texts = [f"{'NOT ' if negated else ''}{name}(l, ({', '.join(items)}))" for name, items in asked]

    answer = tocsin.match([{"id": n, "where": text} for n, text in enumerate(texts)], events)

    expected = naive.match([(n, parse(text)) for n, text in enumerate(texts)], events)
    found = zip(answer.table["event"].to_pylist(), answer.table["subscription"].to_pylist(), strict=True)
    assert list(found) == expected


def test_text_and_json_are_one() -> None:
    """Both forms are read and written, an attribute of an awkward name among the elements."""
    tree = parse("""A_OVERLAPS(l, ('x', "a b", c.d))""")

    assert parse(to_text(tree)) == tree == parse_json(to_json(tree))


def test_what_is_told() -> None:
    """An explanation counts an event's own values; what no event has is told of."""
    where = {"id": "x", "where": "A_CONTAINS(tags, ('new', knd))"}
    engine = tocsin.Engine()
    engine.subscribe(**where)

    told = str(engine.explain("x", {"tags": ["new"], "knd": "hat"}))

    assert "needed: tags with 'hat' too" in told
    assert "did you mean kind?" in tocsin.match([where], EVENTS).warnings[0].reason
    assert not tocsin.match([{"id": "x", "where": "A_CONTAINS(tags, ('new', kind))"}], EVENTS).warnings


def test_many_events() -> None:
    """Of several blocks, each by its own values."""
    words = [f"w{n % 7}" for n in range(500)]
    events = [{"l": [words[n], words[n // 3]], "a": words[n // 5], "b": words[n]} for n in range(500)]

    answer = tocsin.match([{"id": "x", "where": "A_EQUALS(l, (a, b))"}], events)

    assert rows(answer) == [n for n, e in enumerate(events) if set(e["l"]) == {e["a"], e["b"]}]
    assert len(rows(answer)) > 50


@pytest.mark.parametrize("name", ["A_CONTAINS", "A_OVERLAPS"])
def test_constants_beside_an_attribute_are_found_by_an_index(name: str) -> None:
    """However many there are: of an event one array is made, and few subscriptions are looked at."""
    engine = tocsin.Engine()
    engine.subscribe_many({"id": n, "where": f"{name}(tags, ('w{n}', kind))"} for n in range(2000))

    answer = engine.match_batch([{"tags": ["w7", "hat"], "kind": "hat"}, {"tags": ["w7"], "kind": "cap"}])

    assert len(engine._store.wanted.arrays) == 1
    if name == "A_CONTAINS":
        assert rows(answer) == [0]
        assert answer.stats.candidates_examined < 10


def test_arrays_that_differ_are_made_a_chunk_at_a_time() -> None:
    """Of several attributes, with constants of every type, of more events and arrays than are sorted together."""
    texts = [f"A_CONTAINEDBY(l, (a, {k % 90}, 'w{k}', b))" for k in range(300)]
    texts += [f"A_EQUALS(l, (b, 'w{k}', TRUE, DATE('2024-01-0{1 + k % 9}')))" for k in range(50)]
    events = [{"l": [n % 90, f"w{n % 300}", n % 2 == 0], "a": n % 2 == 0, "b": f"x{n % 5}"} for n in range(1500)]

    answer = tocsin.match([{"id": n, "where": text} for n, text in enumerate(texts)], events)

    found = zip(answer.table["event"].to_pylist(), answer.table["subscription"].to_pylist(), strict=True)
    expected = [(n, k) for n in range(1500) for k in (n % 300,) if n % 90 == k % 90]
    assert list(found) == expected
