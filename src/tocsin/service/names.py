"""Names and numbers from the network: checked before SQLite or the engine sees them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from tocsin.model.subscription import SubscriptionId
from tocsin.service.problems import Problem, invalid
from tocsin.service.times import milliseconds_of

MOST_ID: Final = 256
"""Bytes of an id."""
MOST_NUMBER: Final = 2**53 - 1
"""The largest number that every JSON reader keeps exact."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,15}")
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")


def path_text(raw: str) -> str:
    """A part of a path, decoded; raises a `Problem` if it is not UTF-8."""
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise Problem(400, "path", "the path is not valid UTF-8") from None


def checked_name(text: str, what: str) -> str:
    """An id as text: not empty, short and without control characters."""
    if not text:
        raise invalid(f"the id of a {what} is empty", field="id")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise invalid(f"the id of a {what} has a lone surrogate", field="id") from None
    if size > MOST_ID:
        raise invalid(f"the id of a {what} has {size} bytes; {MOST_ID} are allowed", field="id")
    if _CONTROL.search(text):
        raise invalid(f"the id of a {what} has a control character", field="id")
    return text


def subscription_id(text: str, kind: type | None) -> SubscriptionId:
    """The id in a path. In a store whose ids are integers it is one."""
    text = checked_name(text, "subscription")
    if kind is not int:
        return text
    if not _INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise invalid(f"the ids of this store are integers, and {text!r:.40} is not one", field="id")
    return int(text)


def record_id(raw: object) -> SubscriptionId:
    """The id in a record of a bulk."""
    if isinstance(raw, str):
        return checked_name(raw, "subscription")
    if isinstance(raw, int) and not isinstance(raw, bool) and -(2**63) <= raw < 2**63:
        return raw
    raise invalid("an id is a string, or an integer of 64 bits", field="id")


class Asked:
    """The options in the query of a URL. Each is known and of its type, and given once unless it is `repeated`."""

    def __init__(
        self, items: list[tuple[str, str]], known: frozenset[str], repeated: frozenset[str] = frozenset()
    ) -> None:
        self._given: dict[str, str] = {}
        self._repeated: dict[str, list[str]] = {name: [] for name in repeated}
        for name, value in items:
            if name not in known:
                options = ", ".join(sorted(known)) or "none"
                raise Problem(400, "query", f"{name!r:.40} is not an option here; there are: {options}")
            if name in self._given:
                raise Problem(400, "query", f"the option {name!r:.40} is given twice")
            if "\x00" in value or "\ufffd" in value:
                raise Problem(400, "query", f"the option {name!r:.40} is not a valid text")
            if name in self._repeated:
                self._repeated[name].append(value)
            else:
                self._given[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str) -> str | None:
        """The text of an option, None if it is not given."""
        return self._given.get(name)

    def texts(self, name: str) -> list[str]:
        """The texts of an option that may be repeated."""
        return self._repeated[name]

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """An integer."""
        text = self._given.get(name)
        if text is None:
            return default
        if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
            raise Problem(400, "query", f"{name} is {text!r:.40}; it is an integer from {least} to {most}")
        return int(text)

    def seconds(self, name: str, most: float) -> float:
        """A number of seconds, 0 if it is not given."""
        text = self._given.get(name, "0")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= most:
            raise Problem(400, "query", f"{name} is {text!r:.40}; it is a number of seconds up to {most:g}")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        text = self._given.get(name)
        if text is None:
            return default
        if text not in ("true", "false"):
            raise Problem(400, "query", f"{name} is {text!r:.40}; it is true or false")
        return text == "true"


def present(record: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a record that are not null. Null is as good as nothing, except in a merge patch."""
    return {name: value for name, value in record.items() if value is not None}


def only(record: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    """Raise a `Problem` for a member that a record does not have."""
    for name in record:
        if name not in known:
            have = ", ".join(sorted(known))
            raise invalid(f"a {what} has no {name!r:.40}; it has {have}", field=str(name)[:80])


def integral(value: Any) -> Any:
    """A number without a fraction as an integer, since JSON tells `1.0` not from `1`; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def whole(value: object, field: str, least: int, most: int) -> int:
    """An integer of a JSON document."""
    value = integral(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise invalid(f"{field} is {str(value)[:40]}; it is an integer from {least} to {most}", field=field)
    return value


def amount(value: object, field: str, least: float, most: float) -> float:
    """A number of a JSON document."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise invalid(f"{field} is {str(value)[:40]}; it is a number from {least:g} to {most:g}", field=field)
    return float(value)


def line(value: object, field: str, most: int) -> str:
    """A text of a JSON document: not empty, not long, and without control characters."""
    if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
        raise invalid(f"{field} is a text of 1 to {most:,} printable characters", field=field)
    return value


def flag(record: Mapping[str, Any], field: str) -> bool:
    """A truth value of a JSON document, false if it is not given."""
    value = record.get(field, False)
    if not isinstance(value, bool):
        raise invalid(f"{field} is {str(value)[:40]}; it is true or false", field=field)
    return value


def instant(record: Mapping[str, Any], field: str) -> int | None:
    """A time of a JSON document in milliseconds: RFC 3339, with its offset from UTC. None if it is not given."""
    value = record.get(field)
    if value is None:
        return None
    try:
        return milliseconds_of(value)
    except (TypeError, ValueError, OverflowError):
        detail = f"{field} is a time such as 2026-01-31T12:00:00Z, in the years 1 to 9999 of UTC"
        raise invalid(detail, field=field) from None
