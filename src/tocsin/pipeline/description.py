"""The description of a pipeline: a TOML file with the source of events, the subscriptions, the matching and the sink.

All faults of a file are reported together, each with its line. `example.toml` shows every table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tocsin.encoding import Points, checked_points
from tocsin.errors import InvalidInput, TocsinError
from tocsin.index import choose
from tocsin.model.ranking import RANKINGS, Ranking
from tocsin.model.texts import PLAIN
from tocsin.pipeline.faults import Faults, places_of
from tocsin.pipeline.inputs import missing_inputs
from tocsin.pipeline.tables import CHANGES, WINDOW, Table, valid_tables
from tocsin.placement import HASH
from tocsin.records.csv_types import checked_delimiter
from tocsin.records.files import is_url
from tocsin.records.formats import FORMATS, JSON, PARQUET, Format, either, words_of
from tocsin.spark.windows.routing import MOST
from tocsin.window import Window
from tocsin.window.frequencies import BOOLEAN, TermFrequency

_MASTER: Final = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[.+\]|spark://.+|k8s://.+|yarn")
_MASTERS: Final = "local, local[N], local[*], spark://HOST:PORT, k8s://HOST:PORT or yarn"
_INTERVAL: Final = re.compile(r"\d+ *(microsecond|millisecond|second|minute|hour|day)s?", re.IGNORECASE)


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
class WindowOptions:
    """The window of a pipeline, which keeps the best recent events of each subscription instead of matching."""

    size: int | None
    seconds: float | None
    bounds: list[float]
    order: list[str]
    placement: str = HASH
    partitions: int = 8
    weights: Mapping[str, float] = field(default_factory=dict)
    text: str = str(PLAIN)
    term_frequency: TermFrequency = BOOLEAN
    structure: str = "blocks"
    lists: bool = False

    def check(self) -> None:
        """Raise an error of tocsin if some options are invalid."""
        if self.partitions > MOST:
            raise InvalidInput(f"partitions is {self.partitions}; a window has at most {MOST}")
        Window(
            self.size,
            bounds=self.bounds,
            time=self.seconds,
            weights=self.weights,
            text=self.text,
            term_frequency=self.term_frequency,
            index=self.structure,
        )


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline as its file describes it. Paths are relative to the file's folder."""

    events: End
    index: Path | str  # a folder, or the URL of an index on an object store
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
    window: WindowOptions | None = None
    schema: str | None = None  # of the subscriptions of a window
    rejects: Path | None = None
    every: str = "0 seconds"
    metrics: Path | None = None
    name: str = "tocsin"
    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)


def read_pipeline(path: str | Path, *, with_inputs: bool = False) -> Pipeline:
    """Read a pipeline's file; raises `InvalidInput` with all faults, each with its line.

    With `with_inputs`, files and folders that the pipeline reads and that are missing are faults, too.
    """
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
    pipeline = _pipeline(valid_tables(says, faults), path.parent, faults)
    if with_inputs:
        for table, key, what in missing_inputs(pipeline):
            faults.add(table, key, what)
    faults.stop()
    return pipeline


def _pipeline(says: Mapping[str, Table], folder: Path, faults: Faults) -> Pipeline:
    """The pipeline of valid tables. If there are faults already, stand-ins replace what is missing."""
    subscriptions, matching, run = (says.get(name, {}) for name in ("subscriptions", "match", "run"))
    spark = {key: value for key, value in says.get("spark", {}).items() if key != "master"}
    changes = says.get(CHANGES)
    pipeline = Pipeline(
        events=_end(says.get("events", {}), folder),
        index=_index(subscriptions.get("index", "index is missing"), folder),
        checkpoint=folder / run.get("checkpoint", "checkpoint is missing"),
        sink=_end(says.get("sink", {}), folder),
        subscriptions=_path(subscriptions, "path", folder),
        structure=subscriptions.get("structure", "auto"),
        keep_s=float(subscriptions.get("keep_seconds", 600.0)),
        changes=None if changes is None else _end(changes, folder),
        attributes=matching.get("attributes"),
        points=_points(matching.get("points"), faults),
        ranking=_ranking(matching.get("ranking"), faults),
        explode=matching.get("explode", False),
        event_id=matching.get("event_id"),
        window=_window(says.get(WINDOW)),
        schema=subscriptions.get("schema"),
        rejects=_path(says.get("rejects", {}), "path", folder),
        every=run.get("every", "0 seconds"),
        metrics=_path(run, "metrics", folder),
        name=run.get("name", "tocsin"),
        master=says.get("spark", {}).get("master", "local[*]"),
        conf={key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in spark.items()},
    )
    if pipeline.window is not None and "match" in says:
        faults.add("match", "", "a pipeline has [match] or [window], not both")
    _check_together(pipeline, faults)
    return pipeline


def _index(given: str, folder: Path) -> Path | str:
    """The folder of an index, or the URL as it is given."""
    return given if is_url(given) else folder / given


def _check_together(pipeline: Pipeline, faults: Faults) -> None:
    """Report keys that are valid on their own but contradict each other."""
    _check_window(pipeline, faults)
    try:
        choose(pipeline.structure)
    except TocsinError as error:
        faults.add("subscriptions", "structure", str(error))
    for name, end in (("events", pipeline.events), (CHANGES, pipeline.changes)):
        if end is not None:
            _check_files(name, end, faults)
    if pipeline.changes is not None and pipeline.changes.kind == "rate":
        faults.add(CHANGES, "kind", "changes come from files or kafka")
    if pipeline.explode and pipeline.event_id is None:
        faults.add("match", "explode", "explode = true needs event_id, the column that identifies events")
    if pipeline.event_id is not None and not pipeline.explode:
        faults.add("match", "event_id", "event_id needs explode = true; without it every column is kept")
    if pipeline.attributes is not None and holds_json(pipeline.events):
        faults.add(
            "match", "attributes", "these events are JSON, so that everything in them is an attribute; leave it out"
        )
    form = format_at(pipeline.sink)
    if form is not None and form.is_untyped and not pipeline.explode and pipeline.window is None:
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
        (CHANGES, "path", None if pipeline.changes is None else pipeline.changes.get("path")),
        ("sink", "path", pipeline.sink.get("path")),
        ("rejects", "path", pipeline.rejects),
    ]
    taken: dict[Path, str] = {}
    for table, key, path in named:
        if path is None or is_url(path):
            continue
        place = Path(path).resolve()
        if place in taken:
            faults.add(table, key, f"{key} of [{table}] is {path}, as is {taken[place]}; give each its own folder")
        taken.setdefault(place, f"{key} of [{table}]")


def _check_window(pipeline: Pipeline, faults: Faults) -> None:
    """Report what contradicts a window, and what only a window can have."""
    if (window := pipeline.window) is None:
        for name, end in (("events", pipeline.events), (CHANGES, pipeline.changes)):
            if end is not None and end.kind == "kafka" and "schema" in end.says:
                faults.add(name, "schema", f"only a pipeline with [{WINDOW}] has a schema for Kafka; leave it out")
        return
    try:
        window.check()
    except TocsinError as error:
        faults.add(WINDOW, "", str(error))
    form = format_at(pipeline.sink)
    if form is not None and form.is_untyped and window.lists:
        faults.add("sink", "format", f"{form.word} cannot hold lists; set lists = false in [{WINDOW}]")
    for name, end in (("events", pipeline.events), (CHANGES, pipeline.changes)):
        if end is None:
            continue
        if end.kind == "rate":
            faults.add(name, "kind", "messages of a window come from files or kafka")
        elif "schema" not in end.says:
            what = "a window needs a schema: columns with Spark's types, as in 'n bigint, words array<string>'"
            faults.add(name, "schema", what)
        if (form := format_at(end)) is not None and form.is_untyped:
            faults.add(name, "format", f"a window reads {JSON.word} or {PARQUET.word}, not {form.word}")


def format_at(end: End) -> Format | None:
    """The file format of a source or sink; None if it has no files."""
    return FORMATS.get(end.get("format", "")) if end.kind == "files" else None


def holds_json(end: End) -> bool:
    """Whether a source gives events as a column of JSON objects."""
    return end.kind == "kafka" or (format_at(end) is JSON and "schema" not in end.says)


def _end(table: Table, folder: Path) -> End:
    says = {key: value for key, value in table.items() if key != "kind"}
    if "path" in says:
        says["path"] = str(folder / says["path"])
    return End(table.get("kind", ""), says)


def _path(table: Table, key: str, folder: Path) -> Path | None:
    return folder / table[key] if key in table else None


def _window(table: Table | None) -> WindowOptions | None:
    if table is None:
        return None
    known: dict[str, Any] = {"size": None, "seconds": None, "bounds": [], "order": []}
    return WindowOptions(**{**known, **table})


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
