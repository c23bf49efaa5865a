"""A chunk is matched in pieces, and the answer does not show it."""

from __future__ import annotations

import json
import threading

import pyarrow as pa
import pytest

import tocsin
from tocsin.engine import Request, Stats, load_segments, match_chunks
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
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pieces_of_any_size_give_one_answer(form, pairs, threads):
    """However few matches a piece may give, and however many threads: rows, order and lists are those of the whole."""
    expected = [(i, s["id"]) for i, e in enumerate(EVENTS) for s in sorted(SUBSCRIPTIONS, key=lambda s: s["id"])]
    least = {"s0": 0, "s1": 1, "s2": 2, "s3": 3, "all": 0}
    expected = [(i, name) for i, name in expected if EVENTS[i]["n"] >= least[name]]
    snapshots, _ = load_segments(SUBSCRIPTIONS)

    answer, listed = (
        answer_of(snapshots, FORMS[form], Request(lists=lists, piece_matches=pairs, threads=threads), Stats(), [])
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


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_a_number_of_threads_that_is_none(threads):
    with pytest.raises(tocsin.InvalidInput, match=r"threads is .*; it must be an integer of at least 1"):
        tocsin.match(SUBSCRIPTIONS, EVENTS, threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_in_one_piece_is_the_answer(threads):
    """The first bad record in the order of the rows, whichever thread finds its own first; and threads end."""
    lines = [json.dumps(event) for event in EVENTS]
    lines[1500], lines[2700] = "{first", "{second"

    with pytest.raises(tocsin.RecordError, match="event 1500"):
        tocsin.match(SUBSCRIPTIONS, "\n".join(lines).encode(), strict=True, threads=threads)
    assert not [one for one in threading.enumerate() if one.name.startswith("tocsin_")]


def test_a_source_is_read_no_further_than_a_few_pieces_ahead():
    """Memory stays bounded, however slow an answer is taken."""
    taken = []

    def numbered():
        for n in range(100_000):
            taken.append(n)
            yield {"n": 1.0}

    class Sized(list):
        """An iterable that says how long it is."""

        def __len__(self):
            return 100_000

        def __iter__(self):
            return numbered()

    snapshots, _ = load_segments(SUBSCRIPTIONS)
    parts = match_chunks(snapshots, Sized(), Request(threads=2, piece_matches=4000), Stats())
    next(parts)

    assert len(taken) <= 2 * 16_384
    assert sum(part.stats.events for part in parts) == 100_000 - 256


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_is_told(threads):
    """Of the subscriptions first, then of the events; shares grow, and end at 1."""
    shares: list[float] = []
    answer = tocsin.match(SUBSCRIPTIONS, FORMS["lines"], threads=threads, progress=shares.append)

    assert len(answer.table) and shares.count(1.0) >= 2
    of_events = shares[shares.index(1.0) + 1 :]
    assert of_events == sorted(of_events) and len(of_events) > 1 and of_events[-1] == 1.0

    with tocsin.Engine() as engine:
        engine.subscribe_many(SUBSCRIPTIONS)
        shares = []
        engine.match_batch(iter(EVENTS), progress=shares.append)
    assert shares and set(shares) == {None}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"lists": True}, {"event_key": "n"}, {"ranking": tocsin.Top(2)}])
def test_the_answers_of_pieces_are_the_answer_of_the_whole(form, options):
    engine = tocsin.Engine()
    engine.subscribe_many(SUBSCRIPTIONS)
    whole = engine.match_batch(FORMS[form], **options)

    parts = list(engine.match_batches(FORMS[form], **options))

    assert len(parts) > 1
    assert [row for part in parts for row in part] == whole.table.to_pylist()
    for name in ("events", "matches", "candidates_examined", "verified"):
        assert sum(getattr(part.stats, name) for part in parts) == getattr(whole.stats, name)
    assert parts[-1].warnings == whole.warnings


def test_an_endless_source_is_answered_as_it_comes():
    engine = tocsin.Engine()
    engine.subscribe_many(SUBSCRIPTIONS)
    answers = engine.match_batches({"n": float(i % 5)} for i in iter(int, 1))
    assert [len(next(answers)) > 0 for _ in range(3)] == [True] * 3
    engine.unsubscribe("all")
    assert "all" in next(answers).table["subscription"].to_pylist()  # as when the first was asked for
    answers.close()
    assert "all" not in next(engine.match_batches(EVENTS)).table["subscription"].to_pylist()


def test_the_answers_of_pieces_have_the_errors():
    engine = tocsin.Engine()
    engine.subscribe_many(SUBSCRIPTIONS)
    lines = "".join(json.dumps(event) + "\n" for event in EVENTS) + "{bad\n"
    parts = list(engine.match_batches(lines.encode()))
    assert [[error.row for error in part.errors] for part in parts if part.errors] == [[3000]]
    with pytest.raises(tocsin.RecordError):
        list(engine.match_batches(lines.encode(), strict=True))
    assert list(engine.match_batches([])) == []
    with pytest.raises(tocsin.InvalidInput, match="ranking"):
        engine.match_batches(EVENTS, ranking=5)  # at the call, not at the first answer
