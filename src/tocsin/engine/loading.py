"""Loading subscriptions: read them, check for duplicate ids, plan, and build a segment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tocsin.errors import InvalidInput, RecordError, in_field
from tocsin.index import Part, Plan, choose
from tocsin.language import Templates
from tocsin.model.subscription import Reject
from tocsin.model.texts import Text
from tocsin.records import files_of, read_subscriptions
from tocsin.records.extras import Extras
from tocsin.records.formats import by_ending
from tocsin.records.subscription_record import FIELDS
from tocsin.records.subscriptions import Check
from tocsin.segment import Segment, SegmentBuilder, Snapshots, assemble

Progress = Callable[[float | None], None]


def extras_of(payload_columns: Iterable[str]) -> Extras:
    """A collector of unknown fields that keeps those named here for the payload."""
    return Extras(FIELDS, payload_columns)


def load_segments(
    source: Any,
    index: str = "auto",
    *,
    strict: bool = False,
    progress: Progress | None = None,
    texts: Mapping[str, Text] | None = None,
    extras: Extras | None = None,
) -> tuple[Snapshots, list[Reject]]:
    """Load subscriptions from any source (or a compiled index folder); returns them and the rejected records.

    `strict` raises `RecordError` at the first bad record instead. `texts` are as in `Templates`. `extras` collects the
    unknown fields of records.
    """
    plan = choose(index)
    if is_index(source):
        from tocsin.engine.durable.current import current_snapshots

        return current_snapshots(source), []
    segment, rejects = build_from(source, plan, strict=strict, progress=progress, texts=texts, extras=extras)
    return Snapshots.of([segment]), rejects


def is_index(source: object) -> bool:
    """Whether a source is a folder to open as an index, valid or damaged: any folder that is not a Parquet table."""
    if not isinstance(source, str | Path) or not os.path.isdir(source):  # noqa: PTH112
        return False
    try:
        forms = [by_ending(file) for file in files_of(source) or ()]
    except InvalidInput:  # the folder has no readable files
        return True
    return not all(form is not None and form.is_table for form in forms)


def build_from(
    source: Any,
    plan: Plan,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    texts: Mapping[str, Text] | None = None,
    extras: Extras | None = None,
) -> tuple[Segment, list[Reject]]:
    """A segment of all subscriptions of a source. Ids are distinct and of one kind; the first one with an id is kept.

    If strings and integers are mixed, the more frequent kind is kept, or strings on a tie.
    """
    part, rejects = read_part(source, strict=strict, progress=progress, texts=texts, extras=extras)
    return assemble(part, plan), rejects


def read_part(
    source: Any,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    texts: Mapping[str, Text] | None = None,
    extras: Extras | None = None,
) -> tuple[Part, list[Reject]]:
    """The subscriptions for `build_from`, before they are indexed. This compiles no kernel."""
    builder = collect(source, Templates(texts), strict=strict, progress=progress, extras=extras)
    part = builder.part()
    return part, checked_rejects(builder, strict=strict)


def collect(
    source: Any,
    templates: Templates | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    extras: Extras | None = None,
    check: Check | None = None,
) -> SegmentBuilder:
    """Read and compile all subscriptions of a source; `strict` raises `RecordError` at the first bad record."""
    builder = SegmentBuilder()
    for chunk in read_subscriptions(source, templates, extras, check):
        builder.add(chunk)
        if strict and builder.rejects:
            raise_first(builder.rejects, "subscription")
        if progress is not None:
            progress(chunk.done)
    return builder


def checked_rejects(builder: SegmentBuilder, *, strict: bool) -> list[Reject]:
    """The rejected records so far, by row; with `strict`, `RecordError` is raised if there are any."""
    if strict and builder.rejects:
        raise_first(builder.rejects, "subscription")
    return sorted(builder.rejects, key=lambda reject: reject.row)


def require_some(read: int, rejects: Sequence[Reject], what: str) -> None:
    """Raise `RecordError` if there were records but none was valid: an empty answer would look like success."""
    if rejects and not read:
        first = min(rejects, key=lambda reject: reject.row)
        raise RecordError(f"no {what} could be read; {what} {first.row}: {in_field(first.field, first.reason)}")


def raise_first(rejects: list[Reject], what: str) -> None:
    """Raise the first reject as an error."""
    first = min(rejects, key=lambda reject: reject.row)
    raise RecordError(f"{what} {first.row}: {first.reason}", first.field)
