"""The patterns found through an automaton are those that each text fits, tried one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tocsin.columns.arrays import Texts
from tocsin.columns.binding import Binder
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.patterns import PatternFinder
from tocsin.columns.expressions.pools import like_text, like_tokens
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.kernels.text.automaton import build_automaton, find_literals
from tocsin.language import parse
from tocsin.language.regexes import regex_literal, regex_matches, regex_problem, search_of_few
from tocsin.language.strings import ends_in_escape, like_matches
from tocsin.model.expression import Attribute, Call, Constant, Like

LETTERS = st.text("abé%_\\", max_size=6)
TEXTS = st.text("abAé\n-1", max_size=12)
_PARTS = ["a", "b", "é", "-", "1", "(a|b)", "[ab]", "b*", "a+", "(?:ba)?", ".", "a{2}", "^", "$", r"\n", r"(?:\n?\z)"]
REGEXES = st.one_of(
    st.text("ab(|)*+?.^$[]{}1,\\d:é", max_size=8),
    st.tuples(
        st.sampled_from(["", "", "(?i)", "(?s)", "(?mi)"]),
        st.lists(st.sampled_from(_PARTS), max_size=6).map("".join),
    ).map("".join),
)


def _finder(patterns: list[str], regexes: list[str]) -> tuple[PatternFinder, list[tuple[str, int]]]:
    expressions = [Like(Attribute("s"), Constant(pattern)) for pattern in patterns]
    calls = [Call("MATCHES", (Attribute("s"), Constant(regex))) for regex in regexes]
    compiled = compile_expressions([*expressions, *calls])
    return PatternFinder(compiled), compiled.regexes


@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=12), TEXTS)
@example(["a", "aa", "aaa", "ab", "b", "a"], "aaab")
def test_the_automaton_finds_every_literal(literals: list[str], text: str) -> None:
    whole = Texts.of(literals)
    automaton = build_automaton(whole.starts, whole.data)
    out = np.empty(len(literals), np.int32)
    data = np.frombuffer(text.encode(), np.uint8)
    count = find_literals(automaton, data, np.zeros(len(literals), np.int64), 1, out)
    assert sorted(out[:count].tolist()) == [i for i, literal in enumerate(literals) if literal in text]


def test_literals_whose_nodes_exceed_the_table_of_moves() -> None:
    """The nodes near the root have a table of moves; the others are reached by their children and failures."""
    random = Random(5)
    literals = sorted({"".join(random.choices("abc", k=random.randint(1, 9))) for _ in range(3_000)})
    whole = Texts.of(literals)
    automaton = build_automaton(whole.starts, whole.data)
    assert len(automaton.edges) > 2 * len(automaton.moves)
    stamps, out = np.zeros(len(literals), np.int64), np.empty(len(literals), np.int32)
    for stamp in range(1, 40):
        text = "".join(random.choices("abcd", [9, 9, 9, 1], k=60))
        count = find_literals(automaton, np.frombuffer(text.encode(), np.uint8), stamps, stamp, out)
        assert sorted(out[:count].tolist()) == [i for i, literal in enumerate(literals) if literal in text]


@given(REGEXES, TEXTS)
@example("(?i)k", "\u212a")
@example("(?i)s", "ſ")
@example(r"\w", "é")
@example("[^a]", "é")
def test_a_search_that_stays_compiled_finds_what_arrow_finds(regex: str, text: str) -> None:
    search = search_of_few(regex)
    if search is None:
        assert regex_problem(regex) is not None or not regex.isascii()
    else:
        assert (search(text.encode()) is not None) == regex_matches(regex, text)


@pytest.mark.parametrize("regex", [r"\p{Lu}", r"\PL", r"(?i)\x{e9}", "(?i)é", "a("])
def test_arrow_alone_decides_what_depends_on_tables_of_unicode(regex: str) -> None:
    assert search_of_few(regex) is None


@given(REGEXES, TEXTS)
@example("a{,5}b", "a{,5}b")
@example("[]a]b", "]b")
@example("a|", "")
@example("(?i)ab", "AB")
def test_what_a_regular_expression_is_found_in_holds_its_literal(regex: str, text: str) -> None:
    if regex_problem(regex) is None and regex_matches(regex, text):
        assert regex_literal(regex) in text


@pytest.mark.parametrize(
    ("regex", "literal"),
    [
        (r"^GA-\d+[a-f]*\.pdf$", ".pdf"),
        ("abc", "abc"),
        ("ab|cd", ""),
        ("(ab|cd)efg", "efg"),
        ("colou?r", "colo"),
        ("xy{0}z", "x"),
        ("xy{,3}", "xy{,3}"),
        ("é+ü", "é"),
        (r"\Qa.b\E", ""),
        (r"\pLab", ""),
        (r"a\x41b", ""),
        ("(?s)ab", "ab"),
        ("(?s-i)ab", ""),
        ("a(?i)b", ""),
        (r"(?i)^C:\\Users\\k-12\b", "-12"),
        ("(?i)k1?_é2", "_"),
        (r"\.tmp(?:\n?\z)", ".tmp"),
        (r"a\tb\r\n+", "a\tb\r\n"),
        ("(?P<n>a)bc", "bc"),
        ("[[:alpha:]]ab[^]b]", "ab"),
        (".*", ""),
    ],
)
def test_literals_of_regular_expressions(regex: str, literal: str) -> None:
    assert regex_literal(regex) == literal


@given(st.lists(LETTERS, max_size=8), st.lists(REGEXES, max_size=4), st.lists(TEXTS, min_size=1, max_size=8))
def test_the_finder_finds_what_fits(patterns: list[str], regexes: list[str], texts: list[str]) -> None:
    patterns = sorted({pattern for pattern in patterns if not ends_in_escape(pattern)})
    regexes = sorted({regex for regex in regexes if regex_problem(regex) is None})
    finder, known = _finder(patterns, regexes)
    tokens = [like_tokens(pattern) for pattern in patterns]
    distinct = sorted(set(tokens), key=tokens.index)
    fits = finder.find(Texts.of(texts), len(texts), known)
    one_by_one = finder.find(Texts.of(texts), len(texts), known, [frozenset(range(len(known)))] * len(texts))
    assert [column.tolist() for column in one_by_one] == [column.tolist() for column in fits]
    for number, text in enumerate(texts):
        found = fits.patterns[fits.starts[number] : fits.starts[number + 1]].tolist()
        expected = [2 * p for p, one in enumerate(distinct) if finder.listed[p] and like_matches(like_text(one), text)]
        expected += [2 * r + 1 for r, regex in enumerate(regexes) if regex_matches(regex, text)]
        assert found == sorted(expected)


def test_output_that_grows() -> None:
    """More fits than there is room for at first."""
    patterns = [f"%{'a' * k}%" for k in range(1, 60)]
    finder, known = _finder(patterns, [])
    texts = ["a" * 70] * 20
    fits = finder.find(Texts.of(texts), len(texts), known)
    assert np.diff(fits.starts).tolist() == [59] * 20
    assert fits.patterns[:59].tolist() == list(range(0, 118, 2))


def test_regular_expressions_that_came_later_are_tried_too() -> None:
    finder, known = _finder(["a%"], ["b+c"])
    fits = finder.find(Texts.of(["abc", "c", "bc"]), 3, [*known, ("c$", 0)])
    assert fits.starts.tolist() == [0, 3, 4, 6]
    assert fits.patterns.tolist() == [0, 1, 3, 3, 1, 3]


def test_regular_expressions_that_nobody_asks_about_are_left_out() -> None:
    """Neither those with a literal nor those without are tried, and a pattern of LIKE is found all the same."""
    finder, known = _finder(["%b%"], ["bc", "(b|c)", "c"])
    for asked in (np.array([False, False, True]), [frozenset([2])]):
        assert finder.find(Texts.of(["abc"]), 1, known, asked).patterns.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"s": "a", "t": "x"}, {"a+"}),
        ({"s": "x", "t": "a"}, {"(a|b)"}),
        ({"s": "a", "t": "a"}, {"a+", "(a|b)"}),
        ({"t": "BA"}, {"b[a-c]"}),
        ({"u": "a"}, set()),
        ({"s": ["x"], "t": "a"}, {"a+", "(a|b)"}),  # with a list, all are tried that any attribute asks for
    ],
)
def test_regular_expressions_are_tried_on_the_strings_they_are_asked_of(
    event: dict[str, Any], expected: set[str]
) -> None:
    """An event's string is not searched for what only another attribute's conditions ask."""
    trees = map(parse, ["MATCHES(s, 'a+')", "MATCHES(t, '(a|b)')", "MATCHES(CASEI(t), 'b[a-c]')", "u = 'a'"])
    compiled = compile_expressions([*trees])
    batch = encode_objects([(0, event)], Wanted(compiled.attributes))
    fits = Binder(compiled).bind(batch).fits.tolist()
    assert {compiled.regexes[number >> 1][0] for number in fits if number & 1} == expected


def test_without_the_package_arrow_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    finder, known = _finder(["%b%"], ["b.?c", "(b|d)", "(?i)B"])
    texts, asked = ["abc", "d", "b"], [frozenset(range(3))] * 3
    expected = finder.find(Texts.of(texts), 3, known, asked)
    search_of_few.cache_clear()
    monkeypatch.setattr("tocsin.language.regexes._google_re2", lambda: None)
    found = finder.find(Texts.of(texts), 3, known, asked)
    search_of_few.cache_clear()
    assert [column.tolist() for column in found] == [column.tolist() for column in expected]
    assert found.patterns.tolist() == [0, 1, 3, 5, 3, 0, 3, 5]
