"""Matches written by Arrow are those that Python writes one by one."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tocsin.engine.groups import Columns
from tocsin.service.fragments import fragment, fragments_of_many, lines_of_many

IDS = st.lists(st.integers(-(2**63), 2**63 - 1)) | st.lists(st.text(st.characters(exclude_categories=["Cs"])))
SCORES = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 1e300])
PAYLOADS = st.none() | st.dictionaries(st.text('aé"\n'), st.integers()).map(json.dumps)


@given(IDS, st.data())
def test_columns_are_written_like_single_matches(ids: list[int] | list[str], data: st.DataObject) -> None:
    count = len(ids)
    scores = data.draw(st.lists(SCORES, min_size=count, max_size=count))
    payloads = data.draw(st.lists(PAYLOADS, min_size=count, max_size=count))
    starts = sorted([0, *data.draw(st.lists(st.integers(0, count), max_size=5)), count])
    columns = Columns(
        np.arange(len(starts) - 1) * 2,
        np.array(starts),
        pa.array(ids, pa.int64() if ids and isinstance(ids[0], int) else pa.large_string()),
        np.array(scores, np.float64),
        pa.array(payloads, pa.large_string()),
    )

    written = list(map(fragment, ids, scores, payloads))
    assert fragments_of_many(columns).to_pylist() == written
    lines = [
        f'{{"row":{7 + 2 * row},"matches":[{",".join(written[first:stop])}]}}\n'
        for row, (first, stop) in enumerate(itertools.pairwise(starts))
    ]
    assert lines_of_many(columns, 7).to_pylist() == lines
    for line, first in zip(lines, starts, strict=False):
        for place, match in enumerate(json.loads(line)["matches"], first):
            assert match["id"] == ids[place]
            assert match["score"] == (scores[place] if math.isfinite(scores[place]) else None)
