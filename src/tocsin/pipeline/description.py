"""The description of a pipeline: a TOML file with the source of events, the subscriptions, the matching and the sink.

All faults of a file are reported together, each with its line. `example.toml` shows every table.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.encoding import Points, checked_points
from tocsin.errors import InvalidInput, TocsinError
from tocsin.index import choose
from tocsin.model.ranking import RANKINGS, Ranking
from tocsin.pipeline.faults import Faults, places_of
from tocsin.records.csv_types import checked_delimiter
from tocsin.records.formats import FORMATS, JSON, PARQUET, Format, either, words_of


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
    "rejects": {"path": _PATH},
    "run": {"checkpoint": _PATH, "every": _TEXT, "metrics": _TEXT, "name": _TEXT},
    "spark": {"master": _TEXT},
}
_KINDS: Final = {"events": _SOURCES, "subscriptions.changes": _SOURCES, "sink": _SINKS}
_MASTER: Final = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[.+\]|spark://.+|k8s://.+|yarn")
_MASTERS: Final = "local, local[N], local[*], spark://HOST:PORT, k8s://HOST:PORT or yarn"
_INTERVAL: Final = re.compile(r"\d+ *(microsecond|millisecond|second|minute|hour|day)s?", re.IGNORECASE)
_REQUIRED: Final = ("events", "subscriptions", "sink", "run")


@dataclass(frozen=True, slots=True)
class End:
    """A source or a sink: its kind, and the other keys of its table."""

    kind: str
    says: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.says[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key in the table."""
        return self.says.get(key, default)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline as its file describes it. Paths are relative to the file's folder."""

    events: End
    index: Path
    checkpoint: Path
    sink: End
    subscriptions: Path | None = None
    structure: str = "auto"
    keep_s: float = 600.0
    changes: End | None = None
    attributes: list[str] | None = None
    points: Points = field(default_factory=dict)
    ranking: Ranking | None = None
    explode: bool = False
    event_id: str | None = None
    rejects: Path | None = None
    every: str = "0 seconds"
    metrics: Path | None = None
    name: str = "tocsin"
    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)


def read_pipeline(path: str | Path) -> Pipeline:
    """Read a pipeline's file; raises `InvalidInput` with all faults, each with its line."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        says = tomllib.loads(text)
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist; `tocsin pipeline new {path}` writes an example") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8: byte {error.start} is {error.object[error.start]:#x}") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path}: {error}") from None
    faults = Faults(path, places_of(text))
    _check_tables(says, faults)
    faults.stop()
    pipeline = _pipeline(says, path.parent, faults)
    faults.stop()
    return pipeline


def _check_tables(says: Mapping[str, Any], faults: Faults) -> None:
    known = [*(name for name in (*_KINDS, *_TABLES) if "." not in name)]
    for name, table in says.items():
        if name not in known:
            faults.add(
                name, "", f"there is no table [{name}]; there are {', '.join(sorted(known))}{_like(name, known)}"
            )
        elif not isinstance(table, dict):
            faults.add("", name, f"{name} must be a table: write [{name}], and its keys below it")
    for name in _REQUIRED:
        if name not in says:
            faults.add("", "", f"the table [{name}] is missing")
    tables = {name: says.get(name) for name in known}
    subscriptions = tables.get("subscriptions")
    if isinstance(subscriptions, dict):
        tables["subscriptions.changes"] = subscriptions.get("changes")
        tables["subscriptions"] = {key: value for key, value in subscriptions.items() if key != "changes"}
    for name, table in tables.items():
        if isinstance(table, dict):
            _check_table(name, table, faults)


def _check_table(name: str, table: Mapping[str, Any], faults: Faults) -> None:
    keys = _TABLES.get(name)
    if keys is None:
        kinds = _KINDS[name]
        kind = table.get("kind")
        if kind not in kinds:
            came = "is missing" if kind is None else f"is {kind!r}"
            faults.add(name, "kind", f"the kind of [{name}] {came}; it is one of {', '.join(kinds)}")
            return
        keys = {"kind": Key(str), **kinds[str(kind)]}
    for key, value in table.items():
        if key in keys:
            _check_value(name, key, keys[key], value, faults)
        elif name != "spark" or not isinstance(value, str | int | float | bool):
            what = "settings of Spark in quotes" if name == "spark" else ", ".join(keys)
            faults.add(name, key, f"[{name}] has no key {key!r}; it has {what}{_like(key, list(keys))}")
    for key, one in keys.items():
        if one.is_required and key not in table:
            faults.add(name, "", f"[{name}] lacks {key!r}")


def _check_value(name: str, key: str, one: Key, value: Any, faults: Faults) -> None:
    """Report an invalid value."""
    kinds = one.kind if isinstance(one.kind, tuple) else (one.kind,)
    is_of_kind = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    if not is_of_kind:
        words = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
        faults.add(name, key, f"{key} is {value!r}; it must be {words[kinds[0]]}")
    elif one.choices is not None and value not in (known := one.choices()):
        faults.add(name, key, f"{key} is {value!r}; it is one of {', '.join(known)}{_like(value, known)}")
    elif one.least is not None and value < one.least:
        faults.add(name, key, f"{key} is {value}; it must be at least {one.least:g}")


def _like(word: Any, known: Any) -> str:
    """A suggestion for a misspelt word."""
    close = difflib.get_close_matches(str(word), list(known), 1)
    return f". Did you mean {close[0]!r}?" if close else ""


def _pipeline(says: Mapping[str, Any], folder: Path, faults: Faults) -> Pipeline:
    subscriptions, matching, run = says["subscriptions"], says.get("match", {}), says["run"]
    spark = {key: value for key, value in says.get("spark", {}).items() if key != "master"}
    changes = subscriptions.get("changes")
    pipeline = Pipeline(
        events=_end(says["events"], folder),
        index=folder / subscriptions["index"],
        checkpoint=folder / run["checkpoint"],
        sink=_end(says["sink"], folder),
        subscriptions=_path(subscriptions, "path", folder),
        structure=subscriptions.get("structure", "auto"),
        keep_s=float(subscriptions.get("keep_seconds", 600.0)),
        changes=None if changes is None else _end(changes, folder),
        attributes=matching.get("attributes"),
        points=_points(matching.get("points"), faults),
        ranking=_ranking(matching.get("ranking"), faults),
        explode=matching.get("explode", False),
        event_id=matching.get("event_id"),
        rejects=_path(says.get("rejects", {}), "path", folder),
        every=run.get("every", "0 seconds"),
        metrics=_path(run, "metrics", folder),
        name=run.get("name", "tocsin"),
        master=says.get("spark", {}).get("master", "local[*]"),
        conf={key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in spark.items()},
    )
    _check_together(pipeline, faults)
    return pipeline


def _check_together(pipeline: Pipeline, faults: Faults) -> None:
    """Report keys that are valid on their own but contradict each other."""
    try:
        choose(pipeline.structure)
    except TocsinError as error:
        faults.add("subscriptions", "structure", str(error))
    for name, end in (("events", pipeline.events), ("subscriptions.changes", pipeline.changes)):
        if end is not None:
            _check_files(name, end, faults)
    if pipeline.changes is not None and pipeline.changes.kind == "rate":
        faults.add("subscriptions.changes", "kind", "changes come from files or kafka")
    if pipeline.explode and pipeline.event_id is None:
        faults.add("match", "explode", "explode = true needs event_id, the column that identifies events")
    if pipeline.event_id is not None and not pipeline.explode:
        faults.add("match", "event_id", "event_id needs explode = true; without it every column is kept")
    if pipeline.attributes is not None and holds_json(pipeline.events):
        faults.add(
            "match", "attributes", "these events are JSON, so that everything in them is an attribute; leave it out"
        )
    form = format_at(pipeline.sink)
    if form is not None and form.is_untyped and not pipeline.explode:
        others = either(words_of(lambda row: row.in_spark and not row.is_untyped))
        what = f"{form.word} cannot hold lists of matches; set explode = true, or write {others}"
        faults.add("sink", "format", what)
    if not _MASTER.fullmatch(pipeline.master):
        faults.add("spark", "master", f"master is {pipeline.master!r}; it is {_MASTERS}")
    if not _INTERVAL.fullmatch(pipeline.every):
        faults.add("run", "every", f"every is {pipeline.every!r}; it is a time such as '10 seconds' or '1 minute'")
    if pipeline.metrics is not None and pipeline.metrics.is_dir():
        faults.add("run", "metrics", f"metrics is {pipeline.metrics}, which is a folder; give a file")
    _check_folders(pipeline, faults)


def _check_files(name: str, end: End, faults: Faults) -> None:
    """Check the keys of a source against the format of its files."""
    form = format_at(end)
    if form is None:
        return
    if form not in (JSON, PARQUET) and "schema" not in end.says:
        what = "needs a schema: columns with Spark's types, as in 'id bigint, price double'"
        faults.add(name, "format", f"{form.word} {what}")
    for key in ("header", "delimiter"):
        if key in end.says and not form.is_untyped:
            faults.add(name, key, f"{key} is for {either(words_of(lambda row: row.is_untyped))}")
    try:
        checked_delimiter(end.get("delimiter"))
    except InvalidInput as error:
        faults.add(name, "delimiter", str(error))


def _check_folders(pipeline: Pipeline, faults: Faults) -> None:
    """Check that everything a pipeline reads and writes has a folder of its own."""
    named = [
        ("subscriptions", "index", pipeline.index),
        ("run", "checkpoint", pipeline.checkpoint),
        ("events", "path", pipeline.events.get("path")),
        ("subscriptions.changes", "path", None if pipeline.changes is None else pipeline.changes.get("path")),
        ("sink", "path", pipeline.sink.get("path")),
        ("rejects", "path", pipeline.rejects),
    ]
    taken: dict[Path, str] = {}
    for table, key, path in named:
        if path is None:
            continue
        place = Path(path).resolve()
        if place in taken:
            faults.add(table, key, f"{key} of [{table}] is {path}, as is {taken[place]}; give each its own folder")
        taken.setdefault(place, f"{key} of [{table}]")


def format_at(end: End) -> Format | None:
    """The file format of a source or sink; None if it has no files."""
    return FORMATS[end["format"]] if end.kind == "files" else None


def holds_json(end: End) -> bool:
    """Whether a source gives events as a column of JSON objects."""
    return end.kind == "kafka" or (format_at(end) is JSON and "schema" not in end.says)


def _end(table: Mapping[str, Any], folder: Path) -> End:
    says = {key: value for key, value in table.items() if key != "kind"}
    if "path" in says:
        says["path"] = str(folder / says["path"])
    return End(table["kind"], says)


def _path(table: Mapping[str, Any], key: str, folder: Path) -> Path | None:
    return folder / table[key] if key in table else None


def _points(given: Any, faults: Faults) -> Points:
    """Parse `points = { location = ["lon", "lat"] }`."""
    try:
        return checked_points(given)
    except InvalidInput as error:
        faults.add("match", "points", str(error))
        return {}


def _ranking(text: str | None, faults: Faults) -> Ranking | None:
    """Parse `top:20`, `relaxed:20` or `similar:0.5:0.6` as a ranking."""
    if text is None:
        return None
    word, *parts = text.split(":")
    kind = RANKINGS.get(word)
    if kind is None or len(parts) != len(kind.numbers):
        known = either(tuple(f"{word}:{one.example}" for word, one in RANKINGS.items()))
        faults.add("match", "ranking", f"ranking is {text!r}; write {known}")
        return None
    try:
        return kind.parse(parts)
    except ValueError as error:
        faults.add("match", "ranking", f"ranking is {text!r}: {error}")
    return None
