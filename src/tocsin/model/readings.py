"""Under which names are attributes compiled? Their own and, for another reading of them, one beside it.

A string that is compared with an instant is read as one, where the whole of it is a date or a timestamp; compared with
a string it stays what it is. So an attribute has two readings, and a comparison with an instant is compiled on the
second, under a name of its own. An event's value is put under both, as far as it has them: no rule of three-valued
logic is needed beyond that of an absent attribute, and no subscription changes what another one means.

What is asked of any element of a list is such a reading, too: whether some element fulfils a condition is a boolean of
the event, under a name that holds the condition's text. Beside it the names that the condition looks at are compiled,
so that whoever reads events knows what to read of the elements.

And a text has its words for a reading: a list of them, and a line in which phrases are found, under names that hold how
words are made.
"""

from __future__ import annotations

from typing import Final, NamedTuple

PART: Final = "\x00"
"""What parts a name's pieces; an attribute's own name has none behind its first character."""

_INSTANT_KIND: Final = "instant"
_ELEMENTS_KIND: Final = "elements"
_OF_KIND: Final = "of"
_WORDS_KIND: Final = "words"
_LINE_KIND: Final = "line"
_TEXT_KIND: Final = "text"
_ARRAY_KIND: Final = "array"

SOME: Final = "some"
"""The kind of a reading that is TRUE where some element fulfils a condition, and absent elsewhere."""
WHETHER: Final = "whether"
"""The same, and FALSE where all elements make the condition FALSE: what NOT asks for."""

PLACED: Final = "placed"
"""The kind of a reading that is TRUE where a spatial predicate holds of an attribute's place, and absent elsewhere."""
PLACED_OR_NOT: Final = "placed or not"
"""The same, and FALSE where the attribute is a place of which it does not hold."""


class Reading(NamedTuple):
    """A compiled name in its parts: an attribute, which reading of it (empty for its own value), and what of that."""

    attribute: str
    kind: str
    rest: str

    @property
    def is_condition(self) -> bool:
        """Whether it is the truth of a condition, `rest`, about a list's elements."""
        return self.kind in (SOME, WHETHER)

    @property
    def is_of_place(self) -> bool:
        """Whether it is the truth of a spatial predicate, `rest`."""
        return self.kind in (PLACED, PLACED_OR_NOT)

    @property
    def is_instant(self) -> bool:
        """Whether it is the attribute's value as an instant."""
        return self.kind == _INSTANT_KIND

    @property
    def is_of_text(self) -> bool:
        """Whether it is made of the words of a text; `rest` says how those are made."""
        return self.kind in (_WORDS_KIND, _LINE_KIND)

    @property
    def is_words(self) -> bool:
        """Whether it is these words themselves, as a list."""
        return self.kind == _WORDS_KIND

    @property
    def is_array(self) -> bool:
        """Whether it is an array, `rest`, of the event's own values."""
        return self.kind == _ARRAY_KIND

    @property
    def is_of_elements(self) -> bool:
        """Whether it says that `rest` is to be read of a list's elements."""
        return self.kind == _OF_KIND


def reading_of(name: str) -> Reading:
    """A compiled name in its parts.

    >>> reading_of(as_instant("ts")), reading_of(as_condition("items", "price > 3", SOME)).rest
    (Reading(attribute='ts', kind='instant', rest=''), 'price > 3')
    """
    at = name.find(PART, 1)
    if at < 0:
        return Reading(name, "", "")
    kind, _, rest = name[at + 1 :].partition(PART)
    return Reading(name[:at], kind, rest)


def as_instant(name: str) -> str:
    """The name of an attribute's reading as an instant."""
    return name + PART + _INSTANT_KIND


def as_words(name: str, settings: str) -> str:
    """The name of the list of an attribute's words, as `model.texts.Text` makes them by its settings."""
    return name + PART + _WORDS_KIND + PART + settings


def as_line(name: str, settings: str) -> str:
    """The name of the string of an attribute's words in their order, in which phrases are looked for."""
    return name + PART + _LINE_KIND + PART + settings


def as_text(name: str) -> str:
    """The name under which a text itself is, for `language.evaluate`, where an attribute's value is its words."""
    return name + PART + _TEXT_KIND


def as_array(name: str, text: str) -> str:
    """The name of the list that an array is of whose first attribute this is."""
    return name + PART + _ARRAY_KIND + PART + text


def as_elements(name: str) -> str:
    """The name under which the elements of an attribute's list are, each as an event, for `language.evaluate`."""
    return name + PART + _ELEMENTS_KIND


def as_condition(name: str, text: str, kind: str) -> str:
    """The name of the truth of a condition about a list's elements, or a place; `kind` is SOME .. PLACED_OR_NOT."""
    return name + PART + kind + PART + text


def of_elements(name: str, inner: str) -> str:
    """The name that says that `inner` is to be read of the elements of an attribute's list."""
    return name + PART + _OF_KIND + PART + inner


def attribute_of(name: str) -> str:
    """The attribute that a compiled name is a reading of, itself for its own."""
    at = name.find(PART, 1)
    return name if at < 0 else name[:at]


def is_reading(name: str) -> bool:
    """Whether a compiled name is that of another reading than an attribute's own value."""
    return name.find(PART, 1) >= 0
