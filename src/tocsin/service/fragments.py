"""A match as JSON: the form in which answers, deliveries, fences and windows tell of a subscription."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.engine.groups import Columns, Hits
from tocsin.model.subscription import SubscriptionId

_quoted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # a third of the time of json.dumps
_TEXT: Final = pa.large_string()
Part: TypeAlias = "str | pa.Array"
_COMMA, _NOTHING = (pa.scalar(text, _TEXT) for text in (",", ""))


def fragment(
    id: SubscriptionId, score: float, payload: str | None, named: Mapping[str, list[int]] | None = None
) -> str:
    """A matched subscription as JSON, with the named parts that held unless these are None."""
    more = "" if named is None else f',"named":{_quoted(named)}'
    return f'{{"id":{quoted_id(id)},"score":{_number(score)},"payload":{payload or "null"}{more}}}'


def fragments(hits: Hits) -> list[str]:
    """All matched subscriptions as JSON, in two thirds of the time of `fragment` one by one."""
    if hits.named or not all(map(math.isfinite, hits.scores)):
        return list(map(fragment, hits.ids, hits.scores, hits.payloads, map(hits.named.get, range(len(hits.ids)))))
    return [
        f'{{"id":{name},"score":{score!r},"payload":{payload or "null"}}}'
        for name, score, payload in zip(map(quoted_id, hits.ids), hits.scores, hits.payloads, strict=True)
    ]


def fragments_of_many(columns: Columns) -> pa.Array:
    """The same for the matches of thousands of events, as a column: Arrow writes them, in a fifth of the time."""
    return _joined(
        '{"id":', *_names(columns.ids), ',"score":', _numbers(columns.scores),
        ',"payload":', pc.fill_null(columns.payloads, "null"), "}",
    )  # fmt: skip


def lines_of_many(columns: Columns, first: int) -> pa.Array:
    """A line of JSON for each event, with its row, the first of which is `first`, and its matches."""
    matches = pc.binary_join(pa.LargeListArray.from_arrays(columns.starts, fragments_of_many(columns)), _COMMA)
    rows = pa.array(columns.rows + first).cast(_TEXT)
    return _joined('{"row":', rows, ',"matches":[', matches, "]}\n")


def _joined(*parts: Part) -> pa.Array:
    """Columns and texts between them, side by side."""
    found: list[Any] = []
    for is_text, group in itertools.groupby(parts, lambda part: isinstance(part, str)):
        some = list(group)
        found += [pa.scalar("".join(map(str, some)), _TEXT)] if is_text else some
    return pc.binary_join_element_wise(*found, _NOTHING)


def quoted_id(id: SubscriptionId) -> str:
    """An id as JSON."""
    return str(id) if isinstance(id, int) else _quoted(id)


def _names(ids: pa.Array) -> Sequence[Part]:
    """Ids as JSON."""
    if pa.types.is_integer(ids.type):
        return (ids.cast(_TEXT),)
    text = Texts.of_arrow(ids).data
    if ((text < ord(" ")) | (text == ord('"')) | (text == ord("\\"))).any():  # which JSON does not have as they are
        return (pa.array(map(_quoted, ids.to_pylist()), _TEXT),)
    return '"', ids.cast(_TEXT), '"'


def _number(score: float) -> str:
    return repr(score) if math.isfinite(score) else "null"


def _numbers(scores: NDArray[np.float64]) -> Part:
    """Scores as JSON, one text if they are equal. Each distinct one is written once."""
    bits = scores.view(np.int64)  # -0.0 is not written as 0.0
    if len(bits) and (bits == bits[0]).all():
        return _number(float(scores[0]))
    distinct, places = np.unique(bits, return_inverse=True)
    return pa.array(map(_number, distinct.view(np.float64).tolist()), _TEXT).take(pa.array(places))
