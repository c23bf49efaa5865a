"""TEXT asks for words, and for phrases in double quotes; what is no such thing is refused with what to write."""

from __future__ import annotations

import pytest

import tocsin
from tocsin.language import evaluate, to_text
from tocsin.language.keywords import Keywords, keywords_of
from tocsin.language.operators.text import settled
from tocsin.model.texts import Text

REFUSED = {
    "TEXT(title, '')": "'' has no word",
    "TEXT(title, ' ?! ')": "has no word",
    "TEXT(title, '🍣')": "has no word",
    "TEXT(title, '\"\"')": "has no word",
    "TEXT(title, 'the of', 'english drop_stop_words')": "only stop words of english",
    "TEXT(title, 'a \"b')": "a phrase ends in double quotes",
    "TEXT(title, 'seafood -cheap')": "'-cheap': write NOT TEXT",
    "TEXT(title, 'paris|lyon')": "'paris|lyon': write TEXT(...) OR TEXT(...) for one word or another",
    "TEXT(title, 'sea*')": "'sea*': TEXT asks for whole words",
    "TEXT(title, '*food')": "'*food': TEXT asks for whole words",
    "TEXT(title, 'NOT cheap')": "'NOT': write NOT TEXT(...) for words that a text must not have; to ask for",
    "TEXT(title, '!cheap')": "'!cheap': write NOT TEXT(...)",
    "TEXT(title, 'pizza -\"new york\"')": "'-\"...\"': write NOT TEXT(...)",
    "TEXT(title, 'paris OR lyon')": "'OR': write TEXT(...) OR TEXT(...) for one word or another; to ask for the",
    'TEXT(title, \'"a b"OR"c d"\')': "one word or another",
    "TEXT(title, 'paris AND lyon')": "'AND': TEXT always asks for all words; leave it out",
    "TEXT(title, 'lyon~2')": "'lyon~2': TEXT asks for words as they are written",
    "TEXT(title, '\"new york\"~2')": "'\"...\"~2': TEXT asks for words as they are written",
    "TEXT(title, 'lyon^2 paris')": "'lyon^2': TEXT asks for words as they are written",
    "TEXT(title, 'body:lyon')": "'body:lyon': TEXT looks for words in its first argument",
    "TEXT(title, 'body:\"new york\"')": "TEXT looks for words in its first argument",
    "TEXT(title)": "TEXT takes two or three arguments",
    "TEXT(title, 'a', 'plain', 'b')": "not 4",
    "TEXT('a', 'a')": "TEXT needs an attribute, whose case it folds itself, not the string 'a'",
    "TEXT(CASEI(title), 'a')": "not the result of CASEI",
    "TEXT(title, 5)": "TEXT needs words in single quotes",
    "TEXT(title, words)": "not the attribute words",
    "TEXT(title, 'a', 'klingon stem')": "no stems for the language 'klingon'",
    "TEXT(title, 'a', '')": "is not a way to make words",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    """Says what came, and what to write."""
    with pytest.raises(tocsin.ExpressionError) as refused:
        tocsin.parse(text)

    assert REFUSED[text] in str(refused.value)


@pytest.mark.parametrize(
    ("query", "words", "phrases"),
    [
        ("Fresh, fresh SEAFOOD", ("fresh", "seafood"), ()),
        ('a "New  York" b', ("a", "new", "york", "b"), (("new", "york"),)),
        ('"one"', ("one",), ()),
        ("wi-fi - red & blue", ("wi", "fi", "red", "blue"), ()),
        (
            "+paris not or, C++ at 3:00 re: 10^6 ~5",
            ("paris", "not", "or", "c", "at", "3", "00", "re", "10", "6", "5"),
            (),
        ),
        ('"NOT a" "b:c*"', ("not", "a", "b:c"), (("not", "a"),)),
        ("x" * 100_000, ("x" * 100_000,), ()),
        ("寿司 bar", ("寿", "司", "bar"), (("寿", "司"),)),
        ("café 寿", ("cafe", "寿"), ()),
    ],
)
def test_what_is_asked_for(query: str, words: tuple, phrases: tuple) -> None:
    """Words once each, phrases of two words or more; letters that stand alone are words side by side."""
    assert keywords_of(query, Text()) == Keywords(words, phrases)


TRUTHS = {
    "TEXT(title, 'york new')": True,
    "TEXT(title, '\"york new\"')": False,
    "TEXT(title, '\"new york\" pizza')": True,
    "TEXT(title, 'pizz')": False,
    "TEXT(title, 'pizzas')": False,
    "TEXT(title, 'pizzas', 'english stem')": True,
    "TEXT(title, '\"in york\"')": False,
    "TEXT(title, '\"pizza york\"', 'english drop_stop_words')": False,
    "TEXT(title, '\"pizza new\"', 'english drop_stop_words')": True,
    "TEXT(title, 'pate', 'keep_accents')": False,
    "TEXT(title, 'pate')": True,
    "TEXT(empty, 'a')": False,
    "NOT TEXT(empty, 'a')": True,
    "TEXT(gone, 'a')": None,
    "NOT TEXT(number, 'a')": None,
    "TEXT(tags, 'deep dish')": True,
    "TEXT(tags, '\"deep dish\"')": True,
    "TEXT(tags, '\"dish thin\"')": False,
    "TEXT(title, '100% a_b')": True,
    "TEXT(title, '\"a_b 100\"')": True,
    "TEXT(title, '\"axb 100\"')": False,
    "TEXT(title, 'pizza') = TRUE": True,
    "TEXT(title, 'sushi') OR TEXT(title, 'pizza')": True,
}
EVENT = {
    "title": "Pizza in NEW York: pâté, a_b 100% axb",
    "empty": "",
    "number": 5.0,
    "tags": ("Deep dish", "thin", 3.0),
}


@pytest.mark.parametrize("text", TRUTHS)
def test_truths(text: str) -> None:
    """By the evaluator, and by what is compiled."""
    event = {name: list(value) if isinstance(value, tuple) else value for name, value in EVENT.items()}
    answers = [tocsin.match([{"id": 1, "where": text}], [event], index=index) for index in ("access", "scan")]

    assert evaluate(tocsin.parse(text), EVENT) is TRUTHS[text]
    assert [one.stats.matches for one in answers] == [TRUTHS[text] is True] * 2


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("TEXT(title, 'pizza sushi')", "title with 'sushi' too"),
        ("TEXT(title, '\"york new\"')", "title with 'york new' side by side"),
        ("TEXT(number, 'a')", "a text with 'a'"),
        ("TEXT(gone, 'a b')", "gone with 'a', 'b'"),
        ("NOT TEXT(title, 'pizza')", "title present, without 'pizza'"),
        ("NOT TEXT(title, 'new york')", "title present, without at least one of 'new', 'york'"),
    ],
)
def test_what_was_missing(text: str, needed: str) -> None:
    """Is told, word by word, then by phrase."""
    (finding,) = tocsin.explain(text, {"title": "Pizza in New York", "number": 5}).failed

    assert finding.needed == needed


def test_settings_of_an_attribute_are_put_into_its_texts() -> None:
    """Also within lists; those that a TEXT says itself stay."""
    texts = {"a": Text("english", stem=True), "b.c": Text(keep_accents=True)}
    tree = tocsin.parse(
        "TEXT(a, 'x') AND TEXT(a, 'x', 'plain') AND ANY(b, NOT TEXT(c, 'y') AND d = 1) AND TEXT(e, 'z')"
    )

    assert to_text(settled(tree, texts)) == (
        "TEXT(a, 'x', 'english stem') AND TEXT(a, 'x', 'plain') AND "
        "ANY(b, NOT TEXT(c, 'y', 'keep_accents') AND d = 1) AND TEXT(e, 'z')"
    )
