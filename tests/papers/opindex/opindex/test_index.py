"""`opindex` answers like `scan` and the oracle: every operator, both normal forms, any segments and signatures."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.index.asking import assert_alike, batch, compiled, pairs
from tests.naive import match as naive
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Found, parse_index
from tocsin.index.boolean.scan import Scan
from tocsin.index.statistics import Statistics
from tocsin.papers.opindex.opindex import OpIndexBuilder

OPTIONS = [(32, 64), (1, 0), (1, 64), (2, 1), (7, 3), (1024, 64), (5, 0)]

_numbers = st.integers(0, 4).map(str)
_texts = st.sampled_from(["", "a", "ab", "abc", "b", "ba", "é", "éa", "A", "aé"])
_quoted = _texts.map(lambda text: f"'{text}'")


def _predicates() -> st.SearchStrategy[str]:
    comparison = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    name = st.sampled_from(["a", "b", "c", "d"])
    several = st.lists(_numbers, min_size=1, max_size=4).map(", ".join)
    no = st.sampled_from(["", "NOT "])
    patterns = st.sampled_from(["%", "%a", "_%", "a%b", "%é%", "a", "__"])
    return st.one_of(
        st.builds("{} {} {}".format, name, comparison, _numbers),
        st.builds("{} {}IN ({})".format, name, no, several),
        st.builds("{} {}BETWEEN {} AND {}".format, name, no, _numbers, _numbers),
        st.builds("{} {} {}".format, st.sampled_from(["s", "t"]), comparison, _quoted),
        st.builds("{} {}LIKE '{}%'".format, st.sampled_from(["s", "t"]), no, _texts),
        st.builds("s {}LIKE '{}'".format, no, patterns),
        st.builds("CASEI(s) {}LIKE CASEI('{}%')".format, no, _texts),
        st.builds("{}MATCHES(s, '{}')".format, no, st.sampled_from(["^a", "b$", "é"])),
        st.builds("{} IS NOT NULL".format, st.sampled_from(["a", "s", "p"])),
        st.sampled_from(["p", "NOT p", "a = 'a'", "s = 1", "TRUE AND a = 1", "FALSE", "d IN (1, 'a', TRUE)"]),
    )


def _expressions() -> st.SearchStrategy[str]:
    def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        both = st.lists(parts, min_size=2, max_size=3)
        return st.one_of(
            both.map(lambda some: "(" + " AND ".join(some) + ")"),
            both.map(lambda some: "(" + " OR ".join(some) + ")"),
            parts.map("NOT ({})".format),
        )

    conjunctions = st.lists(_predicates(), min_size=1, max_size=4).map(" AND ".join)
    return st.one_of(conjunctions, st.recursive(_predicates(), joined, max_leaves=8))


_scalars = st.one_of(st.integers(0, 4), _texts, st.booleans())
_events = st.dictionaries(st.sampled_from("abcd"), st.one_of(st.integers(-1, 5), st.integers(0, 4), _scalars)).flatmap(
    lambda numbers: st.dictionaries(st.sampled_from("st"), st.one_of(_texts, _texts, _scalars)).flatmap(
        lambda texts: st.booleans().map(lambda flag: {**numbers, **texts, "p": flag})
    )
)


def asked(texts: list[str], events: list[dict], segments: int = 32, signature_bits: int = 64) -> Found:
    """What an index finds, once it is seen to find what `scan` finds."""
    expressions = compiled(texts)
    given_events = batch(expressions, events)
    found = OpIndexBuilder(segments, signature_bits).build(expressions).match(given_events)
    assert_alike(found, Scan.build(expressions).match(given_events))
    return found


def held(texts: list[str]) -> list[str]:
    """Those that an index takes."""
    while True:
        try:
            OpIndexBuilder().build(compiled(texts))
            return texts
        except tocsin.UnsuitableIndex as error:
            texts = texts[: error.number] + texts[error.number + 1 :]


@given(
    texts=st.lists(_expressions(), min_size=1, max_size=12),
    events=st.lists(_events, min_size=1, max_size=12),
    options=st.sampled_from(OPTIONS),
)
def test_answers_like_the_oracle_whatever_the_options(texts, events, options):
    """Operators, forms, segments and signatures change no answer."""
    texts = held(texts)
    expected = naive.match([(i, tocsin.parse(text)) for i, text in enumerate(texts)], events)

    assert pairs(asked(texts, events, *options)) == expected


@pytest.mark.parametrize("options", OPTIONS)
def test_signatures_lose_no_match(options):
    """Thousands of predicates in few segments and few bits: what a signature rules out does not match."""
    rng = random.Random(1)
    operators = ["=", "<=", ">=", "<", ">", "<>"]
    texts = [
        " AND ".join(
            f"a{k} {rng.choice(operators)} {rng.randrange(20)}" for k in rng.sample(range(60), rng.randint(1, 5))
        )
        for _ in range(3000)
    ]
    events = [{f"a{k}": rng.randrange(20) for k in rng.sample(range(60), 15)} for _ in range(100)]

    found = asked(texts, events, *options)

    assert len(found.subscriptions) > 1000


def test_every_value_has_its_order():
    """Numbers, strings, booleans and instants, strict and not, at their operands and beside them."""
    values = [
        "-1.5",
        "0",
        "2",
        "'a'",
        "'b'",
        "TRUE",
        "FALSE",
        "DATE('2024-05-31')",
        "TIMESTAMP('2024-05-31T08:15:00Z')",
    ]
    texts = [f"x {op} {value}" for value in values for op in ("=", "<>", "<", "<=", ">", ">=")]
    texts += [
        f"x {no}BETWEEN {values[i]} AND {values[j]}" for i, j in ((0, 2), (2, 0), (3, 4), (7, 7)) for no in ("", "NOT ")
    ]
    events = [{"x": x} for x in (-2, -1.5, -1, 0, 0.5, 2, 3, "", "a", "aa", "b", "c", True, False, [1], None)]
    events += [{"x": x} for x in ("2024-05-30", "2024-05-31", "2024-05-31T08:15:00Z", "2024-06-01")] + [{}]

    asked(texts, events)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = 1 AND b = 2", "counted in the lists of pivot a"),
        ("a = 1 OR b = 2", "counted in the lists of pivot a and of b"),
        ("a = 1 AND (b = 1 OR b = 2 OR c = 3) AND (b = 4 OR c = 5)", "its clauses noted in the lists of pivot a"),
        (
            "(a = 1 OR b = 1) AND (c = 1 OR d = 1) AND (a = 2 OR c = 2)",
            "its clauses noted in the lists of pivot a and of b",
        ),
        ("FALSE AND a = 1", "never satisfied"),
        ("a BETWEEN 5 AND 3", "never satisfied"),
        ("a IS NOT NULL", "counted in the lists of pivot a"),
    ],
)
def test_each_form_lies_where_it_should(text, place):
    """The form with fewer predicates is taken, under the attributes of its smallest clause (section 6.1)."""
    index = OpIndexBuilder().build(compiled([text]))

    assert index.place(0) == place
    assert sum(index.places().values()) == 1


def test_a_clause_of_between_is_multiplied_out():
    """In a clause, BETWEEN is two: one bit each."""
    texts = [
        "(a BETWEEN 1 AND 3 OR b = 1) AND (c = 1 OR d NOT BETWEEN 1 AND 3 OR a NOT IN (1, 2)) AND (b = 2 OR c = 2)"
    ]
    index = OpIndexBuilder().build(compiled(texts))
    events = [dict(zip("abcd", (i % 5, i // 5 % 4, i // 20 % 4, i // 80), strict=True)) for i in range(400)]

    assert "clauses noted" in index.place(0)
    assert len(asked(texts, events).subscriptions) > 10


def test_sixty_four_clauses_are_a_whole_bitmap():
    """As many clauses as a bitmap has bits."""
    text = " AND ".join(f"(a{k} = 1 OR b{k} = 1)" for k in range(64))
    whole = {f"{'ab'[k % 2]}{k}": 1 for k in range(64)}

    found = asked([text], [whole, {**whole, "b63": 2}, {**whole, "b63": 2, "a63": 1}])

    assert pairs(found) == [(0, 0), (2, 0)]


def test_prefixes_within_prefixes():
    """A string finds every prefix that it begins with, on its own attribute and through its own transform."""
    words = ["", "a", "ab", "abc", "abcd", "abd", "b", "é", "éa", "z" * 50, "z" * 49 + "a"]
    texts = [f"{name} LIKE '{word}%'" for name in ("s", "t") for word in words]
    texts += [f"CASEI(s) LIKE CASEI('{word}%') AND s IS NOT NULL" for word in words]
    events = [{"s": word + tail, "t": word} for word in words for tail in ("", "a", "B", "~")]
    events += [{"s": 1}, {"t": "abc"}, {}]

    found = asked(texts, events)

    assert len(found.subscriptions) > 200


def test_suffixes_within_suffixes():
    """A string finds every suffix that it ends with, beside its prefixes; letters of several bytes, and wildcards."""
    words = ["a", "ba", "cba", "dcba", "dba", "b", "é", "aé", "\N{PILE OF POO}é", "z" * 50, "a" + "z" * 49]
    texts = [f"{name} LIKE '%{word}'" for name in ("s", "t") for word in words]
    texts += [f"CASEI(s) LIKE CASEI('%{word}') AND s IS NOT NULL" for word in words]
    texts += ["s LIKE '%'", "s LIKE '_a'", "s LIKE '%b%'", "s LIKE 'c%a'", "s LIKE '%_'", "s LIKE 'a%' AND s LIKE '%a'"]
    texts += ["s NOT LIKE '%ba'", "t LIKE 'é%' OR t LIKE '%é'", r"s LIKE '%\%'"]
    events = [{"s": head + word, "t": word} for word in words for head in ("", "a", "B", "~", "é")]
    events += [{"s": 1}, {"s": ""}, {"t": "cba"}, {"s": "50 %"}, {}]

    found = asked(texts, events)

    assert len(found.subscriptions) > 200


def test_statistics_choose_the_pivot():
    """The attribute that fewest events have; without statistics, that fewest subscriptions name."""
    expressions = compiled(["a = 1 AND b = 1", "b = 2"])
    known = Statistics({"a": 0.9, "b": 0.1}, "given")

    assert OpIndexBuilder().build(expressions).place(0).endswith("pivot a")
    assert OpIndexBuilder().build(expressions, known).place(0).endswith("pivot b")


def test_an_index_that_is_opened_again_has_the_pivots_that_it_had():
    """The shares that chose them are saved; damaged ones are refused."""
    texts = ["a = 1 AND b = 2 AND c > 3", "b = 1 AND c = 2", "a = 4 AND A = 3"]
    expressions = compiled(texts)
    known = Statistics({"a": 0.9, "b": 0.5, "c": 0.01, "A": 0.8}, "given")
    index = OpIndexBuilder().build(expressions, known)

    again = OpIndexBuilder().load(index.arrays())

    assert [again.place(number) for number in range(3)] == [index.place(number) for number in range(3)]
    assert again.place(0) != OpIndexBuilder().build(expressions).place(0)
    assert again.arrays().keys() == index.arrays().keys()
    for shares in (np.array([0.5]), np.array([0.5, 2.0, 0.5, 0.5]), np.array([1, 1, 1, 1])):
        with pytest.raises(ValueError, match=r"attributes\.shares"):
            OpIndexBuilder().load({**index.arrays(), "attributes.shares": shares})


def test_options_are_given_by_name_and_checked():
    """As users write them; what is out of range is refused in words."""
    registration, options = parse_index("opindex(segments=4, signature_bits=16)")
    assert registration.builder(**options) == OpIndexBuilder(4, 16)
    for text in (
        "opindex(segments=0)",
        "opindex(segments=1025)",
        "opindex(signature_bits=65)",
        "opindex(signature_bits=-1)",
    ):
        registration, options = parse_index(text)
        with pytest.raises(tocsin.InvalidInput, match="1 to"):
            registration.builder(**options)
    with pytest.raises(tocsin.UnknownIndex, match=r"segments=32, signature_bits=64"):
        parse_index("opindex(bits=1)")


def test_sizes_of_a_large_build_are_linear():
    """No list is lost: entries are the predicates, counters the subscriptions."""
    texts = [f"a{k % 50} = {k} AND b >= {k} AND c IN ({k}, {k + 1})" for k in range(2000)]
    index = OpIndexBuilder().build(compile_expressions(map(tocsin.parse, texts)))

    assert len(index.lists.entries.keys) == 4 * 2000
    assert len(index.lists.counted.owners) == 2000
    assert index.lists.counted.needed.tolist() == [3] * 2000


@pytest.mark.parametrize("joined", [" OR ", " AND "])
def test_what_is_long_is_stored_once(joined: str) -> None:
    """An OR of thousands has as many clauses as terms, each under its own attribute; it answers like scan."""
    count = 3000
    texts = [joined.join(f"a{n} = {n % 3}" for n in range(count)), "a5 = 2 OR (a6 = 1 AND a7 = 0)"]
    expressions = compiled(texts)
    events = [{"a7": 1}, {"a7": 0}, {"a5": 2}, {f"a{n}": n % 3 for n in range(count)}]

    index = OpIndexBuilder().build(expressions)
    given = batch(expressions, events)

    assert pairs(index.match(given)) == pairs(Scan.build(expressions).match(given))
    assert index.sizes()["structure"] < 1000 * count  # quadratic it would be 27,000
