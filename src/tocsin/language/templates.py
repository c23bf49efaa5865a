"""Templates: texts that differ only in names and constants share one parse.

Among a million subscriptions there are usually only a few forms of text. One regular expression cuts a text into the
words of `tokens.py`. Names, strings and numbers are *slots*; keywords, functions and everything between words form the
*skeleton*. The first text of a skeleton is parsed with a placeholder in each slot; later texts only have their values
read. This is sound because only the skeleton decides the shape of the tree. The few rules about values, such as exact
numbers and valid patterns, are checked again for each text. Any doubtful text has no template and goes to `parse`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from string import whitespace
from typing import Any, Final, NamedTuple, TypeAlias, cast

from tocsin.errors import InvalidInput
from tocsin.language import rules
from tocsin.language.advice import Advice, advice_on
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.operator import may_need_advice, operator_of
from tocsin.language.text import parse
from tocsin.language.tokens import MANY, tokenize
from tocsin.language.words import (
    INSTANTS,
    KINDS,
    KINDS_OF_TOKENS,
    fixed_word,
    has_shape,
    is_sound,
    kind_of_word,
    split_words,
)
from tocsin.model.expression import Array, Attribute, Constant, Expression, fold, walk_all
from tocsin.model.subscription import SubscriptionId
from tocsin.model.texts import Text
from tocsin.model.values import LARGEST_INTEGER, Box, Instant, Point, crosses

Scalar: TypeAlias = str | float | Instant
Values: TypeAlias = Sequence[Scalar]
_Check: TypeAlias = Callable[[Values], bool]

MARK: Final = "\x00"
"""The first character of placeholders for names and strings. A text that contains it has no template."""

FIRST_NUMBER: Final = 2.0**40
"""The placeholder of a number in slot 0; slot i has `FIRST_NUMBER + i`."""

FIRST_INSTANT: Final = Instant.parse("9000-01-01").microseconds
"""The placeholder of an instant in slot 0; slot i has the i-th day after it."""
_DAY: Final = 86_400_000_000

MOST_TEMPLATES: Final = 100_000
MOST_CHARACTERS: Final = 10_000_000
"""Limits on the number of remembered skeletons and their total length. Memory: about 30 bytes a character."""

_MOST_ADVICE, _ADVISED = (
    100,
    20,
)  # pieces of advice in all; texts of each form that are checked for advice, each at the cost of `parse`


def placeholder(kind: str, slot: int) -> Scalar:
    """The placeholder for a slot in a template's tree.

    `kind` is 'a' (attribute name), 's' (string), 'n' (number) or 'i' (instant).

    >>> placeholder("a", 0), placeholder("s", 1), placeholder("n", 2)
    ('\\x000', '\\x001', 1099511627778.0)
    """
    if kind == "i":
        return Instant(FIRST_INSTANT + slot * _DAY)
    return FIRST_NUMBER + slot if kind == "n" else MARK + str(slot)


def slot_of(value: Scalar) -> int | None:
    """The slot of a placeholder, or of a negated placeholder; None for any other name, string, number or instant.

    >>> slot_of("\\x001"), slot_of(-1099511627778.0), slot_of(-1.0)
    (1, 2, None)
    """
    if isinstance(value, str):
        return int(value[1:]) if value.startswith(MARK) else None
    if isinstance(value, Instant):
        return (value.microseconds - FIRST_INSTANT) // _DAY if value.microseconds >= FIRST_INSTANT else None
    return int(abs(value) - FIRST_NUMBER) if abs(value) >= FIRST_NUMBER else None


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """What all texts of one skeleton share; compared by identity."""

    tree: Expression
    """The tree of the skeleton, with the placeholder of slot i in slot i, or its negation after a sign."""
    kinds: str
    """The kind of each slot, in order of appearance: 'a' attribute name, 's' string, 'n' number, 'i' instant."""

    def fill(self, values: Values) -> Expression:
        """The tree with the values in the slots and without spans. Cost: linear in the size of the tree."""
        return fold(self.tree, lambda node, parts: _filled(node, parts, values))


class Instance(NamedTuple):
    """A text as a template and the values in its slots: names, strings without quotes, floats, instants."""

    template: Template
    values: tuple[Scalar, ...]

    def tree(self) -> Expression:
        """The tree that `parse` makes from the text."""
        return self.template.fill(self.values)


class Templates:
    """The templates seen so far. Threads may share one. When it is full, it forgets all templates and starts again.

    >>> templates = Templates()
    >>> first, second = templates.instance("price <= 580"), templates.instance("year <= 2024")
    >>> first.template is second.template, second.template.kinds, second.values
    (True, 'an', ('year', 2024.0))
    >>> second.tree() == parse("year <= 2024")
    True
    """

    __slots__ = ("_advice", "_characters", "_known", "texts", "unnamed")

    def __init__(self, texts: Mapping[str, Text] | None = None) -> None:
        self.texts = texts or {}  # settings by attribute, for a TEXT that names none
        self._known: dict[str, _Reader | None] = {}
        self._characters = 0
        self._advice: list[Advice] = []
        self.unnamed = 0  # pieces of advice since `name_advice`

    def instance(self, text: str) -> Instance | None:
        """The template of a text, and its values. None if the text has no template, or if `parse` rejects it.

        Cost: about 5 us for four predicates when the template is known, otherwise that of two or three calls of
        `parse`.
        """
        if not isinstance(text, str) or MARK in text or ("((" in text and has_shape(text)):
            return None
        parts = split_words(text)  # separators and words, alternating
        words = parts[1::2]
        if len(words) > MANY:  # two texts this long hardly ever have the same form
            return None
        marks = [fixed_word(one) or (one.upper() if one[-1] == "(" else kind_of_word(one[0], "a")) for one in words]
        if not INSTANTS.keys().isdisjoint(marks):  # few texts have any
            for at, mark in enumerate(marks):
                if mark in INSTANTS and marks[at + 1 : at + 2] == ["s"]:
                    marks[at + 1] = INSTANTS[mark]
        if not text.isascii() and not is_sound(text, words, marks):
            return None
        parts[1::2] = marks
        skeleton = MARK.join(parts)
        try:
            reader = self._known[skeleton]
        except KeyError:
            slots = [(word.strip(whitespace), mark) for word, mark in zip(words, marks, strict=True) if mark in KINDS]
            example = _with_placeholders(text, slots)
            if example is None:  # the text itself is at fault; the skeleton may be valid
                return None
            reader = self._remember(skeleton, _learn(example, marks))
        if reader is None:
            return None
        values = reader.read(words, text)
        if values is None:
            return None
        if reader.unadvised:
            reader.unadvised -= 1
            if may_need_advice(text):
                self.advise(parse(text), text)
        return Instance(reader.template, values)

    def advise(self, tree: Expression, text: str = "") -> None:
        """Record advice for the first texts of each form, and for texts without a template."""
        if len(self._advice) < _MOST_ADVICE:
            known = {one[:3] for one in self._advice}
            new = [one for one in advice_on(tree, text) if one[:3] not in known]
            self._advice += new
            self.unnamed += len(new)

    def name_advice(self, id: SubscriptionId | None) -> None:
        """Record the subscription that the advice since the last call is about."""
        advice, self.unnamed, count = self._advice, 0, self.unnamed
        advice[len(advice) - count :] = [one._replace(subscription=id) for one in advice[len(advice) - count :]]

    def take_advice(self) -> list[Advice]:
        """Return the advice recorded since the last call, and clear it."""
        taken, self._advice, self.unnamed = self._advice, [], 0
        return taken

    def _remember(self, skeleton: str, reader: _Reader | None) -> _Reader | None:
        if len(self._known) >= MOST_TEMPLATES or self._characters + len(skeleton) > MOST_CHARACTERS:
            self._known, self._characters = {}, 0
        self._characters += len(skeleton)
        return self._known.setdefault(skeleton, reader)  # another thread may have been first


# ---- values


@dataclass(slots=True)
class _Reader:
    """Reads the values of a template from the words of a text, and checks them."""

    template: Template
    numbers: list[int]
    strings: list[int]
    quoted_names: list[int]
    instants: list[tuple[int, bool]]  # with whether each is a date
    pick: Callable[[list[Any]], tuple[Scalar, ...]]
    checks: list[_Check]
    unadvised: int = _ADVISED  # texts still to be checked for advice

    def read(self, words: list[Any], text: str) -> tuple[Scalar, ...] | None:
        """The values, or None when `parse` would reject one of them. Modifies `words`."""
        for at in self.numbers:
            number = float(words[at])
            if not -LARGEST_INTEGER < number < LARGEST_INTEGER and not _is_number(words[at], number):
                return None
            words[at] = number + 0.0  # + 0.0 turns negative zero into zero
        for at in self.strings:
            words[at] = words[at][1:-1]
        if "''" in text:
            for at in self.strings:
                words[at] = words[at].replace("''", "'")
        for at in self.quoted_names:
            words[at] = words[at][1:-1].replace('""', '"')
        for at, is_date in self.instants:
            words[at] = _instant(words[at][1:-1], is_date)
            if words[at] is None:
                return None
        values = self.pick(words)
        for check in self.checks:
            if not check(values):
                return None
        return values


def _is_number(written: str, value: float) -> bool:
    written = written.strip()
    try:
        rules.number(value, written, written.lstrip("+-").isdigit())
    except Misplaced:
        return False
    return True


def _instant(written: str, is_date: bool) -> Instant | None:
    """The instant that DATE or TIMESTAMP makes of a string; None when `parse` rejects it, or it has quotes in it."""
    try:
        value = (rules.date if is_date else rules.timestamp)(written).value
    except Misplaced:
        return None
    return value if isinstance(value, Instant) and slot_of(value) is None else None


def _picker(slots: list[int]) -> Callable[[list[Any]], tuple[Scalar, ...]]:
    """A function that picks the words in the slots, as a tuple."""
    if len(slots) > 1:
        return cast(Callable[[list[Any]], tuple[Scalar, ...]], itemgetter(*slots))
    return lambda words: tuple([words[at] for at in slots])


# ---- learning a template


def _learn(example: str, marks: list[str]) -> _Reader | None:
    """The template of a text with placeholders, and the reader of its values; None when `parse` rejects the text."""
    slots = [at for at, mark in enumerate(marks) if mark in KINDS]
    kinds = "".join([KINDS[marks[at]] for at in slots])
    try:
        template = Template(parse(example), kinds)
    except ValueError:  # InvalidInput is one; `POINT(1 - -2)` makes `parse` raise a plain one
        return None
    if _slots_in(template.tree) != list(range(len(slots))):
        return None  # a value computed from several slots, as in an array, is not in any of them
    # The same tree without spans, since those would not fit any user's text.
    tree = template.fill([placeholder(kind, slot) for slot, kind in enumerate(kinds)])
    if tree != template.tree:
        return None

    def marked(mark: str) -> list[int]:
        return [at for at in slots if marks[at] == mark]

    instants = [(at, marks[at] == "d") for at in slots if KINDS[marks[at]] == "i"]
    read = marked("n"), marked("s"), marked("q"), instants, _picker(slots), _checks(tree)
    return _Reader(Template(tree, kinds), *read)


def _with_placeholders(text: str, words: list[tuple[str, str]]) -> str | None:
    """The text with placeholders for its names, strings and numbers; None when these differ from `words`.

    A word comes with its mark.
    """
    try:
        tokens = [token for token in tokenize(text) if token.type in KINDS_OF_TOKENS]
    except ValueError:
        return None
    if len(tokens) != len(words):
        return None
    pieces: list[str] = []
    end = 0
    for slot, (token, (word, mark)) in enumerate(zip(tokens, words, strict=True)):
        sign = token.value.removesuffix(word)  # a sign that the token includes and the word does not
        if sign not in ("", "+", "-"):
            return None
        kind = KINDS_OF_TOKENS[token.type]
        if kind != KINDS[mark] and (kind, KINDS[mark]) != ("s", "i"):
            return None
        pieces += text[end : token.start_pos], sign + _placeholder_text(KINDS[mark], slot)
        end = token.end_pos
    return " ".join([*pieces, text[end:]])


def _placeholder_text(kind: str, slot: int) -> str:
    value = placeholder(kind, slot)
    if isinstance(value, Instant):
        return f"'{value.isoformat()[:10]}'"
    return f'"{value}"' if kind == "a" else f"'{value}'" if kind == "s" else f"{value:.0f}"


def _slots_in(tree: Expression) -> list[int]:
    """The slots whose placeholders occur in a tree, with repetitions, in ascending order."""
    found = [slot_of(scalar) for node in walk_all(tree) for scalar in _scalars_of(node)]
    return sorted([slot for slot in found if slot is not None])


def _scalars_of(node: Expression) -> tuple[Scalar, ...]:
    """The names, strings, numbers and instants in a node itself, without its children."""
    if isinstance(node, Attribute):
        return (node.name,)
    value = node.value if isinstance(node, Constant) else None
    if isinstance(value, Point):
        return value.x, value.y
    if isinstance(value, Box):
        return value.bounds()
    return (value,) if isinstance(value, str | Instant) or type(value) is float else ()


def _checks(tree: Expression) -> list[_Check]:
    """The rules of a tree about the values in its slots, except those about numbers."""
    return [check for node in walk_all(tree) if (check := _check_of(node)) is not None]


def _check_of(node: Expression) -> _Check | None:
    rule = operator_of(node).rule_of_values(node)
    if rule is not None:
        problem, parts = rule
        slots = [_slots_in(part)[0] for part in parts]
        return lambda values: problem(*(values[slot] for slot in slots)) is None
    if isinstance(node, Constant) and isinstance(node.value, Box):
        return lambda values: _is_box(node, values)
    return None


def _is_box(node: Expression, values: Values) -> bool:
    """Whether the values form a box that does not cross the antimeridian. Templates exclude boxes across it."""
    try:
        filled = _filled(node, (), values)
    except InvalidInput:
        return False
    return isinstance(filled, Constant) and isinstance(filled.value, Box) and not crosses(filled.value.bounds())


# ---- filling a template


def _filled(node: Expression, parts: Sequence[Expression], values: Values) -> Expression:
    """Rebuild a node of a template's tree, from its filled parts or with the values of its own slots."""
    if parts:
        inner = [fold(one, lambda inside, of_it: _filled(inside, of_it, values)) for one in node.inner()]
        return node.with_children(parts).with_inner(inner)
    if isinstance(node, Attribute):
        return Attribute(cast(str, _value(node.name, values)))
    if not isinstance(node, Constant):
        return Array(())
    if isinstance(node.value, str | float | Instant):
        return Constant(_value(node.value, values))
    if isinstance(node.value, Point | Box):
        coordinates = [cast(float, _value(scalar, values)) for scalar in _scalars_of(node)]
        return Constant(type(node.value)(*coordinates))
    return Constant(node.value)


def _value(scalar: Scalar, values: Values) -> Scalar:
    """The value for a placeholder; any other scalar is returned as it is."""
    slot = slot_of(scalar)
    if slot is None:
        return scalar
    value = values[slot]
    return value if not isinstance(scalar, float) or scalar > 0 else 0.0 - cast(float, value)
