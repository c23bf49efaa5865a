"""In which forms do subscriptions come? The same sources as events; each record has an `id` and a `where`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tocsin.errors import ExpressionError, InvalidInput, RecordError
from tocsin.language import parse_any, parse_json, to_text
from tocsin.model.expression import Expression
from tocsin.model.subscription import Reject, Subscription, checked_id, checked_score
from tocsin.records.bulk import Conjunctions, conjunction_of
from tocsin.records.chunks import Chunk, ObjectChunk, TableChunk
from tocsin.records.csv_files import read_csv
from tocsin.records.events import read_events
from tocsin.records.files import format_of
from tocsin.records.json_lines import as_records

FIELDS: Final = ("id", "where", "predicates", "score", "weights", "payload")


def read_subscriptions(source: Any) -> Iterator[tuple[list[tuple[int, Subscription]], list[Reject], float | None]]:
    """Read subscriptions chunk by chunk: what could be read (with rows), what could not, the share of the source done.

    Duplicate ids are not looked for here. Raises `InvalidInput` when the source as a whole cannot be read, or is a
    table without the columns `id` and `where`.
    """
    for given in _chunks(source):
        chunk = as_records(given)
        accepted: list[tuple[int, Subscription]] = []
        rejects = list(chunk.rejects)
        for row, record in _records(chunk):
            try:
                accepted.append((row, subscription_of(record)))
            except RecordError as error:
                rejects.append(Reject(row, _id_or_none(record), error.field, error.reason))
        yield accepted, rejects, chunk.done


def subscription_of(record: Mapping[str, Any] | Subscription) -> Subscription:
    """One subscription from its record `{"id", "where", "score"?, "weights"?, "payload"?}`; raises `RecordError`.

    `predicates`, a list of `{"attribute", "op", "value"}`, may stand for `where`.

    >>> subscription_of({"id": "s1", "where": "price <= 580"}).score
    1.0
    """
    if isinstance(record, Subscription):
        return record
    if not isinstance(record, Mapping):
        raise RecordError(f"a subscription is an object with id and where, not a {type(record).__name__}")
    unknown = [key for key in record if key not in FIELDS]
    if unknown:
        raise RecordError(f"a subscription has no field {unknown[0]!r}; it has {', '.join(FIELDS)}", str(unknown[0]))
    name = checked_id(record.get("id"))
    tree, source = _expression_of(record)
    _check_weights(record.get("weights"))
    return Subscription(name, tree, source, checked_score(record.get("score")), record.get("payload"))


def _expression_of(record: Mapping[str, Any]) -> tuple[Expression, str]:
    """The tree and the text of a record's `where` or, in the bulk form, of its `predicates`."""
    where, predicates = record.get("where"), record.get("predicates")
    if predicates is not None and where is None:
        tree = conjunction_of(predicates)
        return tree, to_text(tree)
    if where is None:
        raise RecordError("the subscription has no expression; give CQL2 text or JSON under 'where'", "where")
    if predicates is not None:
        raise RecordError("a subscription has either 'where' or 'predicates', not both", "predicates")
    if not isinstance(where, str | Mapping | bool):
        raise RecordError(f"an expression is CQL2 text or a CQL2 JSON object, not a {type(where).__name__}", "where")
    try:
        tree = parse_json(where) if isinstance(where, bool) else parse_any(where)
    except ExpressionError as error:
        raise RecordError(str(error), "where") from None
    return tree, where if isinstance(where, str) else to_text(tree)


def _check_weights(weights: object) -> None:
    if weights is None:
        return
    items = weights.items() if isinstance(weights, Mapping) else weights
    if not isinstance(items, list | tuple) and not isinstance(weights, Mapping):
        raise RecordError(f"weights map attributes to numbers; this is a {type(weights).__name__}", "weights")
    for name, weight in dict(items).items():  # type: ignore[call-overload]
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight) or weight < 0:
            raise RecordError(f"the weight of {name!r} is {weight!r}; it must be a finite number >= 0", "weights")


def _chunks(source: Any) -> Iterator[Chunk]:
    if isinstance(source, list | tuple) and any(isinstance(item, Subscription) for item in source):
        raise InvalidInput("give subscriptions as records (dicts with id and where)")
    if isinstance(source, Conjunctions):
        source = source.table
    if isinstance(source, str | Path) and format_of(source) == "csv":
        # Ids and expressions are text in a CSV, even where they look like numbers.
        yield from read_csv(source, _all_text(source))
        return
    yield from read_events(source, choose=lambda name: name in FIELDS)


def _all_text(path: str | Path) -> dict[str, Any]:
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    names = [name.strip().strip('"') for name in header.lstrip("\ufeff").rstrip("\r\n").split(",")]
    return {name: "string" for name in names if name in ("id", "where", "weights", "payload")}


def _records(chunk: ObjectChunk | TableChunk) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(chunk, TableChunk):
        yield from chunk.records
        return
    names = chunk.table.schema.names
    for needed in ("id", "where"):
        if needed not in names and not (needed == "where" and "predicates" in names):
            raise InvalidInput(f"subscriptions need a column {needed!r}; there are {names}")
    fields = [name for name in FIELDS if name in names]
    for row, record in zip(chunk.rows.tolist(), chunk.table.select(fields).to_pylist(), strict=True):
        for name in ("weights", "payload"):
            if isinstance(record.get(name), str):
                record[name] = _from_json(record[name])
        if isinstance(record.get("weights"), list):
            record["weights"] = dict(record["weights"])
        yield row, record


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _id_or_none(record: object) -> str | int | None:
    raw = record.get("id") if isinstance(record, Mapping) else None
    return raw if isinstance(raw, str | int) and not isinstance(raw, bool) else None
