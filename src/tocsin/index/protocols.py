"""What is an index? Three protocols are planned, one a question; `Matcher` answers "all matches"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.batch import EventBatch
from tocsin.columns.compiled import CompiledExpressions

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Question: TypeAlias = Literal["all matches"]


class Found(NamedTuple):
    """The matches of a batch, ordered by event, then subscription number. M matches."""

    events: NDArray[np.int64]  # (M,) place in the batch
    subscriptions: NDArray[np.int32]  # (M,) number among the compiled expressions
    candidates_examined: int  # (event, subscription) pairs that the structure did not rule out
    verified: int  # pairs on which the whole expression was evaluated


class Matcher(Protocol):
    """Finds all subscriptions that each event satisfies. Immutable, safe to share between threads."""

    def match(self, batch: EventBatch) -> Found:
        """All matches of a batch; exact."""

    def arrays(self) -> Arrays:
        """What the structure holds beside the compiled expressions, to be saved."""


class Builder(Protocol):
    """Makes a `Matcher`: from compiled expressions, and from saved arrays."""

    def build(self, compiled: CompiledExpressions) -> Matcher: ...

    def load(self, compiled: CompiledExpressions, arrays: Arrays) -> Matcher: ...


@dataclass(frozen=True, slots=True)
class Registration:
    """What the registry says of an index. `builder` imports the structure only when it is needed."""

    name: str
    question: Question
    shapes: str
    source: str
    is_baseline: bool
    builder: Callable[[], Builder]
