"""The tables of a pipeline's file: their keys, and the checks of each value on its own.

A check returns the table as far as it is valid, so that the checks that follow find other faults in the same run.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from tocsin.pipeline.faults import Faults
from tocsin.records.formats import words_of
from tocsin.spark.windows.copies import PLACEMENTS
from tocsin.window.frequencies import TERM_FREQUENCIES

Table: TypeAlias = Mapping[str, Any]
"""A table's values by their keys."""

CHANGES: Final = "subscriptions.changes"
WINDOW: Final = "window"


class Key(NamedTuple):
    """The values that a key of a table may have."""

    kind: type | tuple[type, ...]
    is_required: bool = False
    choices: Callable[[], Collection[str]] | None = None
    least: float | None = None


_TEXT, _PATH = Key(str), Key(str, is_required=True)
_COUNT: Final = Key(int, least=1)

_SOURCES: Final[dict[str, dict[str, Key]]] = {
    "files": {
        "path": _PATH,
        "format": Key(str, is_required=True, choices=lambda: words_of(lambda row: row.is_streamed)),
        "schema": _TEXT,
        "files_per_batch": _COUNT,
        "header": Key(bool),
        "delimiter": _TEXT,
    },
    "rate": {"rows_per_second": _COUNT},
    "kafka": {
        "servers": _PATH,
        "topic": _PATH,
        "starting": Key(str, choices=lambda: ("earliest", "latest")),
        "events_per_batch": _COUNT,
        "schema": _TEXT,
        "options": Key(dict),
    },
}
_SINKS: Final[dict[str, dict[str, Key]]] = {
    "files": {
        "path": _PATH,
        "format": Key(str, is_required=True, choices=lambda: words_of(lambda row: row.in_spark)),
    },
    "kafka": {"servers": _PATH, "topic": _PATH, "key": _TEXT, "options": Key(dict)},
    "console": {"rows": _COUNT},
}
_TABLES: Final[dict[str, dict[str, Key]]] = {
    "subscriptions": {
        "index": _PATH,
        "path": _TEXT,
        "structure": _TEXT,
        "keep_seconds": Key((int, float), least=0),
    },
    "match": {
        "attributes": Key(list),
        "points": Key(dict),
        "ranking": _TEXT,
        "explode": Key(bool),
        "event_id": _TEXT,
    },
    "window": {
        "size": _COUNT,
        "seconds": Key((int, float), least=0),
        "bounds": Key(list, is_required=True),
        "order": Key(list, is_required=True),
        "placement": Key(str, choices=lambda: PLACEMENTS),
        "partitions": _COUNT,
        "weights": Key(dict),
        "text": _TEXT,
        "term_frequency": Key(str, choices=lambda: TERM_FREQUENCIES),
        "structure": _TEXT,
        "lists": Key(bool),
    },
    "rejects": {"path": _PATH},
    "run": {"checkpoint": _PATH, "every": _TEXT, "metrics": _TEXT, "name": _TEXT},
    "spark": {"master": _TEXT},
}
_OF_WINDOWS: Final = {"subscriptions": {"path": _PATH, "schema": _TEXT}}
"""Tables that have other keys if there is a window: it has no index."""
_KINDS: Final = {"events": _SOURCES, CHANGES: _SOURCES, "sink": _SINKS}
_REQUIRED: Final = ("events", "subscriptions", "sink", "run")
_STAND_INS: Final[Mapping[object, Any]] = {str: "", bool: True}
"""What replaces a value of another type: the checks that follow see that the key is there."""


def valid_tables(says: Table, faults: Faults) -> dict[str, Table]:
    """The tables by name, with what is valid in them, after all faults are reported. Changes are `CHANGES`."""
    known = [name for name in (*_KINDS, *_TABLES) if "." not in name]
    for name, table in says.items():
        if name not in known:
            what = f"there is no table [{name}]; there are {', '.join(sorted(known))}{_like(name, known)}"
            faults.add(name, "", what)
        elif not isinstance(table, dict):
            faults.add("", name, f"{name} must be a table: write [{name}], and its keys below it")
    for name in _REQUIRED:
        if name not in says:
            faults.add(name, "", f"the table [{name}] is missing")
    tables = {name: table for name, table in says.items() if name in known and isinstance(table, dict)}
    subscriptions = dict(tables.get("subscriptions", {}))
    if (changes := subscriptions.pop("changes", None)) is not None:
        tables["subscriptions"] = subscriptions
        if isinstance(changes, dict):
            tables[CHANGES] = changes
        else:
            faults.add("subscriptions", "changes", f"changes must be a table: write [{CHANGES}], and its keys below it")
    keys = _TABLES | _OF_WINDOWS if WINDOW in tables else _TABLES
    return {name: _valid(name, table, keys.get(name), faults) for name, table in tables.items()}


def _valid(name: str, table: Table, keys: dict[str, Key] | None, faults: Faults) -> Table:
    """A table with what is valid in it; without `keys` its kind decides which it has."""
    kind = {} if keys is not None else {"kind": _kind(name, table, faults)}
    if keys is None:
        keys = {"kind": Key(str), **_keys_of(_KINDS[name], kind["kind"])}
    valid: dict[str, Any] = {}
    for key, value in table.items():
        if key == "kind" and kind:
            continue
        if key in keys:
            valid |= _checked(name, key, keys[key], value, faults)
        elif name == "spark" and isinstance(value, str | int | float | bool):
            valid[key] = value
        else:
            what = "settings of Spark in quotes" if name == "spark" else ", ".join(keys)
            faults.add(name, key, f"[{name}] has no key {key!r}; it has {what}{_like(key, list(keys))}")
    for key, one in keys.items():
        if one.is_required and key not in table:
            faults.add(name, key, f"[{name}] lacks {key!r}")
    return valid | kind


def _kind(name: str, table: Table, faults: Faults) -> str:
    """The kind of a source or sink. If it is not valid: the kind that is probably meant, or else empty."""
    kinds, kind = _KINDS[name], table.get("kind")
    if isinstance(kind, str) and kind in kinds:
        return kind
    came = "is missing" if kind is None else f"is {kind!r}"
    faults.add(name, "kind", f"the kind of [{name}] {came}; it is one of {', '.join(kinds)}{_like(kind, kinds)}")
    required = {word: [key for key, one in keys.items() if one.is_required] for word, keys in kinds.items()}
    fitting = [word for word, needed in required.items() if needed and all(key in table for key in needed)]
    return next(iter([*_close(kind, kinds), *fitting]), "")


def _keys_of(kinds: Mapping[str, dict[str, Key]], kind: str) -> dict[str, Key]:
    """The keys of a kind; of all kinds, none of them required, if it is not known."""
    if kind in kinds:
        return kinds[kind]
    return {key: one._replace(is_required=False) for keys in kinds.values() for key, one in keys.items()}


def _checked(name: str, key: str, one: Key, value: Any, faults: Faults) -> Table:
    """The key and its value if it is valid, or else a stand-in or nothing, after the fault is reported."""
    kinds = one.kind if isinstance(one.kind, tuple) else (one.kind,)
    is_of_kind = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    if not is_of_kind:
        words = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
        faults.add(name, key, f"{key} is {value!r}; it must be {words[kinds[0]]}")
        return {key: _STAND_INS[kinds[0]]} if kinds[0] in _STAND_INS and one.choices is None else {}
    if one.choices is not None and value not in (known := one.choices()):
        faults.add(name, key, f"{key} is {value!r}; it is one of {', '.join(known)}{_like(value, known)}")
        return {}
    if one.least is not None and value < one.least:
        faults.add(name, key, f"{key} is {value}; it must be at least {one.least:g}")
        return {}
    return {key: value}


def _close(word: object, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(str(word), list(known), 1)


def _like(word: object, known: Iterable[str]) -> str:
    """A suggestion for a misspelt word."""
    close = _close(word, known)
    return f". Did you mean {close[0]!r}?" if close else ""
