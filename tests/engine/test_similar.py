"""`Similar` as users meet it: one call, engines that change, every index that answers it, the command line."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.naive.similar import similar
from tests.naive.similar_examples import BOTH, WORKED, Worked
from tocsin.cli.main import main
from tocsin.errors import InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore:BBOX")  # which are as wide as chance has it
INDEXES = ("auto", "scan", "token_grid")


@pytest.mark.parametrize("worked", [one for one in WORKED if one.told != "a bad event"], ids=lambda one: one.told)
def test_worked_examples(worked: Worked):
    """What was worked out by hand comes out of one call."""
    subscriptions = [{"id": name, "where": text} for name, text in worked.subscriptions.items()]
    ranking = tocsin.Similar(worked.alpha, worked.threshold, worked.weights)

    answer = tocsin.match(subscriptions, [worked.event], ranking=ranking)

    assert [(row["subscription"], row["score"]) for row in answer] == worked.answer
    assert not worked.unanswered or answer.stats.unanswered == worked.unanswered


@given(
    expressions=st.lists(own.region_and_keywords(), min_size=1, max_size=10),
    events=st.lists(own.messages(), min_size=1, max_size=4),
    merged=st.integers(0, 10),
    gone=st.sets(st.integers(0, 9)),
)
def test_an_engine_that_changes_answers_like_the_oracle(expressions, events, merged, gone):
    """Some in a segment, some in the delta, some gone: as if built afresh."""
    engine = tocsin.Engine()
    for number, one in enumerate(expressions):
        if number == merged:
            engine.merge()
        engine.subscribe(number, tocsin.to_text(one))
    for number in gone & set(range(len(expressions))):
        engine.unsubscribe(number)
    there = [(number, one) for number, one in enumerate(expressions) if number not in gone]

    for event in events:
        found = engine.match(event, ranking=tocsin.Similar(0.5, 0.4))
        assert [(one.subscription, one.score) for one in found] == similar(there, event, 0.5, 0.4)[0]


@pytest.mark.parametrize("worked", [one for one in WORKED if one.told != "a bad event"], ids=lambda one: one.told)
def test_worked_examples_are_explained(worked: Worked):
    """The score to the last bit, whether it is enough, and which subscriptions have none."""
    ranking, expected = tocsin.Similar(worked.alpha, worked.threshold, worked.weights), dict(worked.answer)
    for name, text in worked.subscriptions.items():
        explanation = tocsin.explain(text, worked.event, ranking=ranking)

        assert explanation.matched == (name in expected)
        assert bool(explanation.failed) != (explanation.matched or explanation.score is None)
        assert not explanation.matched or explanation.score == expected[name]
    explained = [tocsin.explain(text, worked.event, ranking=ranking) for text in worked.subscriptions.values()]
    assert sum(one.score is None for one in explained) == worked.unanswered


@given(
    expressions=st.lists(st.one_of(own.region_and_keywords(), own.region_expressions()), min_size=1, max_size=6),
    event=own.messages(),
    alpha=st.sampled_from([0.0, 0.3, 1.0]),
    threshold=st.sampled_from([0.1, 0.5, 1.0]),
    weights=st.sampled_from([None, {"a": 3.0, "é": 0.1}, {"c": 1e308, "d": 1e308}]),
)
def test_explanations_agree_with_matches(expressions, event, alpha, threshold, weights):
    """Whoever is explained as similar enough is found, with that score, and nobody else."""
    ranking, engine = tocsin.Similar(alpha, threshold, weights), tocsin.Engine()
    engine.subscribe_many([{"id": number, "where": tocsin.to_text(one)} for number, one in enumerate(expressions)])
    explained = {number: engine.explain(number, event, ranking=ranking) for number in engine}

    found = engine.match(event, ranking=ranking)

    assert {one.subscription: one.score for one in found} == {
        number: one.score for number, one in explained.items() if one.matched
    }


def test_an_explanation_tells_both_parts():
    """Places, words with their weights, the sum against the threshold, and what is asked for besides."""
    where = "S_INTERSECTS(p, BBOX(0, 0, 4, 4)) AND A_CONTAINS(w, ('fresh', 'fish')) AND TEXT(t, '\"hot soup\"')"
    event = {"p": [2, 2, 4, 4], "w": ["fresh"], "x": 3}
    texts = [where.replace(" AND TEXT(t, '\"hot soup\"')", " AND x > 5"), where]

    told, another = (tocsin.explain(text, event, ranking=tocsin.Similar(0.5, 0.4, {"fresh": 3})) for text in texts)

    assert str(told).split("\n") == [
        "does not match",
        "  all of:",
        "    holds    0.5 * spatial + 0.5 * textual >= 0.4: 0.5 * 0.25 + 0.5 * 0.75 = 0.5",
        "      spatial  0.25 of S_INTERSECTS(p, BBOX(0, 0, 4, 4)): p = (2, 2, 4, 4), which overlaps it",
        "      textual  0.75 of A_CONTAINS(w, ('fresh', 'fish')): w has 'fresh' (3) and lacks 'fish' (1)",
        "    fails    x > 5: x = 3; needed: x > 5",
    ]
    assert (told.score, another.score) == (0.5, None)
    assert "has once a box for an attribute, and 2 times strings for a list" in str(another)


@pytest.mark.parametrize(
    "event", [{"t": "Hot soup, fresh fish"}, {"t": "Soup, hot: fish"}, {"t": ["fish", "hot soup"]}]
)
def test_texts_are_explained_by_their_words(event):
    """Of a text, or several, with phrases, in an engine that makes its words."""
    where = "S_INTERSECTS(p, BBOX(0, 0, 9, 9)) AND TEXT(t, 'fish \"hot soup\"') AND TEXT(t, 'fresh')"
    engine, ranking = tocsin.Engine(texts={"t": "text english stem"}), tocsin.Similar(0.0, 0.5)
    engine.subscribe("s", where)

    explained, found = engine.explain("s", event, ranking=ranking), engine.match(event, ranking=ranking)

    assert [one.score for one in found] == ([explained.score] if explained.matched else [])


def test_other_rankings_are_not_explained():
    """In words that say what is."""
    with pytest.raises(InvalidInput, match="explain takes only Similar"):
        tocsin.explain(BOTH, {}, ranking=tocsin.Top(3))


@pytest.mark.parametrize("index", INDEXES)
def test_every_form_of_events_and_every_index(index, tmp_path):
    """Dicts, Arrow, JSON lines, a saved engine: one answer."""
    random = np.random.default_rng(3)
    words = [[f"w{word}" for word in random.integers(0, 30, 6)] for _ in range(200)]
    places = random.uniform(0, 10, (200, 2)).tolist()
    table = pa.table({"p": places, "w": words})
    records = [{"p": place, "w": own_words} for place, own_words in zip(places, words, strict=True)]
    corners = random.uniform(0, 8, (500, 2)).tolist()
    subscriptions = [
        {"id": f"s{n}", "where": f"S_INTERSECTS(p, BBOX({x}, {y}, {x + 2}, {y + 2})) AND A_CONTAINS(w, {pair})"}
        for n, ((x, y), pair) in enumerate(
            zip(corners, ((f"w{a}", f"w{b}") for a, b in random.integers(0, 30, (500, 2))), strict=True)
        )
    ]
    ranking = tocsin.Similar(0.4, 0.7, tocsin.idf(table, "w"))
    engine = tocsin.Engine(index)
    engine.subscribe_many(subscriptions)
    engine.save(tmp_path / "saved")
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()

    expected = tocsin.match(subscriptions, records, ranking=ranking, index="scan").table.to_pylist()

    assert len(expected) > 100
    for one in (engine, tocsin.Engine.load(tmp_path / "saved")):
        for events in (table, records, lines):
            assert one.match_batch(events, ranking=ranking).table.to_pylist() == expected


def test_idf_counts_records():
    """A word counts once a record, whatever else it has; a record without any is one, too."""
    weights = tocsin.idf([{"w": ["a", "b", "a"]}, {"w": ["a"], "v": ["c"]}, {}, {"w": "b"}], "w")

    assert weights == {"a": np.log(1 + 4 / 2), "b": np.log(1 + 4 / 1)}
    with pytest.raises(InvalidInput, match="no record has a list of words under 'x'"):
        tocsin.idf([{"w": ["a"]}], "x")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((-0.1, 0.5), "alpha is -0.1; it must be a number from 0 to 1"),
        ((1.5, 0.5), "alpha is 1.5"),
        (("a", 0.5), "alpha is 'a'"),
        ((float("nan"), 0.5), "alpha is nan"),
        ((0.5, 0), "threshold is 0; it must be a number above 0, of at most 1"),
        ((0.5, 1.01), "threshold is 1.01"),
        ((0.5, 0.5, ["a"]), "give a mapping of words to numbers"),
        ((0.5, 0.5, {"a": 0}), "the weight of 'a' is 0; words weigh finite numbers above 0"),
        ((0.5, 0.5, {1: 1.0}), "the weight of 1 is 1.0"),
    ],
)
def test_what_is_out_of_range_is_refused(arguments, told):
    """In words that say what is allowed."""
    with pytest.raises(InvalidInput, match=told):
        tocsin.Similar(*arguments)


def test_on_the_command_line(tmp_path, capsys):
    """`--similar 0.5:0.6`, and a word for what is no such pair."""
    (tmp_path / "s.jsonl").write_text(json.dumps({"id": "s", "where": BOTH}) + "\n")
    (tmp_path / "e.jsonl").write_text('{"p": [5, 5], "w": ["a"]}\n')
    files = [str(tmp_path / "s.jsonl"), str(tmp_path / "e.jsonl")]

    assert main(["match", *files, "--similar", "0.5:0.6"]) == 0
    assert json.loads(capsys.readouterr().out) == {"event": 0, "subscription": "s", "score": 0.75}
    assert main(["explain", *files, "--similar", "0.5:0.6"]) == 0
    assert "0.5 * 1 + 0.5 * 0.5 = 0.75" in capsys.readouterr().out
    assert main(["match", *files, "--similar", "0.5"]) == 2
    assert "--similar: '0.5' is not ALPHA:THRESHOLD; write two numbers, such as 0.5:0.6" in capsys.readouterr().err


def test_the_words_of_a_text_are_keywords():
    """A TEXT is one condition, of however many words; what is asked beside it, a phrase too, must hold."""
    where = "S_INTERSECTS(p, BBOX(0, 0, 9, 9)) AND TEXT(t, '{}')"
    subscriptions = [{"id": text, "where": where.format(text)} for text in ("fresh fish soup", 'fish "hot soup"')]
    events = [{"p": [5, 5], "t": "Hot soup, fresh!"}, {"p": [50, 5], "t": "fish: fresh, soup: hot"}]

    answer = tocsin.match(subscriptions, events, ranking=tocsin.Similar(0.25, 0.4))

    assert [tuple(row.values()) for row in answer] == [
        (0, 'fish "hot soup"', 0.25 + 0.75 * (2 / 3)),
        (0, "fresh fish soup", 0.25 + 0.75 * (2 / 3)),
        (1, "fresh fish soup", 0.75),
    ]
    assert answer.stats.unanswered == 0
