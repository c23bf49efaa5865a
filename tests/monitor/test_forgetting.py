"""What is gone is forgotten: after a merge an engine is as large as one built from what it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin

ROUNDS, LIVE = 600, 40

KINDS = {
    "comparison": "name = 'n{i}' AND price < {i}",
    "attribute": "a{i} > 3",
    "set": "name IN ('a{i}', 'b{i}') AND price IN ({i}, {i}5)",
    "pattern": "name LIKE '%u{i}x%'",
    "regular expression": "MATCHES(name, 'u{i}.*x')",
    "folded": "CASEI(name) = CASEI('U{i}')",
    "array": "A_CONTAINS(tags, ('t{i}', {i}))",
    "array of attributes": "A_CONTAINS(tags, (b{i}, 'x'))",
    "arithmetic": "price * {i} + c{i} > {i}5",
    "two attributes": "d{i} < e{i}",
    "arithmetic is null": "(price * f{i}) IS NULL",
    "condition as value": "(price > {i}) = (g{i} < 3)",
    "instant": "seen > TIMESTAMP('2024-01-01T00:00:00Z') AND h{i} > DATE('2024-01-01')",
    "box": "S_INTERSECTS(place, BBOX({i}, 0, {i}.5, 1)) AND price > {i}",
    "polygon": "S_INTERSECTS(place, POLYGON(({i} 0, {i}.5 0, {i} 1, {i} 0)))",
    "two places": "S_WITHIN(place, j{i})",
    "circle": "DISTANCE_M(place, POINT(1.{i} 2)) <= {i}5",
    "text": "TEXT(title, 'w{i} \"x{i} y{i}\"')",
    "element": "ANY(items, sku = 'sku{i}' AND q > {i})",
    "element's attribute": "ANY(items, k{i} > 1)",
    "element of an element": "ANY(items, ANY(parts, code = 'p{i}' AND TEXT(t, 'w{i}')))",
    "NOT of an element": "NOT ANY(items, sku = 'sku{i}' OR m{i} IS NULL)",
}


def size_of(engine: tocsin.Engine, folder: Path) -> int:
    """Bytes of a saved engine."""
    engine.save(folder)
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_gone_is_forgotten(kind: str, tmp_path: Path) -> None:
    """After subscriptions came and went, a merged engine takes and asks about as much as one of those that stay.

    So it does when it is opened again, and it answers alike.
    """
    where = KINDS[kind]
    old, new = tocsin.Engine(delta_limit=64), tocsin.Engine()
    for i in range(ROUNDS):
        old.subscribe(i, where.format(i=i))
        if i >= LIVE:
            old.unsubscribe(i - LIVE)
    old.merge()
    new.subscribe_many([{"id": i, "where": where.format(i=i)} for i in range(ROUNDS - LIVE, ROUNDS)])
    new.merge()

    assert size_of(old, tmp_path / "old") <= 1.5 * size_of(new, tmp_path / "new") + 4096
    for engine in (old, tocsin.Engine.load(tmp_path / "old")):
        assert len(engine._store.wanted.ordered) <= 2 * len(new._store.wanted.ordered) + 64
        events = [{"items": [{"sku": f"sku{ROUNDS - 1}", "q": 1e9}], "name": f"u{ROUNDS - 1}x", "price": 2.0}]
        assert engine.match_batch(events).table == new.match_batch(events).table


@pytest.mark.parametrize("seen", [0, 1, 90])
def test_what_is_merged_before_any_match_is_read_from_events(seen: int) -> None:
    """Some of the conditions were compiled for a match before, and the others are first compiled by the merge."""
    with tocsin.Engine() as engine:
        for number in range(100):
            if number == seen:
                assert engine.match({"a": 1}) == []
            engine.subscribe(number, f"n >= {number} AND a{number % 7} = 1")
        engine.unsubscribe(3)
        engine.merge()
        assert [one.subscription for one in engine.match({"n": 50, "a3": 1})] == [10, 17, 24, 31, 38, 45]
