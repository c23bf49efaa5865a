"""The store of templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import whitespace
from typing import Final, TypeVar

from tocsin.language.advice import Advice, advice_on
from tocsin.language.operators.operator import may_need_advice
from tocsin.language.templates.cutting import cut, shapes_in
from tocsin.language.templates.filling import Instance
from tocsin.language.templates.learning import learn, with_placeholders
from tocsin.language.templates.placeholders import MARK
from tocsin.language.templates.reading import Reader
from tocsin.language.text import parse
from tocsin.language.tokens import MANY
from tocsin.language.words import FIXED, KINDS, is_sound
from tocsin.model.expression import Expression
from tocsin.model.shapes import shapes_of
from tocsin.model.subscription import SubscriptionId
from tocsin.model.texts import Text
from tocsin.model.values import Shape

MOST_TEMPLATES: Final = 100_000
MOST_CHARACTERS: Final = 10_000_000
"""Limits on the number of remembered skeletons and their total length. Memory: about 30 bytes a character."""

_MOST_ADVICE: Final = 100  # in all

_WAITS: Final = 3
"""So many texts of a form are compiled alone, if it may stay with few."""

_Known = TypeVar("_Known", "Reader | None", int)


class Templates:
    """The templates seen so far. Threads may share one. When it is full, it forgets all templates and starts again.

    >>> templates = Templates()
    >>> first, second = templates.instance("price <= 580"), templates.instance("year <= 2024")
    >>> first.template is second.template, second.template.kinds, second.values
    (True, 'an', ('year', 2024.0))
    >>> second.tree() == parse("year <= 2024")
    True
    """

    __slots__ = ("_advice", "_characters", "_known", "_shapes", "texts", "unnamed")

    def __init__(self, texts: Mapping[str, Text] | None = None) -> None:
        self.texts = texts or {}  # settings by attribute, for a TEXT that names none
        self._known: dict[str, Reader | int | None] = {}  # a number of texts, while more are awaited
        self._characters = 0
        self._shapes: Mapping[str, Shape] = {}  # those of the texts that are expected
        self._advice: list[Advice] = []
        self.unnamed = 0  # pieces of advice since `name_advice`

    def instance(self, text: str, *, advises: bool = True, waits: bool = False) -> Instance | None:
        """The template of a text, and its values. None if the text has no template, or if `parse` rejects it.

        Advice on the first texts of a form is recorded, unless `advises` is False. With `waits`, a template is learned
        from the fourth text of its form: to learn it, and to compile it, takes as long as some texts alone.

        Cost: about 5 us for four predicates when the template is known, otherwise that of two or three calls of
        `parse`.
        """
        if not isinstance(text, str) or MARK in text:
            return None
        parts, words, marks = cut(text)
        if len(words) > MANY:  # two texts this long hardly ever have the same form
            return None
        if not text.isascii() and not is_sound(text, words, marks):
            return None
        parts[1::2] = marks
        skeleton = MARK.join(parts)
        reader = self._known.get(skeleton, 0)
        if isinstance(reader, int):  # so many texts of the form came
            if waits and reader < _WAITS:
                self._remember(skeleton, reader + 1)
                return None
            slots = [(w.strip(whitespace), m) for w, m in zip(words, marks, strict=True) if m in KINDS or m[0] in FIXED]
            example = with_placeholders(text, slots)
            if example is None:  # the text itself is at fault; the skeleton may be valid
                return None
            reader = self._remember(skeleton, learn(example, marks))
        if reader is None:
            return None
        values = reader.read(words, text, self._shapes)
        if values is None:
            return None
        if advises and reader.unadvised:
            reader.unadvised -= 1
            if may_need_advice(text):
                self.advise(parse(text), text)
        return Instance(reader.template, values)

    def expect(self, texts: Iterable[str]) -> None:
        """Read the shapes of texts that are about to come, all at once, which is faster than one by one."""
        self._shapes = shapes_of({shape for text in texts for shape in shapes_in(text)})

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

    def _remember(self, skeleton: str, reader: _Known) -> _Known:
        if len(self._known) >= MOST_TEMPLATES or self._characters + len(skeleton) > MOST_CHARACTERS:
            self._known, self._characters = {}, 0
        known = self._known.get(skeleton, 0)
        if not isinstance(known, int):
            return known  # type: ignore[return-value]  # another thread was first
        if skeleton not in self._known:
            self._characters += len(skeleton)
        self._known[skeleton] = reader
        return reader
