"""Chunks of subscriptions: columns of ids, expressions, texts and scores, and the rejects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.language import Instance, Template
from tocsin.model.expression import Expression
from tocsin.model.subscription import Reject, SubscriptionId


class ConjunctionColumns(NamedTuple):
    """ANDs of comparisons of attributes with numbers, in CSR form. S conjunctions, P predicates."""

    names: list[str]
    starts: NDArray[np.int64]  # (S + 1,)
    attributes: NDArray[np.int32]  # (P,) number among the names
    operations: NDArray[np.uint8]  # (P,) number among `COMPARISONS`
    values: NDArray[np.float64]  # (P,) finite


class Conditions(Sequence[Expression | Instance]):
    """Trees, and instances of templates, in columns.

    There is no object for each instance that the garbage collector must visit: values of scalars are not tracked.
    """

    def __init__(self) -> None:
        self._templates: list[Template | None] = []
        self._values: list[Any] = []  # trees where there is no template

    def append(self, where: Expression | Instance) -> None:
        template, values = where if isinstance(where, Instance) else (None, where)
        self._templates.append(template)
        self._values.append(values)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: Any) -> Any:
        template, values = self._templates[place], self._values[place]
        return values if template is None else Instance(template, values)

    def __iter__(self) -> Iterator[Expression | Instance]:
        for template, values in zip(self._templates, self._values, strict=True):
            yield values if template is None else Instance(template, values)


@dataclass(frozen=True, slots=True)
class SubscriptionChunk:
    """Subscriptions in columns: row `rows[i]` of the source has `ids[i]`, and so on. Ids may still repeat.

    `done` is the share of the source read so far, None if its size is unknown.
    """

    rows: NDArray[np.int64]
    ids: pa.Array | list[SubscriptionId]
    where: Sequence[Expression | Instance] | ConjunctionColumns
    sources: pa.Array | list[str]
    scores: NDArray[np.float64]
    payloads: list[str | None] | None  # JSON texts; None if no subscription has one
    rejects: list[Reject] = field(default_factory=list)
    done: float | None = None
    weights: list[str | None] | None = None  # JSON texts; None if no subscription has any

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, places: NDArray[np.int64]) -> SubscriptionChunk:
        """The subscriptions at some places of a chunk of lists, without its rejects."""

        def chosen(values: Any) -> Any:
            return None if values is None else [values[place] for place in places.tolist()]

        return replace(
            self,
            rows=self.rows[places],
            ids=chosen(self.ids),
            where=chosen(self.where),
            sources=chosen(self.sources),
            scores=self.scores[places],
            payloads=chosen(self.payloads),
            weights=chosen(self.weights),
            rejects=[],
        )


def payload_text(payload: Any) -> str:
    """A payload as stored: JSON text. Raises `TypeError` or `ValueError` if it cannot be JSON."""
    return json.dumps(payload, ensure_ascii=False, allow_nan=False)
