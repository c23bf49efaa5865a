"""What a writer has written is, at any moment, what compiling all of it at once gives; and it stays as it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.columns.expressions.stored import restored, stored
from tocsin.columns.expressions.writer import ExpressionWriter, compile_expressions
from tocsin.language import Templates
from tocsin.model.expression import Expression


def same(left: CompiledExpressions, right: CompiledExpressions) -> bool:
    """Whether all arrays and names are equal."""
    given, expected = stored(left), stored(right)
    return given.keys() == expected.keys() and all(np.array_equal(given[name], expected[name]) for name in given)


@given(expressions=st.lists(own.expressions(max_depth=4), max_size=12), data=st.data())
def test_what_was_read_is_what_was_written_and_stays(expressions: list[Expression], data: st.DataObject) -> None:
    """Read after any of the expressions, first or again."""
    writer = ExpressionWriter(RecipeBook())
    read: list[tuple[int, int, CompiledExpressions]] = []
    for count, expression in enumerate(expressions, 1):
        writer.add(expression)
        if data.draw(st.booleans()):
            read.append((count, len(writer.pools.attributes.items), writer.compiled()))

    assert len(writer) == len(expressions)
    for count, attributes, compiled in read:
        assert same(compiled.with_attributes(attributes), compile_expressions(expressions[:count]))


some = st.sampled_from(["", "a", "b", "ab", "b\x00", "é", "z", "😀", "\uffff"])
words = st.builds("'{}'".format, some | st.text("abé\u0301😀", max_size=4))
ends = st.builds("s {} {}".format, st.sampled_from(["=", "<>", "<", ">", "<=", ">="]), words)
betweens = st.builds("s BETWEEN {} AND {}".format, words, words)
sets = st.builds("s IN ({}, {}, {})".format, words, words, words)


@given(st.lists(ends | betweens | sets, max_size=60))
def test_strings_are_numbered_in_order_whenever_they_come(texts: list[str]) -> None:
    """One by one or many at once, in trees or in instances: the vocabulary is sorted, and so is each set."""
    templates = Templates()
    at_once, one_by_one = ExpressionWriter(RecipeBook()), ExpressionWriter(RecipeBook())
    for text in texts:
        at_once.add(templates.instance(text) or tocsin.parse(text))
        one_by_one.add(tocsin.parse(text))
        one_by_one.compiled()
    compiled = at_once.compiled().with_attributes(len(at_once.pools.attributes.items))
    starts, payloads = compiled.arrays.set_starts, compiled.arrays.set_payloads

    assert same(compiled, restored(stored(compiled)))
    assert compiled.vocabulary.to_list() == sorted(at_once.pools.strings.items)
    assert all((np.diff(payloads[first:stop]) > 0).all() for first, stop in pairwise(starts))
    whole = compile_expressions(map(tocsin.parse, texts))
    assert same(one_by_one.compiled().with_attributes(len(compiled.attributes)), whole)
