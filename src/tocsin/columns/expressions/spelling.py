"""Expansion of templates, so that texts share a recipe: functions of constants, IP_IN and TEXT.

A constant within CASEI, ACCENTI, IP or SEMVER is replaced by what these make of it. Each network of an IP_IN becomes
two slots, for its first and last address. Each word and phrase of a TEXT becomes a slot.
The slot of the attribute's name gets the name of its words, and the slot of the query gets the first word. Further
words, and phrases, follow after all other slots. Texts with equal numbers of words become instances of one template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias, cast

from tocsin.language import Instance, Template
from tocsin.language.keywords import Keywords, is_text, keywords_of, pattern_of, spelled_out
from tocsin.language.operators.duration import seconds_of
from tocsin.language.operators.network import ADDRESS, IN_NETWORK, ends_of
from tocsin.language.operators.now import Bounds, Distance, bounded, bounds_of, distance_in
from tocsin.language.operators.operator import FUNCTIONS
from tocsin.language.templates import Scalar, Values, placeholder, slot_of
from tocsin.model.expression import (
    AnyElement,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    conjunction,
    disjunction,
    fold,
    walk,
)
from tocsin.model.readings import as_line, as_since, as_words
from tocsin.model.texts import PLAIN, Text
from tocsin.model.values import Instant

_OfValue: TypeAlias = Callable[[Any], Scalar]
_Shape: TypeAlias = tuple[tuple[int, int], ...]
"""The numbers of words and phrases in each TEXT."""

_MOST_KEPT: Final = 10_000
_MOST_WORDS: Final = 64
"""A longer query is compiled by itself, since hardly any other has its shape."""


class _Slots(NamedTuple):
    """The slots of a TEXT's parts; `settings` is None if it has none."""

    name: int
    query: int
    settings: int | None = None


class _Folded(NamedTuple):
    """A template without functions of constants, and how its values are made from those of the original."""

    template: Template
    functions: Mapping[int, _OfValue]
    """What becomes of the value in a slot."""
    more: Sequence[tuple[int, _OfValue]] = ()
    """What the slots after those of the original are made of: another slot, and a function."""


class Spelling:
    """Expanded templates, by the templates that they were made from. It forgets them when there are many."""

    def __init__(self) -> None:
        self._folded: dict[Template, _Folded] = {}
        self._texts: dict[Template, list[_Slots]] = {}
        self._made: dict[tuple[Template, _Shape], Template] = {}

    def spelled(self, given: Instance) -> Instance:
        """The same expression in its expanded form; itself if there is nothing to expand.

        Cost: some microseconds a word.
        """
        return self._without_texts(self._without_folds(given))

    def _without_folds(self, given: Instance) -> Instance:
        folded = self._folded.get(given.template)
        if folded is None:
            if len(self._folded) >= _MOST_KEPT:
                self._folded.clear()
            folded = self._folded[given.template] = _Folding(given.template).folded()
        if folded.template is given.template:
            return given
        values = list(given.values)
        try:
            for slot, function in folded.functions.items():
                values[slot] = function(values[slot])
            values += [function(given.values[slot]) for slot, function in folded.more]
        except OverflowError:
            return given
        return Instance(folded.template, tuple(values))

    def _without_texts(self, given: Instance) -> Instance:
        texts = self._texts.get(given.template)
        if texts is None:
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            texts = self._texts[given.template] = _texts_in(given.template.tree)
        if not texts:
            return given
        asked = [_asked(slots, given.values) for slots in texts]
        if max(len(one.words) for one in asked) > _MOST_WORDS:
            return given
        shape = tuple((len(one.words), len(one.phrases)) for one in asked)
        template = self._made.get((given.template, shape))
        if template is None:
            if len(self._made) >= _MOST_KEPT:
                self._made.clear()
            template = self._made[given.template, shape] = _without_texts(given.template, texts, shape)
        return Instance(template, _values(given.values, texts, asked))


class _Folding:
    """The folding of one template."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._functions: dict[int, _OfValue] = {}
        self._kinds = list(template.kinds)
        self._has_distances = False
        self._more: list[tuple[int, _OfValue]] = []

    def folded(self) -> _Folded:
        tree = fold(self._template.tree, self._node)
        if not self._functions and not self._has_distances:
            return _Folded(self._template, {})
        if not self._functions.keys() <= self._strings():
            return _Folded(self._template, {})  # a number that SOME compares with elements, too
        tree = fold(tree, self._with_own_slots)
        kinds = "".join(self._kinds) + "s" * len(self._more)
        return _Folded(Template(tree, kinds), self._functions, self._more)

    def _strings(self) -> set[int]:
        """The slots that may change: those of strings and, if no elements are asked about, all others."""
        if not any(isinstance(node, AnyElement) for node in walk(self._template.tree)):
            return set(range(len(self._kinds)))
        return {slot for slot, kind in enumerate(self._template.kinds) if kind == "s"}

    def _with_own_slots(self, node: Expression, parts: Sequence[Expression]) -> Expression:
        """Conditions on elements keep their constants: SOME has each in two places, and only one is expanded."""
        inner = [fold(one, self._unchanged) for one in node.inner()]
        return (node.with_children(parts) if parts else node).with_inner(inner)

    def _unchanged(self, node: Expression, parts: Sequence[Expression]) -> Expression:
        slot = slot_of(node.value) if isinstance(node, Constant) and isinstance(node.value, str) else None
        if slot is not None and slot in self._functions:
            self._more.append((slot, str))
            return _string(len(self._template.kinds) + len(self._more) - 1)
        return self._with_own_slots(node, parts)

    def _node(self, node: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(node, Comparison | Between):
            made = self._distances(node)
            return node.with_children(parts) if made is None else made
        if not isinstance(node, Call):
            return node.with_children(parts)
        if node.name == IN_NETWORK:
            return self._ranges(*parts)
        (text,) = parts if len(parts) == 1 else (None,)
        function: _OfValue | None = FUNCTIONS[node.name].of_constant(node.name)
        if function is None or not isinstance(text, Constant) or not isinstance(text.value, str):
            return node.with_children(parts)
        slot = _slot(text)
        inner = self._functions.get(slot)
        self._functions[slot] = function if inner is None else lambda given: function(inner(given))
        return text

    def _distances(self, node: Comparison | Between) -> Expression | None:
        """A comparison with the present as one of distances from it with instants; None if it is another one."""
        comparisons = [node]
        if isinstance(node, Between):
            comparisons = [Comparison(">=", node.operand, node.low), Comparison("<=", node.operand, node.high)]
        found = [distance_in(cast(Comparison, one)) for one in comparisons]
        if any(one is None or one.op in ("=", "<>") for one in found):
            return None
        return conjunction([self._distance(cast(Distance, one)) for one in found])

    def _distance(self, found: Distance) -> Expression:
        self._has_distances = True
        if found.seconds is None:
            return found.compared(found.op, 0)
        op, _ = bounded(found.op, Bounds(0, 1))
        length = found.seconds.arguments[0] if isinstance(found.seconds, Call) else found.seconds
        number = cast(Constant, length).value
        slot = slot_of(cast(Scalar, number))
        assert slot is not None, "every constant of a template is a placeholder"
        is_negative = found.is_negative is not (isinstance(number, float) and number < 0)
        self._kinds[slot] = "i"
        self._functions[slot] = partial(_bound, found=found, is_negative=is_negative)
        moment = cast(Instant, placeholder("i", slot))
        return Comparison(op, Attribute(as_since(found.moment.name)), Constant(moment))

    def _ranges(self, source: Expression, *networks: Expression) -> Expression:
        """The ranges of addresses that an IP_IN stands for."""
        ranges = []
        for network in networks:
            slot = _slot(network)
            self._functions[slot] = _first_address
            self._more.append((slot, _last_address))
            high = len(self._template.kinds) + len(self._more) - 1
            ranges.append(Between(Call(ADDRESS, (source,)), network, _string(high)))
        return disjunction(ranges)


def _slot(text: Expression) -> int:
    slot = slot_of(cast(str, cast(Constant, text).value))
    assert slot is not None, "every string of a template is a placeholder"
    return slot


def _bound(length: str | float, found: Distance, *, is_negative: bool) -> Instant:
    """The distance, as an instant, that a length of time is. Raises `OverflowError` if it may not fit in 64 bits."""
    seconds = seconds_of(length) or 0.0 if isinstance(length, str) else length
    bounds = bounds_of(0.0 - seconds if is_negative else seconds, is_number=found.is_number)
    if bounds is None:
        raise OverflowError
    return Instant(bounded(found.op, bounds)[1])


def _first_address(network: str) -> str:
    return ends_of(network).low


def _last_address(network: str) -> str:
    return ends_of(network).high


def _texts_in(tree: Expression) -> list[_Slots]:
    """The slots of each TEXT in a template's tree, in order; none if SOME asks for the same of elements."""
    if any(isinstance(node, AnyElement) for node in walk(tree)):
        return []
    return [_slots_of(cast(Call, node)) for node in walk(tree) if is_text(node)]


def _slots_of(node: Call) -> _Slots:
    parts = (part.name if isinstance(part, Attribute) else cast(Constant, part).value for part in node.arguments)
    return _Slots(*(cast(int, slot_of(cast(str, part))) for part in parts))


def _settings(slots: _Slots, values: Values) -> Text:
    return PLAIN if slots.settings is None else Text.of(str(values[slots.settings]))


def _asked(slots: _Slots, values: Values) -> Keywords:
    return keywords_of(str(values[slots.query]), _settings(slots, values))


def _values(given: Values, texts: Sequence[_Slots], asked: Sequence[Keywords]) -> tuple[Scalar, ...]:
    """The values in the slots of a template that `_without_texts` made."""
    values = list(given)
    for slots, one in zip(texts, asked, strict=True):
        name, settings = str(given[slots.name]), str(_settings(slots, given))
        values[slots.name] = as_words(name, settings)
        values[slots.query] = one.words[0]
        if slots.settings is not None:
            values[slots.settings] = one.words[0]  # this slot is not used any more
        values.extend(one.words[1:])
        if one.phrases:
            values.extend((as_line(name, settings), *map(pattern_of, one.phrases)))
    return tuple(values)


def _without_texts(template: Template, texts: Sequence[_Slots], shape: _Shape) -> Template:
    """A template with slots for the words and phrases of its TEXTs."""
    kinds = template.kinds
    made: dict[_Slots, Expression] = {}
    for slots, (words, phrases) in zip(texts, shape, strict=True):
        new = count(len(kinds))
        asked = [slots.query, *(next(new) for _ in range(words - 1))]
        kinds += "s" * (words - 1)
        line = 0
        if phrases:
            line = next(new)
            kinds += "a" + "s" * phrases
        patterns = [next(new) for _ in range(phrases)]
        made[slots] = spelled_out(_attribute(slots.name), map(_string, asked), _attribute(line), map(_string, patterns))

    def combine(node: Expression, parts: Sequence[Expression]) -> Expression:
        if is_text(node):
            return made[_slots_of(cast(Call, node))]
        return node.with_children(parts)

    return Template(fold(template.tree, combine), kinds)


def _attribute(slot: int) -> Attribute:
    return Attribute(str(placeholder("a", slot)))


def _string(slot: int) -> Constant:
    return Constant(placeholder("s", slot))
