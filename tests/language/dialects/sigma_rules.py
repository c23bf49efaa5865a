"""Rules of Sigma, and events, at random over a small vocabulary: what a rule asks for is often there."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

Rule = dict[str, Any]
Item = tuple[str, Any]
Draw = Callable[[Random], Any]

_TEXTS: Final = [
    "admin",
    "Admin",
    "ADMIN",
    "administrator",
    "",
    "C:\\Windows\\cmd.exe",
    "C:\\WINDOWS\\CMD.EXE",
    "axb",
    "a_b",
]
_TEXTS.extend(
    ["cmd -enc YWRtaW4=", "cmd /enc now", "cmd –enc", "x-enc", "a*b", "a?b", "a\\b", "a\\\\b", "a\\*b", "100%", "5"]
)
_TEXTS.extend(["4688", "x YWRtaW4 y", "xxFkbWlu", "YQBkAG0AaQBuA", "two\nlines", "É", "é", "5.0", "1.5", "true"])
_ADDRESSES: Final = [
    "10.1.2.3",
    "10.255.0.1",
    "11.0.0.1",
    "192.168.1.7",
    "fe80::1",
    "2001:db8::5",
    "10.1.2.300",
    "10.1.2",
]
_NUMBERS: Final = [5, 4688, 4688.0, 1.5, 0, -3, 7]
_TIMES: Final = ["2024-05-31T08:15:00Z", "2024-05-31T08:15:00+02:00", "2024-05-31T23:59:59Z", "2024-05-31T00:00:00Z"]


def texts(random: Random) -> str:
    return random.choice(_TEXTS)


def numbers(random: Random) -> float:
    return random.choice(_NUMBERS)


def flags(random: Random) -> bool:
    return random.random() < 0.5


def addresses(random: Random) -> str:
    return random.choice(_ADDRESSES)


def times(random: Random) -> str:
    return random.choice(_TIMES)


# Events


def _field(values: Draw) -> Draw:
    """Mostly a value; several, a null, or a value of another type."""

    def draw(random: Random) -> Any:
        other = random.choice([texts, numbers, flags, addresses, times, lambda _: None])
        chance = random.random()
        if chance < 0.65:
            return values(random)
        if chance < 0.85:
            return [random.choice([values, other])(random) for _ in range(random.randrange(4))]
        return other(random)

    return draw


def _object(chance: float, **draws: Draw) -> Draw:
    return lambda random: {name: draw(random) for name, draw in draws.items() if random.random() < chance}


_WORDY: Final = {"User": texts, "Image": texts, "Line": texts}
_COUNTED: Final = {"EventID": numbers, "Size": numbers}
_host: Final = _object(0.7, name=_field(texts))
event: Final = _object(
    0.75,
    **{name: _field(values) for name, values in {**_WORDY, **_COUNTED, "Ip": addresses, "At": times}.items()},
    Host=lambda random: random.choice([_host(random), None, [_host(random) for _ in range(random.randrange(3))]]),
)
_ROW_TEXTS: Final = [text for text in _TEXTS if text.lower() != "é"]
row: Final = _object(
    0.8,
    **dict.fromkeys(_WORDY, lambda random: random.choice(_ROW_TEXTS)),
    **_COUNTED,
    Ip=lambda random: random.choice(_ADDRESSES[:4]),
)
"""An event that is a row of a table: no lists, no objects, one type to a column, and no case beyond ASCII."""
COLUMNS: Final = [*_WORDY, *_COUNTED, "Ip", "Absent"]


# Items of detections

_PATTERNS: Final = [
    "admin",
    "ADMIN",
    "",
    "*",
    "a*",
    "*min*",
    "a?b",
    "a\\*b",
    "a\\?b",
    "a\\\\b",
    "a\\b",
    "a\\\\*b",
    "a\\\\\\*b",
]
_PATTERNS.extend(
    ["100%", "a_b", "*\\cmd.exe", "\\cmd.exe", "C:\\", "C:\\\\", "C:\\Windows\\*", "5", "4688", "-enc", "cmd -enc*"]
)
_PATTERNS.extend(["two*lines", "mi", "%", "É", "?", "**", "true", "FALSE*", "-3", "*1.5", "5.0", "4?88"])
_REGEXPS: Final = [
    "adm",
    "^admin$",
    "a.b",
    "[0-9]+",
    "CMD\\.exe",
    "\\bcmd\\b",
    "two.lines",
    "^lines",
    "(a|b)+x?b",
    "\\\\",
    "two$",
]
_NETWORKS: Final = ["10.0.0.0/8", "192.168.1.0/24", "10.1.2.3/32", "0.0.0.0/0", "fe80::/10", "2001:db8::/32"]
_ENDS: Final = ["|contains", "|startswith", "|endswith"]
_TEXT_FIELDS: Final = [*_WORDY, *_WORDY, "Host.name"]
_FIELDS: Final = [*_WORDY, *_COUNTED, "Ip", "At", "Absent", "Host", "Host.name"]


def _patterns(random: Random) -> str:
    return random.choice(_PATTERNS)


def _words(random: Random) -> str:
    return random.choice(["admin", "-enc", "a", "now"])


def _of(values: Draw, modifiers: list[str], fields: list[str], least: int = 1) -> Callable[[Random], Item]:
    """An item of a map: a field with modifiers, and a value or several."""

    def draw(random: Random) -> Item:
        count = max(least, random.choice([1, 1, 2, 3]))
        found = [values(random) for _ in range(count)]
        return random.choice(fields) + random.choice(modifiers), found if count > 1 else found[0]

    return draw


def _one_of(*values: Any) -> Draw:
    return lambda random: random.choice(values)


_ITEMS: Final[list[Callable[[Random], Item]]] = [
    *[_of(_patterns, ["", "", "|cased", "|neq"], _TEXT_FIELDS)] * 2,
    *[_of(_patterns, [*_ENDS, *(end + "|cased" for end in _ENDS)], _TEXT_FIELDS)] * 2,
    _of(_patterns, [end + "|all" for end in _ENDS], _TEXT_FIELDS, least=2),
    _of(_one_of(*_REGEXPS), ["|re", "|re|i", "|re|s", "|re|m", "|re|i|m"], _TEXT_FIELDS),
    _of(_patterns, ["", *_ENDS, "|cased"], [*_COUNTED, "Host"]),
    _of(numbers, ["", "|neq"], ["EventID", "Size", "User"]),
    _of(numbers, ["|lt", "|lte", "|gt", "|gte"], ["EventID", "Size", "User"]),
    _of(_one_of(None, True, False, None, "admin"), [""], _FIELDS),
    _of(_one_of(*_NETWORKS), ["|cidr"], ["Ip", "Ip", "User"]),
    _of(_patterns, ["|windash", "|windash|contains", "|contains|windash"], _TEXT_FIELDS),
    _of(_patterns, ["|windash|contains|all"], _TEXT_FIELDS, least=2),
    _of(_words, ["|base64", "|base64|contains", "|base64offset|contains", "|wide|base64offset|contains"], _TEXT_FIELDS),
    lambda random: (random.choice(_FIELDS) + "|exists", flags(random)),
    lambda random: (random.choice(_FIELDS[:6]) + "|fieldref", random.choice(["User", "Image", "Size"])),
    lambda random: ("At|hour", random.choice([0, 6, 8, 23])),
]
_ROW_ITEMS: Final[list[Callable[[Random], Item]]] = [
    *[_of(_patterns, ["", *_ENDS, "|cased", *(end + "|cased" for end in _ENDS)], [*_WORDY])] * 3,
    _of(_patterns, [end + "|all" for end in _ENDS], [*_WORDY], least=2),
    _of(_one_of(*_REGEXPS), ["|re", "|re|i", "|re|s"], [*_WORDY]),
    _of(numbers, ["", "|lt", "|lte", "|gt", "|gte"], [*_COUNTED]),
    _of(_one_of(*_NETWORKS[:3]), ["|cidr"], ["Ip"]),
    _of(_words, ["|windash|contains", "|base64offset|contains", "|base64"], [*_WORDY]),
    _of(_one_of("admin", "axb"), ["|neq"], [*_WORDY]),
    lambda random: (random.choice(COLUMNS) + "|exists", flags(random)),
    lambda random: (random.choice(COLUMNS), None),
]


# Detections and conditions

_NAMES: Final = ["sel", "sel_a", "sel_b", "filter", "_own"]
_ATOMS: Final = ["1 of sel*", "all of sel*", "1 of them", "all of them", "any of sel_*", "1 of *_b", "1 of _own"]
_FORMS: Final = ["{} and {}", "{} or {}", "not {}", "({})", "{} and not ({})", "not {} or {}", "({} or {}) and {}"]


def _map(random: Random, items: list[Callable[[Random], Item]]) -> Rule:
    return dict(random.choice(items)(random) for _ in range(random.choice([1, 1, 2, 3])))


def _keywords(random: Random) -> Any:
    words = [word for word in random.choices(_PATTERNS, k=3) if word]
    return {"|all": words} if len(words) > 1 and random.random() < 0.4 else words or ["admin"]


def _detection(random: Random, items: list[Callable[[Random], Item]], keywords: bool) -> Any:
    chance = random.random()
    if keywords and chance < 0.1:
        return _keywords(random)
    if chance < 0.3:
        return [_map(random, items) for _ in range(random.randrange(1, 4))]
    return _map(random, items)


def _condition(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.4:
        return random.choice([*_ATOMS, *_NAMES, *_NAMES])
    form = random.choice(_FORMS)
    return form.format(*(_condition(random, depth - 1) for _ in range(form.count("{}"))))


def rule(random: Random, rows: bool = False) -> Rule:
    """A rule with five detections; for rows of a table without what these do not have."""
    items = _ROW_ITEMS if rows else _ITEMS
    detections = {name: _detection(random, items, not rows) for name in _NAMES}
    return {"title": "t", "detection": {**detections, "condition": _condition(random, 2)}}
