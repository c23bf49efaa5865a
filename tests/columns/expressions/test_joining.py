"""Compiled expressions that were joined, cut down, or taken out of an index answer as if compiled at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import tocsin
from tests import strategies as own
from tests.encoding import encoded
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import joined, subset
from tocsin.columns.expressions.stored import restored, stored
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Matcher
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.scan import Scan
from tocsin.model.expression import Expression

HALF = settings(
    max_examples=max(10, settings.default.max_examples // 2),
)
BUILDERS = {"scan": Scan.build, "access": Access.build}
Events = Sequence[Any]


def answer(matcher: Matcher, events: Events) -> list[tuple[int, int]]:
    batch = encoded(events, Wanted(matcher.attributes))
    found = matcher.match(batch)
    return list(zip(batch.rows[found.events].tolist(), found.subscriptions.tolist(), strict=True))


def expected(expressions: Sequence[Expression], events: Events) -> list[tuple[int, int]]:
    return answer(Scan.build(compile_expressions(expressions)), events)


def texts(*sources: str) -> CompiledExpressions:
    return compile_expressions(map(tocsin.parse, sources))


some = st.lists(own.expressions(max_depth=5), max_size=5)
event_lists = st.lists(own.python_events(), min_size=1, max_size=5)


@st.composite
def parts_in_order(draw: DrawFn) -> tuple[list[list[Expression]], list[int]]:
    """Lists of expressions, and an order of all of them that may leave some out."""
    parts = draw(st.lists(some, min_size=1, max_size=4))
    places = draw(st.permutations(range(sum(map(len, parts)))))
    return parts, list(places)[: draw(st.integers(0, len(places)) | st.just(len(places)))]


def chosen(parts: list[list[Expression]], order: Sequence[int]) -> list[Expression]:
    whole = [expression for part in parts for expression in part]
    return [whole[i] for i in order]


@HALF
@given(parts_in_order=parts_in_order(), events=event_lists)
def test_joined_expressions_answer_as_if_compiled_at_once(
    parts_in_order: tuple[list[list[Expression]], list[int]], events: Events
) -> None:
    """Whatever the parts and the order, `joined` means what compiling the whole list means."""
    parts, order = parts_in_order
    whole = joined([compile_expressions(part) for part in parts], np.array(order, np.int64))
    laid = joined([compile_expressions(part) for part in parts])

    for build in BUILDERS.values():
        assert answer(build(whole), events) == expected(chosen(parts, order), events)
        assert answer(build(laid), events) == expected([e for part in parts for e in part], events)


@HALF
@given(parts_in_order=parts_in_order(), events=event_lists)
def test_what_indexes_give_back_can_be_joined(
    parts_in_order: tuple[list[list[Expression]], list[int]], events: Events
) -> None:
    """Expressions out of an index answer as before, joined with others and built into another index too."""
    parts, order = parts_in_order
    builders = [Access.build, Scan.build, Access.build, Scan.build]
    out = [build(compile_expressions(part)).expressions() for build, part in zip(builders, parts, strict=False)]
    whole = joined(out, np.array(order, np.int64))
    wanted = expected(chosen(parts, order), events)

    for part, expressions in zip(parts, out, strict=True):
        assert answer(Scan.build(expressions), events) == expected(part, events)
        assert answer(Access.build(expressions), events) == expected(part, events)
    for build in BUILDERS.values():
        again = build(whole).expressions()
        assert answer(Scan.build(again), events) == wanted
        assert answer(Access.build(again), events) == wanted


@HALF
@given(expressions=some, data=st.data(), events=event_lists)
def test_a_subset_answers_like_its_members(expressions: list[Expression], data: st.DataObject, events: Events) -> None:
    """`subset` keeps the chosen expressions, in that order, out of compiled ones and out of an index."""
    places = data.draw(st.permutations(range(len(expressions))))
    kept = list(places)[: data.draw(st.integers(0, len(places)))]
    compiled = compile_expressions(expressions)
    order = np.array(kept, np.int32)

    for whole in (compiled, Scan.build(compiled).expressions(), Access.build(compiled).expressions()):
        for build in BUILDERS.values():
            assert answer(build(subset(whole, order)), events) == expected([expressions[i] for i in kept], events)


@HALF
@given(expressions=st.lists(own.expressions(max_depth=6), max_size=8), events=event_lists)
def test_a_saved_index_answers_like_the_one_in_memory(expressions: list[Expression], events: Events) -> None:
    """`load` of what `arrays` gave answers alike, and gives back the same expressions and the same arrays."""
    built = Access.build(compile_expressions(expressions))
    loaded = Access.load(built.arrays())
    wanted = expected(expressions, events)

    assert len(loaded) == len(expressions)
    assert list(loaded.attributes) == list(built.attributes)
    assert answer(built, events) == answer(loaded, events) == wanted
    assert answer(Scan.build(loaded.expressions()), events) == wanted
    assert answer(Scan.build(restored(stored(loaded.expressions()))), events) == wanted
    for name, array in built.arrays().items():
        assert np.array_equal(loaded.arrays()[name], array), name


letters = st.text(alphabet="aAbBéz\u0301😀", max_size=3)
words = st.sampled_from(["", "a", "b", "ab", "aa", "a\x00", "é", "e", "z", "zz", "😀", "\uffff"]) | letters
quoted = words.map(lambda word: "'" + word.replace("'", "''") + "'")
subjects = st.sampled_from(["s", "s", "t", "CASEI(s)", "ACCENTI(s)", "ACCENTI(CASEI(t))"])
comparisons = st.builds("{} {} {}".format, subjects, st.sampled_from(["<", ">", "<=", ">=", "=", "<>"]), quoted)
betweens = st.builds("{} BETWEEN {} AND {}".format, subjects, quoted, quoted)
sets = st.builds("{} IN ({}, {})".format, subjects, quoted, quoted)
listed = st.builds("A_OVERLAPS(l, ({}, {}, 1))".format, quoted, quoted)
simple = st.one_of(comparisons, comparisons, betweens, sets, listed)
about_strings = st.one_of(
    simple,
    simple.map("NOT ({})".format),
    st.builds("{} AND {}".format, simple, simple),
    st.builds("{} OR {}".format, simple, simple),
)
string_events = st.fixed_dictionaries({}, optional={"s": words, "t": words, "l": st.lists(words, max_size=3)})


@settings(max_examples=settings.default.max_examples)
@given(
    parts=st.lists(st.lists(about_strings, max_size=6), min_size=2, max_size=4),
    events=st.lists(string_events, min_size=1, max_size=12),
)
def test_ranges_of_strings_keep_their_ends_among_the_operands_of_others(parts: list[list[str]], events: Events) -> None:
    """What lies just above or below an operand still does when other parts have operands right beside it."""
    trees = [[tocsin.parse(text) for text in part] for part in parts]
    compiled = [compile_expressions(part) for part in trees]
    wanted = expected([tree for part in trees for tree in part], events)
    decoded = [Access.build(part).expressions() for part in compiled]
    nested = joined([joined(compiled[:1]), joined([*decoded[1:2], *compiled[2:]])])

    for whole in (joined(compiled), joined(decoded), nested, Access.build(joined(decoded)).expressions()):
        for build in BUILDERS.values():
            assert answer(build(whole), events) == wanted


@pytest.mark.parametrize("operator", ["<", ">", "<=", ">=", "=", "<>"])
def test_neighbouring_operands_of_three_parts(operator: str) -> None:
    """Around an operand of one part, operands of the others lie just below and just above it."""
    operands = [["b"], ["a\uffff", "b\x00"], ["", "b", "ba", "a"]]
    events = [{"s": word} for word in ("", "a", "a\uffff", "a\uffffz", "b", "b\x00", "b\x00\x00", "b\x01", "ba", "c")]
    sources = [[f"s {operator} '{word}'" for word in part] for part in operands]
    whole = joined([Access.build(texts(*part)).expressions() for part in sources])

    for build in BUILDERS.values():
        assert answer(build(whole), events) == answer(Scan.build(texts(*(t for p in sources for t in p))), events)


@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_empty_parts_add_nothing(build: Any) -> None:
    """A set of no expressions, between others or alone, is joined like any."""
    nothing = compile_expressions([])
    one = texts("s > 'a' AND n = 1", "A_CONTAINS(l, ('x'))")
    events = [{"s": "b", "n": 1, "l": ["x"]}]

    for parts in ([nothing, one], [one, nothing], [nothing, one, nothing], [build(nothing).expressions(), one]):
        assert answer(build(joined(parts)), events) == [(0, 0), (0, 1)]
    assert answer(build(joined([nothing])), events) == []
    assert answer(build(joined([nothing, nothing], np.empty(0, np.int64))), events) == []
    assert answer(build(joined([one], np.empty(0, np.int64))), events) == []


def test_everything_that_leaves_refer_to_is_numbered_anew() -> None:
    """Sets, patterns, boxes, terms, constants, truths, regexes and transforms of a second part stay its own."""
    kinds = (
        "n IN ({k}, 7) AND s IN ('a{k}', 'b')",
        "s LIKE 'a{k}%'",
        "MATCHES(CASEI(s), 'a{k}$') OR MATCHES(s, 'b{k}')",
        "S_INTERSECTS(p, BBOX({k}, {k}, {k}, {k}))",
        "S_INTERSECTS(p, q{k})",
        "A_CONTAINS(l, ('a{k}', {k}))",
        "A_EQUALS(l, m{k})",
        "n * {k} + 1 = x{k}",
        "n / x{k} IS NULL",
        "(n = {k}) = (s = 'a{k}')",
        "(n = {k} AND s LIKE '_{k}') <> (x{k} > {k})",
        "ACCENTI(s) = 'a{k}' OR CASEI(s) > 'a{k}'",
        "n BETWEEN {k} AND 2 OR x{k} IS NULL",
    )
    sources = [[kind.format(k=k) for kind in kinds[k % 3 :]] for k in range(4)]
    events = [
        {"n": k, "s": f"{letter}{k}", "p": [k, k], f"q{k}": [0, 0, k, k], "l": ["a1", f"a{k}", k], f"x{j}": k * j + 1}
        | {f"m{k}": [k, f"a{k}", "a1"]}
        for k in range(5)
        for j in range(4)
        for letter in "aAáb"
    ]
    wanted = answer(Scan.build(texts(*(text for part in sources for text in part))), events)

    for build in BUILDERS.values():
        whole = joined([build(texts(*part)).expressions() for part in sources])

        assert answer(build(whole), events) == wanted
        assert len({subscription for _, subscription in wanted}) == len(whole)
