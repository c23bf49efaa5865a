"""Learning of a template from the first text of its skeleton, in which placeholders replace the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, cast

from tocsin.errors import InvalidInput
from tocsin.language.operators.operator import operator_of
from tocsin.language.templates.filling import Template, filled, scalars_of, value_for
from tocsin.language.templates.placeholders import (
    Scalar,
    Values,
    placeholder,
    placeholder_text,
    slot_of,
    slots_of_name,
)
from tocsin.language.templates.reading import Check, Reader, picker
from tocsin.language.text import parse
from tocsin.language.tokens import tokenize
from tocsin.language.words import FIXED, KINDS, KINDS_OF_TOKENS
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import Attribute, Constant, Expression, IsNull, SomeValue, walk, walk_all
from tocsin.model.values import Box, Point, crosses


def learn(example: str, marks: list[str]) -> Reader | None:
    """The template of a text with placeholders, and the reader of its values; None when `parse` rejects the text."""
    slots = [at for at, mark in enumerate(marks) if mark in KINDS]
    kinds = "".join([KINDS[marks[at]] for at in slots])
    try:
        tree = parse(example)
    except ValueError:  # InvalidInput is one; `POINT(1 - -2)` makes `parse` raise a plain one
        return None
    nodes = list(walk_all(tree))
    scalars = [scalar for node in nodes for scalar in scalars_of(node)]
    found = _slots_of(scalars)
    if any(isinstance(node, SomeValue) for node in nodes):
        found = sorted(set(found))  # its condition is in the tree twice
        if any(_asks_presence(node.meaning) for node in nodes if isinstance(node, SomeValue)):
            return None  # it asks once for each name, and two slots may have one
    if found != list(range(len(slots))):
        return None  # a value computed from several slots, as in an array, is not in any of them
    values = [placeholder(kind, slot) for slot, kind in enumerate(kinds)]
    if [value_for(scalar, values) for scalar in scalars] != scalars:
        return None
    for node in nodes:  # nothing else refers to them, and their spans would not fit any user's text
        object.__setattr__(node, "span", None)

    def marked(mark: str) -> list[int]:
        return [at for at in slots if marks[at] == mark]

    instants = [(at, marks[at]) for at in slots if KINDS[marks[at]] == "i"]
    read = marked("n"), marked("s"), marked("q"), instants, marked("g"), picker(slots), _checks(nodes)
    return Reader(Template(tree, kinds), *read)


def with_placeholders(text: str, words: list[tuple[str, str]]) -> str | None:
    """The text with placeholders for its names and constants; None when these differ from `words`.

    A word comes with its mark. An open end of an interval stays as it is, and so does the number of AT_LEAST.
    """
    try:
        tokens = [token for token in tokenize(text) if token.type in KINDS_OF_TOKENS]
    except ValueError:
        return None
    if len(tokens) != len(words):
        return None
    pieces: list[str] = []
    end = 0
    slot = 0
    for token, (word, mark) in zip(tokens, words, strict=True):
        if mark[0] in FIXED:
            continue
        sign = token.value.removesuffix(word)  # a sign that the token includes and the word does not
        if sign not in ("", "+", "-"):
            return None
        kind = KINDS_OF_TOKENS[token.type]
        if kind != KINDS[mark] and (kind, KINDS[mark]) != ("s", "i"):
            return None
        pieces += text[end : token.start_pos], sign + placeholder_text(KINDS[mark], slot)
        end = token.end_pos
        slot += 1
    return " ".join([*pieces, text[end:]])


def _asks_presence(meaning: Expression) -> bool:
    """Whether a SOME is about the fields of objects, and about which of them are there."""
    nodes = list(walk(meaning))
    is_joined = any(isinstance(node, Attribute) and slots_of_name(node.name) for node in nodes)
    return is_joined and any(isinstance(node, IsNull) for node in nodes)


def _slots_of(scalars: Sequence[Scalar]) -> list[int]:
    """The slots whose placeholders these are, with repetitions, in ascending order."""
    found: list[int] = []
    for scalar in scalars:
        slot = slot_of(scalar)
        found += [slot] if slot is not None else slots_of_name(scalar) if isinstance(scalar, str) else ()
    return sorted(found)


def _checks(nodes: Iterable[Expression]) -> list[Check]:
    """The rules of the nodes of a tree about the values in its slots, except those about numbers."""
    return [check for node in nodes if (check := _check_of(node)) is not None]


def _check_of(node: Expression) -> Check | None:
    if isinstance(node, SomeValue):
        return lambda values: ELEMENT not in values  # a name in quotes, which would be the value itself
    rule = operator_of(node).rule_of_values(node)
    if rule is not None:
        problem, parts = rule
        if len(parts) == 1:
            only = _value_of(parts[0])
            return lambda values: problem(only(values)) is None
        read = [_value_of(part) for part in parts]
        return lambda values: problem(*[one(values) for one in read]) is None
    if isinstance(node, Constant) and isinstance(node.value, Box):
        return lambda values: _is_box(node, values)
    return None


def _is_box(node: Expression, values: Values) -> bool:
    """Whether the values form a box that does not cross the antimeridian. Templates exclude boxes across it."""
    try:
        box = cast(Constant, filled(node, (), values)).value
    except InvalidInput:
        return False
    return isinstance(box, Box) and not crosses(box.bounds())


def _value_of(node: Expression) -> Callable[[Values], Any]:
    """A function that gives the value of a constant of the tree, filled."""
    value = cast(Constant, node).value
    slots = [slot_of(scalar) for scalar in scalars_of(node)]
    signs = [-1.0 if isinstance(scalar, float) and scalar < 0 else 1.0 for scalar in scalars_of(node)]
    if len(slots) == 1 and slots[0] is not None and signs == [1.0]:
        return itemgetter(slots[0])
    if isinstance(value, Point) and None not in slots:
        (x, y), (of_x, of_y) = slots, signs
        return lambda values: Point(of_x * values[x], of_y * values[y])  # type: ignore[index, operator]
    return lambda values: cast(Constant, filled(node, (), values)).value
