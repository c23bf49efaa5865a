"""Texts are events as they are: in every form, index and engine the same words are found."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.naive.texts import text as has_words
from tests.strategies import pools
from tocsin.model.texts import Text

STEMS = Text("english", stem=True)
TITLES = ["Running SHOES", "a shoe to run in", "hat", "", None, "new York pizza", "york: new pizza", "Новый Йорк"]
ASKED = {
    "shoe": "TEXT(title, 'shoe')",
    "shoes": "TEXT(title, 'shoes running')",
    "phrase": "TEXT(title, '\"new york\" pizza')",
    "none": "NOT TEXT(title, 'shoe') AND NOT TEXT(title, 'pizza')",
    "either": "TEXT(title, 'hat') OR TEXT(title, 'йорк')",
    "stem": "TEXT(title, 'shoes run', 'english stem')",
    "list": "A_CONTAINS(title, ('shoe'))",
    "like": "title LIKE '%pizza'",
}
SUBSCRIPTIONS = [{"id": name, "where": where} for name, where in ASKED.items()]
EXPECTED = [
    ["none", "shoes", "stem"],
    ["shoe", "stem"],
    ["either", "none"],
    ["none"],
    [],
    ["like", "phrase"],
    ["like"],
    ["either", "none"],
]
"""What the titles match without a schema."""


def lists(answer: tocsin.Answer) -> list[list[str]]:
    return answer.table["subscription"].to_pylist()


def events() -> list[dict[str, str]]:
    return [{} if title is None else {"title": title} for title in TITLES]


def as_csv(path: Path) -> Path:
    text = io.StringIO("title,n\n")
    text.seek(0, 2)
    for title in TITLES:
        text.write(",1\n" if title is None else f'"{title}",1\n')
    path.write_text(text.getvalue(), "utf-8")
    assert len(list(csv.reader(io.StringIO(text.getvalue())))) == len(TITLES) + 1
    return path


def sources(folder: Path) -> dict[str, Any]:
    table = pa.table({"title": TITLES})
    pq.write_table(table, folder / "events.parquet")
    return {
        "dicts": events(),
        "lines": "".join(json.dumps(one) + "\n" for one in events()).encode(),
        "arrow": table,
        "dictionary": pa.table({"title": pa.array(TITLES).dictionary_encode()}),
        "parquet": folder / "events.parquet",
        "csv": as_csv(folder / "events.csv"),
    }


@pytest.mark.parametrize("form", ["dicts", "lines", "arrow", "dictionary", "parquet", "csv"])
def test_every_form(form: str, tmp_path: Path) -> None:
    """Of events has the same words."""
    source = sources(tmp_path)[form]

    assert lists(tocsin.match(SUBSCRIPTIONS, source, lists=True)) == EXPECTED
    assert lists(tocsin.match(SUBSCRIPTIONS, source, lists=True, index="scan")) == EXPECTED


@pytest.mark.parametrize("form", ["dicts", "lines", "arrow", "dictionary", "parquet", "csv"])
@pytest.mark.parametrize("kind", ["text english stem", STEMS], ids=str)
def test_a_schema_says_how_words_are_made(form: str, kind: Any, tmp_path: Path) -> None:
    """Of what TEXT asks for and of the attribute's own value, which is a list of words."""
    source = sources(tmp_path)[form]
    expected = [["list", "shoe", "shoes", "stem"]] * 2
    expected += [["either", "none"], ["none"], [], ["phrase"], [], ["either", "none"]]

    assert lists(tocsin.match(SUBSCRIPTIONS, source, lists=True, schema={"title": kind})) == expected


def test_an_engine_keeps_how_words_are_made(tmp_path: Path) -> None:
    """In each of its subscriptions, and for its events; also in a folder, from which another engine goes on."""
    engine = tocsin.Engine(texts={"title": STEMS})
    engine.subscribe_many(SUBSCRIPTIONS[:4])
    for one in SUBSCRIPTIONS[4:]:
        engine.subscribe(**one)
    expected = lists(tocsin.match(SUBSCRIPTIONS, events(), lists=True, schema={"title": STEMS}))
    engine.save(tmp_path / "kept")
    loaded = tocsin.Engine.load(tmp_path / "kept")

    for one in (engine, loaded):
        assert lists(one.match_batch(events(), lists=True)) == expected
        assert [[match.subscription for match in one.match(event)] for event in events()] == expected
    assert loaded.get("shoe")["where"] == "TEXT(title, 'shoe', 'english stem')"
    loaded.subscribe("later", "TEXT(title, 'hats')")
    assert [match.subscription for match in loaded.match({"title": "HAT"})] == ["either", "later", "none"]
    assert lists(tocsin.match(tmp_path / "kept", events(), lists=True))[:2] == [["shoe", "shoes", "stem"]] * 2


def test_texts_of_a_folder_are_what_they_are(tmp_path: Path) -> None:
    """Others are refused, further ones taken, and what was changed on disk is damage."""
    engine = tocsin.Engine(texts={"title": STEMS})
    engine.subscribe("a", "TEXT(title, 'a')")
    engine.save(tmp_path / "kept")

    with pytest.raises(tocsin.InvalidInput, match=r"'title' the type 'plain'.*saved with 'english stem'"):
        tocsin.Engine.load(tmp_path / "kept", texts={"title": "text"})
    more = tocsin.Engine.load(tmp_path / "kept", texts={"name": "text"})
    more.subscribe("b", "A_CONTAINS(name, ('ann'))")
    assert len(more.match({"name": "Ann B.", "title": "as"})) == 1
    with pytest.raises(tocsin.InvalidInput, match="texts gives 'title' the type 'number'; give a Text, or 'text'"):
        tocsin.Engine(texts={"title": "number"})


def test_a_schema_that_no_text_asks_for() -> None:
    """Is refused where subscriptions ask for words that are made in another way."""
    engine = tocsin.Engine()
    engine.subscribe("a", "TEXT(title, 'shoes')")

    with pytest.raises(tocsin.InvalidInput, match=r"'title' the type 'text english stem'.*words as 'plain'"):
        engine.match_batch(events(), schema={"title": STEMS})
    assert lists(engine.match_batch(events(), schema={"title": "text"}, lists=True))[0] == ["a"]


def test_what_is_no_text() -> None:
    """Is of no type where the schema says text, and told of; without one nobody knows."""
    asked = [{"id": "not", "where": "NOT TEXT(title, 'a')"}, {"id": "null", "where": "title IS NULL"}]
    given = [{"title": 5}, {"title": "b"}, {"title": ["b", "c d"]}]
    answer = tocsin.match(asked, given, schema={"title": "text"}, lists=True)

    assert lists(answer) == [[], ["not"], ["not"]]
    assert [(one.row, one.reason) for one in answer.event_errors] == [(0, "it is a number, but the schema says 'text'")]
    assert lists(tocsin.match(asked, given, lists=True)) == lists(answer)


def test_explain_says_what_an_engine_answers() -> None:
    """Of attributes whose value is their words, too."""
    engine = tocsin.Engine(texts={"title": STEMS})
    engine.subscribe_many(SUBSCRIPTIONS)

    for event in events():
        found = [match.subscription for match in engine.match(event)]
        assert sorted(one for one in ASKED if engine.explain(one, event).matched) == found


def test_notices_about_texts() -> None:
    """A misspelt attribute, and one that is no text, are told of; words of a schema are lists."""
    asked = [
        {"id": 1, "where": "TEXT(titel, 'a')"},
        {"id": 2, "where": "TEXT(n, 'a')"},
        {"id": 3, "where": "A_CONTAINS(title, ('a')) AND TEXT(title, 'b')"},
    ]
    given = [{"title": "a b", "n": 5}]

    told = [(one.attribute, one.reason) for one in tocsin.match(asked, given, schema={"title": "text"}).warnings]
    assert sorted(told) == [
        ("n", "every n that came is a number, never a text"),
        ("titel", "no event has titel; did you mean title?"),
    ]


@pytest.mark.parametrize("settings", ["plain", "english stem"])
def test_ten_thousand_words(settings: str) -> None:
    """Are asked for as a few are."""
    words = [f"word{number}x" for number in range(10_000)]
    engine = tocsin.Engine()
    engine.subscribe("all", f"TEXT(title, '{' '.join(words)}', '{settings}')")
    engine.merge()

    assert len(engine.match({"title": ", ".join(reversed(words))})) == 1
    assert len(engine.match({"title": " ".join(words[1:])})) == 0


def test_the_rarest_word_finds_a_text() -> None:
    """Wherever it stands: no more is looked at than for a set of the same words, of which the rarest is taken."""
    rng = random.Random(5)
    vocabulary = [f"w{number}" for number in range(3000)]
    weights = [1 / (number + 10) for number in range(3000)]
    drawn = [rng.choices(vocabulary, weights, k=3) for _ in range(3000)]
    given = [{"title": " ".join(rng.choices(vocabulary, weights, k=14))} for _ in range(300)]
    examined = {}
    for form in ("TEXT(title, '{} {} {}')", "A_CONTAINS(title, ('{}', '{}', '{}'))"):
        for sampled in (None, tocsin.sample(given), tocsin.sample(given, schema={"title": "text"})):
            engine = tocsin.Engine(statistics=sampled)
            engine.subscribe_many([{"id": n, "where": form.format(*words)} for n, words in enumerate(drawn)])
            stats = engine.match_batch(given, schema={"title": "text"}).stats
            examined.setdefault(form[:4], []).append(stats.candidates_examined)

    by_set, _, by_sampled_words = examined["A_CO"]
    assert examined["TEXT"][0] <= 1.1 * by_set
    assert max(examined["TEXT"][1:]) <= 1.1 * by_sampled_words


@given(
    texts=st.lists(st.one_of(st.sampled_from(pools.STRINGS + pools.TEXTS), st.text("aAbé '-", max_size=6)), max_size=6),
    queries=st.lists(st.sampled_from(pools.QUERIES), min_size=1, max_size=4),
)
def test_queries_of_as_many_words_are_compiled_alike(texts: list[str], queries: list[str]) -> None:
    """In bulk, one by one, and within other conditions, they find what the oracle says."""
    asked = [query.replace("'", "''") for query in queries]
    wheres = [
        where for query in asked for where in (f"TEXT(t, '{query}')", f"n = 1 AND NOT TEXT(t, '{query}', 'plain')")
    ]
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": number, "where": where} for number, where in enumerate(wheres)])
    for number, where in enumerate(wheres, len(wheres)):
        engine.subscribe(number, where)
    for one in texts:
        truths = [truth for query in queries for truth in (has_words(one, query), not has_words(one, query))]
        found = [match.subscription for match in engine.match({"t": one, "n": 1})]

        assert found == [number for number, truth in enumerate(truths * 2) if truth]


def test_conditions_on_the_string_that_became_words_are_warned_about() -> None:
    """With the type text, an attribute is a list of words: LIKE and = would be silent otherwise."""
    asked = ["title LIKE '%Bosch%'", "title = 'Bosch'", "TEXT(title, 'bosch')", "A_CONTAINS(title, ('bosch'))"]
    engine = tocsin.Engine(texts={"title": "text"})
    engine.subscribe_many([{"id": number, "where": where} for number, where in enumerate(asked)])

    answer = engine.match_batch([{"title": "Bosch motor"}])

    assert answer.table["subscription"].to_pylist() == [2, 3]
    (warning,) = answer.warnings
    assert (warning.subscriptions, warning.condition) == (2, asked[0])
    assert warning.reason.startswith("title has the type 'text', so that its value is a list of words")
