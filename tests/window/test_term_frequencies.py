"""How often a word occurs in a message may count: the same answers from all structures, threads, files and stores."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tocsin
from tests.index.window.test_structures import SIZE, SMALL, TREE, stream
from tocsin.window.saving import MANIFEST

HERE: dict[str, Any] = {"location": (2, 5)}
BOX = (0, 0, 10, 10)


def repeated(seed: int = 3) -> list[dict[str, Any]]:
    """The messages of `stream`, in which words occur up to four times."""
    rng = np.random.default_rng(seed)
    return [
        {**record, "words": [word for word in record["words"] for _ in range(rng.integers(1, 5))]}
        for record in stream()[1]
    ]


def pushed(index: str, frequency: Any = "logarithm", threads: int = 1) -> list[dict[str, Any]]:
    """The changes over a structure, for words of different weights."""
    weights = {f"w{n}": 1.0 + (n % 7) / 3 for n in range(60)}
    window = tocsin.Window(
        SIZE, bounds=(0, 0, 1, 1), weights=weights, term_frequency=frequency, index=index, threads=threads
    )
    window.subscribe_many(stream()[0])
    return list(window.push_batch(repeated()))


@pytest.mark.parametrize(
    "index", [f"blocks({SMALL})", "blocks(policy=cost_skyband)", f"skype({TREE})", f"ciq({SMALL}, depth=2)"]
)
def test_every_structure_counts_occurrences(index: str) -> None:
    """Among hundreds of subscriptions, with more words than a record holds."""
    expected = pushed("inverted_file")

    assert pushed(index) == expected
    assert expected != pushed("inverted_file", "boolean")


def test_threads_count_occurrences() -> None:
    assert pushed("blocks", "natural", threads=2) == pushed("inverted_file", "natural")


@pytest.mark.parametrize(("frequency", "factor"), [("boolean", 1.0), ("natural", 3.0), ("logarithm", 1 + math.log(3))])
@pytest.mark.parametrize("form", ["words", "text", "batch"])
def test_a_frequent_word_weighs_more(frequency: Any, factor: float, form: str) -> None:
    """Equation 1 by hand: the message has "fish" three times and "chips" once, which weighs twice as much."""
    window = tocsin.Window(10, bounds=BOX, weights={"chips": 2.0}, term_frequency=frequency)
    window.subscribe("u1", words=["fish", "fish"], alpha=0, **HERE)
    words = ["fish", "chips", "fish", "fish"]
    if form == "batch":
        window.push_batch([{"words": words, **HERE}])
    elif form == "text":
        window.push(text=" ".join(words), **HERE)
    else:
        window.push(words=words, **HERE)

    assert window.results("u1") == [(0, pytest.approx(factor / math.hypot(factor, 2.0)))]


def test_an_explanation_has_the_score() -> None:
    """To the last bit, for many words of equal weight."""
    weights = {f"w{n}": 0.1 * (1 + n % 3) for n in range(60)}
    window = tocsin.Window(SIZE, bounds=(0, 0, 1, 1), weights=weights, term_frequency="logarithm")
    window.subscribe_many(stream()[0][:50])
    window.push_batch(repeated())

    for name in window:
        for rank, (message, score) in enumerate(window.results(name), 1):
            explanation = window.explain(name, message)
            assert (explanation.score, explanation.rank) == (score, rank)


def test_a_store_keeps_occurrences(tmp_path: Path) -> None:
    """A durable window is the same when it is opened again, and has no other term frequency."""
    options: dict[str, Any] = {"size": SIZE, "bounds": (0, 0, 1, 1), "term_frequency": "logarithm"}
    with tocsin.Window.open(tmp_path, **options) as window:
        window.subscribe_many(stream()[0][:50])
        window.push_batch(repeated()[:500])
        before = window.results_table()
    with tocsin.Window.open(tmp_path) as window:
        assert window.results_table().equals(before)
        assert window.term_frequency == "logarithm"
    with pytest.raises(tocsin.InvalidInput, match="term_frequency is 'natural'"):
        tocsin.Window.open(tmp_path, term_frequency="natural")


@pytest.mark.parametrize(("frequency", "version"), [("boolean", 1), ("natural", 2)])
def test_older_versions_refuse_only_windows_that_count(tmp_path: Path, frequency: Any, version: int) -> None:
    """A version that does not know term frequencies reads the others."""
    tocsin.Window(10, bounds=BOX, term_frequency=frequency).save(tmp_path)

    assert json.loads((tmp_path / MANIFEST).read_text())["version"] == version
    assert tocsin.Window.load(tmp_path).term_frequency == frequency


@pytest.mark.parametrize("frequency", ["tf-idf", None, 1, "NATURAL"])
def test_other_frequencies_are_refused(frequency: Any) -> None:
    with pytest.raises(tocsin.InvalidInput, match="must be one of: boolean, natural, logarithm"):
        tocsin.Window(10, bounds=BOX, term_frequency=frequency)
