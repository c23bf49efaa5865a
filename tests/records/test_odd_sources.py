"""Sources and arguments that come close to what is allowed are taken or refused, each in words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin

ONE = [{"id": "one", "where": "n = 1"}]


def pairs(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


def test_pandas_frames_of_subscriptions_may_have_other_columns() -> None:
    """Columns that mean nothing to a subscription are ignored, whatever they hold."""
    frame = pd.DataFrame({"id": ["a", "b"], "where": ["n = 1", "n = 1"], "note": [1, "x"]})

    assert pairs(tocsin.match(frame, [{"n": 1}])) == [(0, "a"), (0, "b")]


def test_nan_scores_of_pandas_mean_one_thing() -> None:
    """A NaN score means the same with and without a column of mixed kinds beside it."""
    frame = pd.DataFrame({"id": ["a", "b"], "where": ["n = 1", "n = 1"], "score": [2, math.nan]})
    mixed = frame.assign(payload=[1, "x"])

    assert pairs(tocsin.match(mixed, [{"n": 1}])) == pairs(tocsin.match(frame, [{"n": 1}]))


@pytest.mark.parametrize("column", [[1, 2**70], ["a", "\ud800"]], ids=["integer", "surrogate"])
def test_pandas_columns_beyond_arrow_leave_the_others_alone(column: list[Any]) -> None:
    """A pandas column that Arrow has no type for costs the other columns nothing."""
    assert pairs(tocsin.match(ONE, pd.DataFrame({"n": [1, 1], "v": column}))) == [(0, "one"), (1, "one")]


@pytest.mark.parametrize("frame", [pd.Series([1]), pd.DataFrame([[1, 2]], columns=["n", "n"])], ids=["series", "twice"])
def test_pandas_objects_that_are_no_table_are_refused(frame: Any) -> None:
    """A series and a frame with one name twice are no events."""
    with pytest.raises(tocsin.InvalidInput):
        tocsin.match(ONE, frame)


def test_a_missing_csv_of_subscriptions_is_refused() -> None:
    """A path of subscriptions leads to a file."""
    with pytest.raises(tocsin.InvalidInput):
        tocsin.match("nowhere.csv", [])


def test_json_text_in_place_of_a_path_is_refused() -> None:
    """A string is a path, however long and whatever it holds."""
    with pytest.raises(tocsin.InvalidInput):
        tocsin.match('{"id": "a", "where": "n = 1"}\n' * 50, [])


def test_what_is_no_ranking_is_refused() -> None:
    """A ranking is an object of this library; a number is none."""
    with pytest.raises(tocsin.InvalidInput):
        tocsin.match(ONE, [{"n": 1}], ranking=5)  # type: ignore[arg-type]


def test_a_table_without_the_columns_is_refused_when_empty() -> None:
    """A table of subscriptions has its columns even when it has no rows."""
    with pytest.raises(tocsin.InvalidInput):
        tocsin.match(pa.table({"x": pa.array([], pa.int64())}), [])


def test_the_refusal_of_a_parquet_file_names_its_columns(tmp_path: Path) -> None:
    """The message lists the columns that there are."""
    pq.write_table(pa.table({"other": [1]}), tmp_path / "s.parquet")

    with pytest.raises(tocsin.InvalidInput, match="other"):
        tocsin.match(tmp_path / "s.parquet", [])


def test_refusals_of_subscriptions_speak_of_subscriptions() -> None:
    """The message says which of the two sources it is about."""
    with pytest.raises(tocsin.InvalidInput, match="subscriptions"):
        tocsin.match(5, [])


def test_a_list_of_arrow_batches_is_a_table() -> None:
    """Of events and of subscriptions; batches of other columns are refused in words."""
    batches = pa.table({"n": [1, 2, 1, 1]}).to_batches(max_chunksize=1)
    held = pa.table({"id": ["a", "b"], "where": ["n = 1", "n = 2"]}).to_batches(max_chunksize=1)

    assert pairs(tocsin.match(ONE, batches)) == [(0, "one"), (2, "one"), (3, "one")]
    assert pairs(tocsin.match(held, tuple(batches[:2]))) == [(0, "a"), (1, "b")]
    assert pairs(tocsin.match(ONE, [batches[0], pa.table({"n": [1]})])) == [(0, "one"), (1, "one")]
    for odd in (pa.record_batch({"m": [1]}), {"n": 1}, 5):
        with pytest.raises(tocsin.InvalidInput, match="a list of Arrow batches that do not make one table"):
            tocsin.match(ONE, [batches[0], odd])


def test_shares_of_numpy_are_shares() -> None:
    assert tocsin.Statistics({"a": np.float32(0.5), "b": np.float64(1)}, "given").share("a") == 0.5  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "shares", [{"a": 1.5}, {"a": -0.1}, {"a": float("nan")}, {"a": "0.5"}, {"a": True}, [("a", 0.5)]]
)
def test_shares_that_are_none_are_refused(shares: Any) -> None:
    with pytest.raises(tocsin.InvalidInput, match="share"):
        tocsin.Statistics(shares, "given")
