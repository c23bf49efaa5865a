"""The result of a batch of messages: a table of changes, the rejected messages, and the cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tocsin.errors import MissingExtra
from tocsin.model.subscription import Reject, summary_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_AT_ONCE: Final = 8192


@dataclass(frozen=True, slots=True)
class WindowStats:
    """The work of a window since it was made, or for one batch.

    Attributes
    ----------
    messages : int
        The number of messages.
    candidates_examined : int
        Subscriptions that were compared with a message.
    reached : int
        Those that put the message into their buffers.
    changes : int
        The number of changes.
    reevaluations : int
        Searches of the window for a subscription's best messages.
    seconds : float
        Wall time.
    """

    messages: int = 0
    candidates_examined: int = 0
    reached: int = 0
    changes: int = 0
    reevaluations: int = 0
    seconds: float = 0.0

    def less(self, before: WindowStats) -> WindowStats:
        """The work since an earlier moment.

        Parameters
        ----------
        before : WindowStats
            The statistics at that moment.

        Returns
        -------
        WindowStats
            The differences.
        """
        return WindowStats(
            self.messages - before.messages,
            self.candidates_examined - before.candidates_examined,
            self.reached - before.reached,
            self.changes - before.changes,
            self.reevaluations - before.reevaluations,
            self.seconds - before.seconds,
        )


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    """The changes of a batch of messages.

    `len(answer)` is the number of changes; iteration gives each row as a dict. Anything that reads Arrow takes an
    answer: `pa.table(answer)`, `polars.DataFrame(answer)`.

    Attributes
    ----------
    table : pyarrow.Table
        One row per change: `event` (the message's row, int64), `subscription`, `message` (its key or number), `kind`
        (`enter` or `exit`) and `score`. Rows are ordered by event; then exits come first. Then they are ordered by
        subscription, and by age of the message, oldest first.
    errors : list of Reject
        The rejected messages.
    stats : WindowStats
        The cost.

    Notes
    -----
    String ids and keys are dictionary columns, which pandas and Polars read as plain ones.
    """

    table: pa.Table
    errors: list[Reject]
    stats: WindowStats

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows of the table, each as a dict."""
        for batch in self.table.to_batches(_AT_ONCE):
            yield from batch.to_pylist()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            The same columns, with plain ids.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            return self.table.to_pandas()
        except ImportError:
            raise MissingExtra("pandas is not installed: pip install 'pandas>=2.2,<3'") from None

    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars data frame.

        Returns
        -------
        polars.DataFrame
            The same columns.

        Raises
        ------
        MissingExtra
            If Polars is not installed.
        """
        try:
            import polars
        except ImportError:
            raise MissingExtra("polars is not installed: pip install polars") from None
        return polars.from_arrow(self.table)

    def __repr__(self) -> str:
        return f"WindowAnswer({len(self)} changes of {self.stats.messages} messages, {summary_of(self.errors)})"
