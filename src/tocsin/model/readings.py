"""Under which names are attributes compiled? Their own and, where they are compared with an instant, one beside it.

A string that is compared with an instant is read as one, where the whole of it is a date or a timestamp; compared with
a string it stays what it is. So an attribute has two readings, and a comparison with an instant is compiled on the
second, under a name of its own. An event's value is put under both, as far as it has them: no rule of three-valued
logic is needed beyond that of an absent attribute, and no subscription changes what another one means.
"""

from __future__ import annotations

import re
from typing import Final

from tocsin.errors import InvalidInput
from tocsin.model.values import FIRST_INSTANT, LAST_INSTANT, Instant

_MARK: Final = "\x00instant"

_TIME: Final = r"[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)?"
INSTANT_PATTERN: Final = rf"^[0-9]{{4}}-\d\d-\d\d({_TIME})?$"
"""RFC 3339, and what ISO 8601 allows beyond it: no seconds, and no zone, which means UTC."""
_INSTANT: Final = re.compile(INSTANT_PATTERN, re.ASCII)


def as_instant(name: str) -> str:
    """The name of an attribute's reading as an instant."""
    return name + _MARK


def attribute_of(name: str) -> str:
    """The attribute that a compiled name is a reading of, itself for its own."""
    return name.removesuffix(_MARK)


def is_reading(name: str) -> bool:
    """Whether a compiled name is that of a reading as an instant."""
    return name.endswith(_MARK)


def read_instant(text: str) -> Instant | None:
    """The instant that the whole of a string is, None for none.

    >>> read_instant("1970-01-01T00:00:01Z"), read_instant("yesterday")
    (Instant(microseconds=1000000), None)
    """
    if "\n" in text or not _INSTANT.match(text):
        return None
    try:
        instant = Instant.parse(text.upper())
    except InvalidInput:
        return None
    return instant if FIRST_INSTANT <= instant <= LAST_INSTANT else None
