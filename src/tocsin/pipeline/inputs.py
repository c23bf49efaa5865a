"""The files and folders that a pipeline reads, which are checked before anything is written and before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput, TocsinError
from tocsin.records import files_of
from tocsin.records.files import Opened
from tocsin.records.formats import PARQUET, input_format
from tocsin.segment.folder import STORE
from tocsin.segment.origins import Origin
from tocsin.segment.storage import MANIFEST
from tocsin.spark.data_files import files_in

if TYPE_CHECKING:
    from tocsin.pipeline.description import Pipeline


def require_inputs(pipeline: Pipeline) -> None:
    """Raise `InvalidInput` with everything that cannot be read."""
    if found := [what for *_, what in missing_inputs(pipeline)]:
        raise InvalidInput("\n".join(found))


def missing_inputs(pipeline: Pipeline) -> Iterator[tuple[str, str, str]]:
    """The table, the key and the fault of each file or folder that cannot be read."""
    for table, end in (("events", pipeline.events), ("subscriptions.changes", pipeline.changes)):
        if end is not None and end.kind == "files" and "path" in end.says:
            fault = fault_of_folder(Path(end["path"]))
            if fault is None and table == "events" and end.get("format") == PARQUET.word and "schema" not in end.says:
                fault = _fault_of_columns(Path(end["path"]))
            if fault is not None:
                yield table, "path", fault
    if pipeline.window is not None:
        if pipeline.subscriptions is not None and (fault := _fault_of_files(pipeline.subscriptions)) is not None:
            yield "subscriptions", "path", fault
        return
    if isinstance(pipeline.index, str):
        yield from _faults_of_remote(pipeline, pipeline.index)
        return
    is_of_store = (pipeline.index / STORE).exists()
    if is_of_store and pipeline.changes is not None:
        what = "belongs to a durable engine, which alone changes it; leave the table out, or name another index"
        yield "subscriptions.changes", "kind", f"{pipeline.index} {what}"
    if not (pipeline.index / MANIFEST).exists():
        if is_of_store:
            what = "belongs to a durable engine that has written no index yet; call its checkpoint()"
            yield "subscriptions", "index", f"{pipeline.index} {what}"
        elif pipeline.subscriptions is not None:
            fault = _fault_of_files(pipeline.subscriptions)
            if fault is not None:
                yield "subscriptions", "path", fault
        elif pipeline.changes is None:
            what = "and [subscriptions] has neither a path to compile nor changes to follow"
            yield "subscriptions", "index", f"{pipeline.index} is not an index, {what}"


def _faults_of_remote(pipeline: Pipeline, index: str) -> Iterator[tuple[str, str, str]]:
    """The faults of an index on an object store, which is not changed there."""
    if pipeline.changes is not None:
        what = "is on an object store, where it cannot be changed; apply changes to a folder, and upload it"
        yield "subscriptions.changes", "kind", f"{index} {what}"
    try:
        if Origin(index).text(MANIFEST) is not None:
            return
    except TocsinError as error:
        yield "subscriptions", "index", str(error)
        return
    if pipeline.subscriptions is None:
        yield "subscriptions", "index", f"{index} is not an index, and [subscriptions] has no path to compile"
    elif (fault := _fault_of_files(pipeline.subscriptions)) is not None:
        yield "subscriptions", "path", fault


def fault_of_folder(path: Path) -> str | None:
    """What prevents that new files of a folder are read; None if nothing does."""
    if not path.is_dir():
        what = "is a file; name its folder" if path.exists() else "does not exist; make the folder that files come into"
        return f"{path} {what}"
    try:
        next(path.iterdir(), None)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return None


def without_columns(folder: Path) -> str:
    """What a folder of Parquet files lacks, if no columns can be read from them."""
    what = "give a schema: columns with Spark's types, as in 'id bigint, price double'"
    return f"no columns can be read from the Parquet files of {folder}; {what}"


def _fault_of_columns(folder: Path) -> str | None:
    """What prevents that the columns of Parquet files are known without a schema; None if one file can be read."""
    try:
        files = files_in(folder)
    except InvalidInput as error:
        return str(error)
    return None if any(map(_is_parquet, files)) else without_columns(folder)


def _is_parquet(file: Path) -> bool:
    try:
        pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        return False
    return True


def _fault_of_files(path: Path) -> str | None:
    """What prevents that the subscriptions of a file, a folder or a pattern are read; None if nothing does so far."""
    try:
        for file in files_of(str(path)) or [path]:
            input_format(file)
            with Opened(file) as opened:
                opened.peek(1)
    except InvalidInput as error:
        return str(error)
    except OSError as error:
        return f"{error.filename or path} cannot be read: {error.strerror}"
    return None
