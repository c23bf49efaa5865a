"""DURATION: lengths of time as numbers of seconds."""

from __future__ import annotations

import pytest

from tocsin import Engine, RecordError, explain, parse, parse_json, to_json, to_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT1S", 1),
        ("P1DT2H", 93_600),
        ("P2W", 1_209_600),
        ("P1W1DT1H1M1S", 694_861),
        ("PT0.5S", 0.5),
        ("PT0,001S", 0.001),
        ("PT1.5H", 5400),
        ("P0D", 0),
        ("PT36H", 129_600),
    ],
)
def test_seconds(text: str, seconds: float) -> None:
    """A duration is the number of its seconds, in every place where a number may be."""
    engine = Engine()
    conditions = [f"wait = DURATION('{text}')", f"wait + 1 > DURATION('{text}') AND wait IN (DURATION('{text}'))"]
    for number, condition in enumerate(conditions):
        engine.subscribe(str(number), condition)
        tree = parse(condition)
        assert parse(to_text(tree)) == tree == parse_json(to_json(tree))
        assert explain(condition, {"wait": seconds}).matched

    assert [one.subscription for one in engine.match({"wait": seconds})] == ["0", "1"]
    assert not engine.match({"wait": seconds + 1})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((f"wait > DURATION('{one}')", "years or months, which have no fixed length") for one in ("P1M", "P1Y2DT1H")),
        *(
            (f"wait > DURATION('{one}')", "is not a length of time")
            for one in ("", "P", "PT", "P1DT", "1D", "P1.5DT2H", "PT1H1D", "-P1D", "P-1D", "PT1.S", "p1d", "P1D\n")
        ),
        ("wait > DURATION('P99999999999999D')", "too long"),
        ("wait > DURATION(5)", "needs a length of time in single quotes, not the number 5"),
        ("wait > DURATION()", "takes one argument"),
        ("DURATION('P1D')", "is not a condition"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    """What has no fixed length is refused, also in a text whose form is known already."""
    engine = Engine()
    engine.subscribe("known", "wait > DURATION('P1D')")
    with pytest.raises(RecordError, match=reason):
        engine.subscribe("s", text)


def test_events_hold_seconds() -> None:
    """A duration in an event is a string, not a number."""
    engine = Engine()
    engine.subscribe("s", "wait = DURATION('P1D')")
    assert not engine.match({"wait": "P1D"})
