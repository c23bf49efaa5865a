"""Does an event match a rule of Sigma? A naive reading of Sigma's specification, without pySigma and tocsin's language.

A rule is the dictionary that its YAML is. Values are read as `Pattern`s, lists of characters and wildcards, and the
condition is parsed by descent. A field that is a list has several values, and one of them must match.
"""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.naive.flatten import raw, scalars_at

Rule = Mapping[str, Any]
Event = Mapping[str, Any]
Test = Callable[[Event], bool]


class NotRead(Exception):
    """The specification has no such thing, or this reading of it stops short."""


def matches(rule: Rule, event: Event) -> bool:
    """Whether the condition of a rule holds for an event."""
    detections = {name: body for name, body in rule["detection"].items() if name not in ("condition", "timeframe")}
    return _Condition(rule["detection"]["condition"], detections, event).holds()


# Values of events


def exists(event: Event, field: str) -> bool:
    """Whether there is a value that is not null, also in objects of a list; an object that is no element is one."""
    found = raw(event, tuple(field.split(".")))
    return any(isinstance(value, Mapping) or any(True for _ in all_values(value)) for value in found)


def _alone(event: Event, field: str) -> Any:
    """What a field has where no list lies on the way."""
    inner: Any = event
    if field in event:
        return event[field]
    for name in field.split("."):
        inner = inner.get(name) if isinstance(inner, Mapping) else None
    return inner


def all_values(value: object) -> Iterator[Any]:
    """Every scalar of an event, for keywords."""
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from all_values(inner)
    elif value is not None:
        yield value


# Patterns

ANY_TEXT: Final = 0
ANY_SIGN: Final = 1
Pattern = tuple[str | int, ...]


def pattern(text: str) -> Pattern:
    r"""Characters and wildcards of a value: `\*`, `\?` and `\\` are themselves, and any other backslash is."""
    signs: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in ("*", "?", "\\"):
            at += 1
            signs.append(text[at])
        else:
            signs.append({"*": ANY_TEXT, "?": ANY_SIGN}.get(text[at], text[at]))
        at += 1
    return tuple(signs)


def fits(wanted: Pattern, value: str, cased: bool) -> bool:
    """Whether a whole text fits a pattern."""
    if not cased:
        wanted = tuple(sign.casefold() if isinstance(sign, str) else sign for sign in wanted)
        value = value.casefold()
    signs = {ANY_TEXT: ".*", ANY_SIGN: "."}
    compiled = "".join(re.escape(sign) if isinstance(sign, str) else signs[sign] for sign in wanted)
    return re.fullmatch(compiled, value, re.DOTALL) is not None


# Modifiers that change a value into others

_DASHES: Final = "-/–—―"


def _plain(wanted: Pattern) -> bytes:
    if ANY_TEXT in wanted or ANY_SIGN in wanted:
        raise NotRead("wildcards in base64")
    return "".join(map(str, wanted)).encode("utf-8", "surrogateescape")


def _encoded(wanted: Pattern, codec: str) -> Pattern:
    """Each character as one of Latin 1 for each of its bytes; wildcards stay."""
    inner = (sign if isinstance(sign, int) else tuple(sign.encode(codec).decode("latin-1")) for sign in wanted)
    return tuple(itertools.chain.from_iterable((sign,) if isinstance(sign, int) else sign for sign in inner))


def _base64(wanted: Pattern) -> list[Pattern]:
    return [tuple(base64.b64encode(_plain(wanted)).decode())]


def _base64_offset(wanted: Pattern) -> list[Pattern]:
    """What is left of the value in base64, wherever in a longer text it starts: signs that share bits with it go."""
    found = []
    for shift in range(3):
        plain = bytes(shift) + _plain(wanted)
        encoded = base64.b64encode(plain).decode()
        found.append(tuple(encoded[(0, 2, 3)[shift] : (None, -3, -2)[len(plain) % 3]]))
    return found


def _windash(wanted: Pattern) -> list[Pattern]:
    """A dash or slash before a word and after none becomes each of the dashes."""

    def is_word(place: int) -> bool:
        sign = wanted[place] if 0 <= place < len(wanted) else ""
        return isinstance(sign, str) and re.fullmatch(r"\w", sign) is not None

    choices = [
        tuple(_DASHES) if sign in ("-", "/") and is_word(place + 1) and not is_word(place - 1) else (sign,)
        for place, sign in enumerate(wanted)
    ]
    return list(itertools.product(*choices))


_CHANGES: Final[dict[str, Callable[[Pattern], list[Pattern]]]] = {
    "contains": lambda wanted: [(ANY_TEXT, *wanted, ANY_TEXT)],
    "startswith": lambda wanted: [(*wanted, ANY_TEXT)],
    "endswith": lambda wanted: [(ANY_TEXT, *wanted)],
    "windash": _windash,
    "base64": _base64,
    "base64offset": _base64_offset,
    "wide": lambda wanted: [_encoded(wanted, "utf-16-le")],
}


# Items of a detection


class _Field(NamedTuple):
    name: str
    modifiers: tuple[str, ...]

    def some(self, event: Event, test: Callable[[Any], bool]) -> bool:
        """Whether a value of the field, or of the whole event for a keyword, passes."""
        found = scalars_at(event, self.name) if self.name else all_values(event)
        return any(test(value) for value in found)


def item(key: str, wanted: Any) -> Test:
    name, *modifiers = key.split("|")
    field = _Field(name, tuple(one for one in modifiers if one not in ("all", "neq")))
    tests = [_test(field, one) for one in (wanted if isinstance(wanted, list) else [wanted])]
    joined = all if "all" in modifiers else any
    negated = "neq" in modifiers
    return lambda event: joined(test(event) for test in tests) is not negated


def _test(field: _Field, wanted: Any) -> Test:
    name, modifiers = field
    for modifier in modifiers:
        if modifier in _WHOLE:
            return _WHOLE[modifier](field, wanted)
    if wanted is None:
        return lambda event: not exists(event, name)
    if isinstance(wanted, bool):
        return lambda event: field.some(
            event, lambda value: value is wanted or (isinstance(value, str) and value.casefold() == str(wanted).lower())
        )
    if isinstance(wanted, float) and wanted.is_integer():
        wanted = int(wanted)
    if isinstance(wanted, int | float) and not modifiers and name:
        return lambda event: field.some(event, lambda value: _is_number(value, wanted) or value == str(wanted))
    patterns = [pattern(str(wanted))] if isinstance(wanted, str | int | float) else []
    for modifier in modifiers:
        if modifier != "cased":
            patterns = [changed for one in patterns for changed in _CHANGES[modifier](one)]
    if not name:
        patterns = [(ANY_TEXT, *one, ANY_TEXT) for one in patterns]
    cased = "cased" in modifiers
    return lambda event: field.some(event, lambda value: any(_spells(one, value, cased) for one in patterns))


def _spells(wanted: Pattern, value: object, cased: bool) -> bool:
    """Whether a text fits a pattern, or a number or boolean is what is left of it without wildcards at its ends."""
    if isinstance(value, str):
        return fits(wanted, value, cased)
    inner = list(wanted)
    while inner and inner[0] == ANY_TEXT:
        del inner[0]
    while inner and inner[-1] == ANY_TEXT:
        del inner[-1]
    if not inner:
        return bool(wanted)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_plain = all(isinstance(sign, str) for sign in inner)
    return is_plain and isinstance(value, bool | int | float) and fits(tuple(inner), str(value).lower(), cased)


def _is_number(value: object, wanted: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == wanted


def _regular(field: _Field, wanted: str) -> Test:
    flags = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    compiled = re.compile(wanted, sum(flags[one] for one in field.modifiers if one in flags))
    return lambda event: field.some(event, lambda value: isinstance(value, str) and bool(compiled.search(value)))


def _cidr(field: _Field, wanted: str) -> Test:
    network = ipaddress.ip_network(wanted)

    def inside(value: Any) -> bool:
        try:
            return isinstance(value, str) and ipaddress.ip_address(value) in network
        except ValueError:
            return False

    return lambda event: field.some(event, inside)


def _compared(holds: Callable[[float, float], bool]) -> Callable[[_Field, float], Test]:
    def test(field: _Field, wanted: float) -> Test:
        return lambda event: field.some(
            event,
            lambda value: isinstance(value, int | float) and not isinstance(value, bool) and holds(value, wanted),
        )

    return test


def _exists(field: _Field, wanted: bool) -> Test:
    return lambda event: exists(event, field.name) is wanted


def _field_reference(field: _Field, wanted: str) -> Test:
    """Whether two fields have the same text or number; lists are not compared."""
    return lambda event: _alike(_alone(event, field.name), _alone(event, wanted))


def _alike(value: Any, other: Any) -> bool:
    if isinstance(value, str) and isinstance(other, str):
        return value.casefold() == other.casefold()
    is_scalar = value is not None and not isinstance(value, list | Mapping)
    return is_scalar and (type(value) is bool) is (type(other) is bool) and bool(value == other)


def _hour(field: _Field, wanted: int) -> Test:
    def holds(value: Any) -> bool:
        try:
            return isinstance(value, str) and dt.datetime.fromisoformat(value).astimezone(dt.UTC).hour == wanted
        except ValueError:
            return False

    return lambda event: field.some(event, holds)


_WHOLE: Final[dict[str, Callable[[_Field, Any], Test]]] = {
    "fieldref": _field_reference,
    "re": _regular,
    "cidr": _cidr,
    "exists": _exists,
    "hour": _hour,
    "lt": _compared(lambda value, bound: value < bound),
    "lte": _compared(lambda value, bound: value <= bound),
    "gt": _compared(lambda value, bound: value > bound),
    "gte": _compared(lambda value, bound: value >= bound),
}


def detection(body: Any) -> Test:
    """A map is AND; a list is OR, of maps or of keywords; a text alone is a keyword."""
    if isinstance(body, Mapping):
        tests = [item(key, wanted) for key, wanted in body.items()]
        return lambda event: all(test(event) for test in tests)
    if isinstance(body, list):
        tests = [detection(one) for one in body]
        return lambda event: any(test(event) for test in tests)
    return item("", body)


# Conditions


class _Condition:
    """A condition by descent: NOT before AND before OR."""

    def __init__(self, text: str, detections: Mapping[str, Any], event: Event) -> None:
        self.words = re.findall(r"[()]|[^\s()]+", text)
        self.detections, self.event = detections, event
        self.at = 0

    def holds(self) -> bool:
        found = self._or()
        if self.at != len(self.words):
            raise NotRead(self.words[self.at])
        return found

    def _next(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def _is(self, word: str) -> bool:
        found = self.at < len(self.words) and self.words[self.at].lower() == word
        self.at += found
        return found

    def _or(self) -> bool:
        found = self._and()
        while self._is("or"):
            found = self._and() or found
        return found

    def _and(self) -> bool:
        found = self._not()
        while self._is("and"):
            found = self._not() and found
        return found

    def _not(self) -> bool:
        if self._is("not"):
            return not self._not()
        if self._is("("):
            found = self._or()
            if not self._is(")"):
                raise NotRead("no closing parenthesis")
            return found
        for quantity, joined in (("1", any), ("any", any), ("all", all)):
            if self.words[self.at + 1 : self.at + 2] == ["of"] and self._is(quantity):
                self.at += 1
                return joined(self._detection(name) for name in self._named(self._next()))
        return self._detection(self._next())

    def _named(self, wanted: str) -> Sequence[str]:
        """The detections that a pattern names; those that begin with an underscore only if it does."""
        expression = ".*" if wanted == "them" else re.escape(wanted).replace(r"\*", ".*")
        hidden = wanted.startswith("_")
        found = [one for one in self.detections if re.fullmatch(expression, one) and (hidden or one[0] != "_")]
        if not found:
            raise NotRead(wanted)
        return found

    def _detection(self, name: str) -> bool:
        return detection(self.detections[name])(self.event)
