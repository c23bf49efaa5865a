"""An answer hands its table to whatever reads Arrow."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tocsin

ROWS = [{"event": 0, "subscription": "b", "score": 2.0}, {"event": 0, "subscription": "a", "score": 1.0}]


@pytest.fixture
def answer() -> tocsin.Answer:
    subscriptions = [{"id": "a", "where": "n = 1"}, {"id": "b", "where": "n = 1", "score": 2}]
    return tocsin.match(subscriptions, [{"n": 1}, {"n": 2}], ranking=tocsin.Top(5))


@pytest.fixture
def listed() -> tocsin.Answer:
    return tocsin.match([{"id": 1, "where": "n = 1"}], [{"n": 1}, {"n": 2}, "bad"], lists=True)


def test_arrow_reads_it(answer: tocsin.Answer) -> None:
    """pa.table takes an answer as it is."""
    assert pa.table(answer) == answer.table
    assert pa.table(answer).to_pylist() == ROWS
    assert pa.RecordBatchReader.from_stream(answer).read_all() == answer.table


def test_polars_reads_it(answer: tocsin.Answer) -> None:
    """So do pl.DataFrame and to_polars."""
    assert answer.to_polars().to_dicts() == ROWS
    assert pl.DataFrame(answer).to_dicts() == ROWS


def test_pandas_reads_it(answer: tocsin.Answer) -> None:
    """to_pandas gives a data frame with the same columns."""
    frame = answer.to_pandas()

    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("records") == ROWS


def test_lists_go_out_as_lists(listed: tocsin.Answer) -> None:
    """Lists and nulls arrive as such."""
    assert pa.table(listed)["subscription"].to_pylist() == [[1], [], None]
    assert listed.to_polars()["subscription"].to_list() == [[1], [], None]
    assert [v if v is None else list(v) for v in listed.to_pandas()["subscription"]] == [[1], [], None]


def test_an_answer_is_a_source_of_records(answer: tocsin.Answer) -> None:
    """An answer can be matched again, as any table can."""
    again = tocsin.match([{"id": "high", "where": "score > 1 AND subscription = 'b'"}], answer)

    assert again.table.to_pylist() == [{"event": 0, "subscription": "high"}]
