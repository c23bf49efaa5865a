"""A chunk is matched in pieces, and the answer does not show it."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import tocsin
from tocsin.engine import Request, Stats, load_segments
from tocsin.engine.matching import answer_of

EVENTS = [{"n": float(i % 5), "s": "x" * (i % 3)} for i in range(3000)]
SUBSCRIPTIONS = [{"id": f"s{i}", "where": f"n >= {i}"} for i in range(4)] + [{"id": "all", "where": "n IS NOT NULL"}]
FORMS = {
    "objects": EVENTS,
    "lines": "".join(json.dumps(event) + "\n" for event in EVENTS).encode(),
    "table": pa.Table.from_pylist(EVENTS),
    "sparse": tocsin.SparseEvents(pa.table({"names": [["n"]] * 3000, "values": [[event["n"]] for event in EVENTS]})),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pairs", [1, 10_000, 10**9])
def test_pieces_of_any_size_give_one_answer(form, pairs):
    """However few matches a piece may give, rows, order and lists are those of the whole."""
    expected = [(i, s["id"]) for i, e in enumerate(EVENTS) for s in sorted(SUBSCRIPTIONS, key=lambda s: s["id"])]
    least = {"s0": 0, "s1": 1, "s2": 2, "s3": 3, "all": 0}
    expected = [(i, name) for i, name in expected if EVENTS[i]["n"] >= least[name]]
    snapshots, _ = load_segments(SUBSCRIPTIONS)

    answer, listed = (
        answer_of(snapshots, FORMS[form], Request(lists=lists, piece_matches=pairs), Stats(), [])
        for lists in (False, True)
    )

    assert [tuple(row.values()) for row in answer.table.to_pylist()] == expected
    assert listed.table["event"].to_pylist() == list(range(3000))
    assert sum(map(len, listed.table["subscription"].to_pylist())) == len(expected)


def test_rejects_stay_with_their_rows():
    """Bad records among the pieces are reported once, with their own rows."""
    lines = [json.dumps(event) for event in EVENTS]
    for row in (0, 1023, 1024, 2999):
        lines[row] = "{bad"

    answer = tocsin.match(SUBSCRIPTIONS, "\n".join(lines).encode(), lists=True)

    assert [reject.row for reject in answer.errors] == [0, 1023, 1024, 2999]
    assert answer.stats.events == 3000
    assert [row["event"] for row in answer.table.to_pylist() if row["subscription"] is None] == [0, 1023, 1024, 2999]
