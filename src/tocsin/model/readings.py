"""The names under which attributes are compiled: their own, or a derived name for another reading of the value.

A string that is compared with an instant is read as an instant if the whole string is a date or a timestamp. Compared
with a string, it stays a string. So the attribute has two readings, and comparisons with instants are compiled on the
second one, under its own name. An event's value is stored under every reading that it has. Three-valued logic thus
needs no rule beyond the one for absent attributes, and no subscription changes the meaning of another.

The truth of an ANY condition is such a reading, too: a boolean of the event, under a name that holds the condition's
text. The names inside the condition are also compiled, so that readers of events know what to read of the elements.

A function of an attribute, such as `IP(source)`, has its value as a reading. The name holds the
function's text.

The value of a function of several events is a reading that only a monitor adds.

A text has its words as readings: a list of words, and a line in which phrases are searched. Their names hold the
settings that make the words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

PART: Final = "\x00"
"""The separator of the parts of a compiled name. An attribute's own name may have it only as its first character."""

_INSTANT_KIND: Final = "instant"
_ELEMENTS_KIND: Final = "elements"
_OF_KIND: Final = "of"
_WORDS_KIND: Final = "words"
_LINE_KIND: Final = "line"
_TEXT_KIND: Final = "text"
_ARRAY_KIND: Final = "array"
_VALUE_KIND: Final = "value"
_NULL_KIND: Final = "null"
_SINCE_KIND: Final = "since now"
_OUTER_KIND: Final = "outer"
_OVER_TIME_KIND: Final = "over time"
_OR_ZERO_KIND: Final = "over time or zero"
_KEY_KIND: Final = "by"

_EVENTS: Final = PART + "events"
"""The attribute of readings that are about several events."""

NOW: Final = PART + "now"
"""The name of the present, an instant that every event of a batch has."""

SOME: Final = "some"
"""The kind of a reading that is TRUE if some element satisfies a condition, and absent otherwise."""
WHETHER: Final = "whether"
"""Like SOME, but FALSE if all elements make the condition FALSE. NOT needs this."""

PLACED: Final = "placed"
"""The kind of a reading that is TRUE if a spatial predicate holds for an attribute's place, and absent otherwise."""
PLACED_OR_NOT: Final = "placed or not"
"""Like PLACED, but FALSE if the attribute is a place for which the predicate does not hold."""


class Reading(NamedTuple):
    """The parts of a compiled name: attribute, kind of reading (empty for its own value), and further detail."""

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
        """Whether it is made of the words of a text; `rest` holds the settings that make them."""
        return self.kind in (_WORDS_KIND, _LINE_KIND)

    @property
    def is_words(self) -> bool:
        """Whether it is the list of a text's words."""
        return self.kind == _WORDS_KIND

    @property
    def is_array(self) -> bool:
        """Whether it is an array, `rest`, of the event's own values."""
        return self.kind == _ARRAY_KIND

    @property
    def is_value(self) -> bool:
        """Whether it is the value of a function, `rest`, of the attribute."""
        return self.kind == _VALUE_KIND

    @property
    def is_null(self) -> bool:
        """Whether it is TRUE where the attribute was given without a value."""
        return self.kind == _NULL_KIND

    @property
    def is_since(self) -> bool:
        """Whether it is how far after the present the attribute's instant is."""
        return self.kind == _SINCE_KIND

    @property
    def is_outer(self) -> bool:
        """Whether it is the attribute's value of the whole event, wherever it is asked for."""
        return self.kind == _OUTER_KIND

    @property
    def is_over_time(self) -> bool:
        """Whether it is the value of a function, `rest`, of several events."""
        return self.kind in (_OVER_TIME_KIND, _OR_ZERO_KIND)

    @property
    def is_or_zero(self) -> bool:
        """Whether it is such a value that is 0 where nothing was counted."""
        return self.kind == _OR_ZERO_KIND

    @property
    def is_from_elsewhere(self) -> bool:
        """Whether its value is not read from the event: it is of the event around an element, or of several events."""
        return self.is_outer or self.is_over_time

    @property
    def is_key(self) -> bool:
        """Whether it says that a subscription has a key of its own, `rest` in JSON. It never has a value."""
        return self.kind == _KEY_KIND

    @property
    def is_of_elements(self) -> bool:
        """Whether it asks for `rest` to be read from a list's elements."""
        return self.kind == _OF_KIND


def reading_of(name: str) -> Reading:
    """Split a compiled name into its parts.

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
    """The name of the list of an attribute's words, as `model.texts.Text` makes them with these settings."""
    return name + PART + _WORDS_KIND + PART + settings


def as_line(name: str, settings: str) -> str:
    """The name of the string of an attribute's words in order, in which phrases are searched."""
    return name + PART + _LINE_KIND + PART + settings


def as_text(name: str) -> str:
    """The name that holds the text itself, for `language.evaluate`, when an attribute's value is its words."""
    return name + PART + _TEXT_KIND


def as_array(name: str, text: str) -> str:
    """The name of the list for an array; `name` is the array's first attribute."""
    return name + PART + _ARRAY_KIND + PART + text


def as_value(name: str, text: str) -> str:
    """The name of the value of a function, as text; `name` is the first attribute that it looks at."""
    return name + PART + _VALUE_KIND + PART + text


def as_null(name: str) -> str:
    """The name of what is TRUE where an attribute was given as null, and absent elsewhere."""
    return name + PART + _NULL_KIND


def as_since(name: str) -> str:
    """The name of how far after the present an attribute's instant is, as an instant that far after 1970."""
    return name + PART + _SINCE_KIND


def as_outer(name: str) -> str:
    """The name of an attribute's value of the whole event, also among the attributes of an element."""
    return name + PART + _OUTER_KIND


def as_over_time(text: str, *, or_zero: bool = False) -> str:
    """The name of the value of a function of several events, as text; `or_zero` if it is 0 where it would be absent."""
    return _EVENTS + PART + (_OR_ZERO_KIND if or_zero else _OVER_TIME_KIND) + PART + text


def as_key(names: Sequence[str]) -> str:
    """The name by which a compiled subscription tells its own key, the attributes that identify an object."""
    return _EVENTS + PART + _KEY_KIND + PART + json.dumps(names)


def has_instants(name: str) -> bool:
    """Whether a compiled name may have a reading as an instant. Other readings, and the present, have their own types.

    A template's own names begin with `PART`.
    """
    return PART not in name[1:] and name != NOW


def as_elements(name: str) -> str:
    """The name that holds the elements of an attribute's list, each as an event, for `language.evaluate`."""
    return name + PART + _ELEMENTS_KIND


def as_condition(name: str, text: str, kind: str) -> str:
    """The name of the truth of a condition about a list's elements or a place; `kind` is SOME .. PLACED_OR_NOT."""
    return name + PART + kind + PART + text


def of_elements(name: str, inner: str) -> str:
    """The name that asks for `inner` to be read from the elements of an attribute's list."""
    return name + PART + _OF_KIND + PART + inner


def attribute_of(name: str) -> str:
    """The attribute that a compiled name reads, or the name itself if it is an attribute's own."""
    at = name.find(PART, 1)
    return name if at < 0 else name[:at]


def is_reading(name: str) -> bool:
    """Whether a compiled name is a reading other than the attribute's own value."""
    return name.find(PART, 1) >= 0
