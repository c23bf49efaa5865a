"""An engine over `opindex` answers alike before and after merging, saving and mapping back."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin

EVENTS = [{"a": k % 5, "b": k % 9, "s": f"x{k % 3}y"} for k in range(20)]


def test_answers_come_back(tmp_path: Path) -> None:
    """From the delta, from lists with four segments, from the same lists mapped, and merged again."""
    engine = tocsin.Engine("opindex(segments=4, signature_bits=8)")
    for number in range(60):
        engine.subscribe(f"s{number}", f"a = {number % 5} AND b >= {number % 7} AND (s LIKE 'x{number % 3}%' OR a = 1)")
    expected = engine.match_batch(EVENTS).table.to_pylist()
    engine.merge()
    engine.save(str(tmp_path / "saved"))

    loaded = tocsin.Engine.load(str(tmp_path / "saved"))

    assert len(expected) > 20
    assert loaded.match_batch(EVENTS).table == engine.match_batch(EVENTS).table
    assert engine.match_batch(EVENTS).table.to_pylist() == expected
    loaded.subscribe("more", "a = 1")
    loaded.merge()
    assert len(loaded.match_batch(EVENTS).table) == len(expected) + sum(event["a"] == 1 for event in EVENTS)
    assert loaded.stats.plan.asked == "opindex(segments=4, signature_bits=8)"
    assert "pivot" in str(loaded.explain("s1", EVENTS[0]).index)


def test_what_the_index_cannot_hold_is_refused_at_once() -> None:
    """By subscribe, before it is in the delta, and by subscribe_many; the message names the subscription."""
    engine = tocsin.Engine("opindex")
    engine.subscribe("good", "a = 1")
    with pytest.raises(tocsin.UnsuitableIndex, match=r"subscription 'bad': .*'auto' takes"):
        engine.subscribe("bad", "a IS NULL")
    with pytest.raises(tocsin.UnsuitableIndex, match="subscription 'worse'"):
        engine.subscribe_many([{"id": "fine", "where": "a = 1"}, {"id": "worse", "where": "a + b > 3"}])
    engine.merge()
    assert [match.subscription for match in engine.match({"a": 1})] == ["good"]


@pytest.mark.parametrize("where", ["CASEI(s) LIKE 'x%'", "MATCHES(ACCENTI(s), '^x')"])
def test_patterns_of_folded_text_come_back(where: str, tmp_path: Path) -> None:
    """LIKE and MATCHES of CASEI or ACCENTI are saved and mapped like any other."""
    engine = tocsin.Engine("opindex")
    engine.subscribe("one", where)
    engine.merge()
    engine.save(str(tmp_path / "saved"))

    loaded = tocsin.Engine.load(str(tmp_path / "saved"))

    assert [match.subscription for match in loaded.match({"s": "x1y"})] == ["one"]
