"""How words are made is said by settings, which are words themselves."""

from __future__ import annotations

import sys

import pytest

import tocsin
from tocsin.model.texts import Text, analyzer_of, text_type, texts_in


@pytest.mark.parametrize(
    "settings",
    [
        Text(),
        Text(keep_accents=True),
        Text("english", stem=True),
        Text("french", drop_stop_words=True, keep_accents=True),
        Text("russian", stem=True, drop_stop_words=True),
    ],
    ids=str,
)
def test_settings_are_words(settings: Text) -> None:
    """That say the same again."""
    assert Text.of(str(settings)) == settings


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"language": "english"}, "changes nothing without stem or drop_stop_words"),
        ({"stem": True}, "need a language"),
        ({"language": "klingon", "stem": True}, "no stems for the language 'klingon'"),
        ({"language": "klingon", "drop_stop_words": True}, "no stop words for the language"),
        ({"language": "English", "stem": True}, "in small letters"),
        ({"language": 5, "stem": True}, "language is 5"),
        ({"stem": "yes"}, "stem is 'yes'; it is True or False"),
    ],
)
def test_settings_that_make_no_sense(given: dict, reason: str) -> None:
    """Say what came, and what would do."""
    with pytest.raises(tocsin.InvalidInput, match=reason):
        Text(**given)


@pytest.mark.parametrize("settings", ["", " ", "english french stem", "stem stem english", "plain stem"])
def test_words_that_say_no_settings(settings: str) -> None:
    """Are refused."""
    with pytest.raises(tocsin.InvalidInput):
        Text.of(settings)


def test_types_of_a_schema() -> None:
    """That are texts, and those that are not."""
    stems = Text("english", stem=True)

    assert text_type("text") == Text() and text_type("text english stem") == text_type(stems) == stems
    assert text_type("string") is None and text_type(5) is None
    assert texts_in({"a": "text", "b": "number", "c": stems}) == {"a": Text(), "c": stems}


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain words need none; of a language it is said what to install, once in a subscription's error."""
    analyzer_of.cache_clear()
    monkeypatch.setitem(sys.modules, "tantivy", None)

    assert tocsin.match([{"id": 1, "where": "TEXT(a, 'b')"}], [{"a": "B!"}]).stats.matches == 1
    with pytest.raises(tocsin.MissingExtra, match=r"pip install 'tocsin\[text\]'"):
        Text("english", stem=True)
    with pytest.raises(tocsin.UnsupportedError, match=r"pip install 'tocsin\[text\]'"):
        tocsin.parse("TEXT(a, 'b', 'english stem')")
