"""tocsin match: what it writes where, and which status it ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.cli.calling import EVENTS, SUBSCRIPTIONS, lines, records, run


def test_match_writes_one_record_a_match(files: Path, capfd: Any) -> None:
    """Records go to standard output, the summary to standard error, and the status is 0."""
    status, out, err = run(capfd, "match", "subs.jsonl", "events.jsonl")

    assert status == 0
    assert records(out) == tocsin.match(SUBSCRIPTIONS, EVENTS).table.to_pylist()
    assert records(out)[0] == {"event": 0, "subscription": "a"}
    assert "5 matches of 3 events and 3 subscriptions, 0 rejected" in err


@pytest.mark.parametrize("k", [1, 2, 9])
def test_top_ranks(k: int, files: Path, capfd: Any) -> None:
    """`--top K` writes the best K of each event with their scores."""
    status, out, _ = run(capfd, "match", "subs.jsonl", "events.jsonl", "--top", str(k))

    assert status == 0
    assert records(out) == tocsin.match(SUBSCRIPTIONS, EVENTS, ranking=tocsin.Top(k)).table.to_pylist()


@pytest.mark.parametrize("k", [1, 3])
def test_relaxed_ranks(k: int, files: Path, capfd: Any) -> None:
    """`--relaxed K` writes the K of which most holds; it and `--top` exclude each other."""
    status, out, _ = run(capfd, "match", "subs.jsonl", "events.jsonl", "--relaxed", str(k))

    assert status == 0
    assert records(out) == tocsin.match(SUBSCRIPTIONS, EVENTS, ranking=tocsin.Relaxed(k)).table.to_pylist()
    with pytest.raises(SystemExit):
        run(capfd, "match", "subs.jsonl", "events.jsonl", "--relaxed", "1", "--top", "1")


def test_lists_are_one_record_an_event(files: Path, capfd: Any) -> None:
    """`--lists` writes every event, the ones without a match too, and null for the rejected."""
    lines(files / "events.jsonl", [*EVENTS[1:], "bad"])

    status, out, _ = run(capfd, "match", "subs.jsonl", "events.jsonl", "--lists", "--top", "1")

    assert status == 1
    assert records(out) == [
        {"event": 0, "subscription": ["b"], "score": [1.0]},
        {"event": 1, "subscription": [], "score": []},
        {"event": 2, "subscription": None, "score": None},
    ]


def test_rejects_go_to_standard_error(files: Path, capfd: Any) -> None:
    """Rejected subscriptions and events are told one by one, the rest is matched, and the status is 1."""
    with (files / "events.jsonl").open("a") as file:
        file.write('{"n": \n{"n": 1e400}\n')

    status, out, err = run(capfd, "match", "bad.jsonl", "events.jsonl")

    assert status == 1
    assert len(records(out)) == 6
    assert "subscription 0 (x): where: line 1, column 5" in err
    assert "subscription 4 (a): id: a subscription 'a' exists already" in err
    assert "event 3: line 4: invalid JSON" in err
    assert "event 4: n: infinity" in err
    assert "3 rejected, 1 value not read" in err


def test_rejects_go_to_a_file(files: Path, capfd: Any) -> None:
    """`--errors FILE` takes them all as JSON lines, and standard error only counts them."""
    lines(files / "events.jsonl", [*EVENTS, *["bad"] * 50])

    status, _, err = run(capfd, "match", "bad.jsonl", "events.jsonl", "--errors", "errors.jsonl")

    logged = records((files / "errors.jsonl").read_text())
    assert status == 1
    assert [(r["record"], r["row"], r["id"], r["field"]) for r in logged] == [
        ("subscription", 0, "x", "where"),
        ("subscription", 4, "a", "id"),
        *(("event", row, None, "") for row in range(3, 53)),
    ]
    assert all(record["reason"] for record in logged)
    assert err.count("\n") == 1


def test_many_rejects_are_cut_on_a_terminal_and_it_is_said(files: Path, capfd: Any) -> None:
    """Beyond twenty, the line below them says how many more there are and what writes them all."""
    lines(files / "events.jsonl", [{"m": 1}, *["bad"] * 50])

    _, _, err = run(capfd, "match", "subs.jsonl", "events.jsonl")

    told = err.splitlines()
    assert sum(line.startswith("event ") for line in told) == 20
    assert told[20] == "... and 30 more rejected events; --errors FILE writes them all"
    assert told[21].startswith("1 match of 51 events")
    assert all(line.startswith("warning: ") for line in told[22:]) and told[22:]


def test_bad_subscriptions_do_not_hide_bad_events(files: Path, capfd: Any) -> None:
    """Twenty of each kind are shown, and what was left out is counted by kind."""
    lines(files / "many.jsonl", [*SUBSCRIPTIONS, *[{"id": "x", "where": "n ="}] * 25])
    lines(files / "events.jsonl", [{"n": 1}, *["bad"] * 22])

    _, _, err = run(capfd, "match", "many.jsonl", "events.jsonl")

    told = err.splitlines()
    assert [sum(line.startswith(kind) for line in told) for kind in ("subscription ", "event ")] == [20, 20]
    assert "... and 5 more rejected subscriptions; --errors FILE writes them all" in told
    assert "... and 2 more rejected events; --errors FILE writes them all" in told


@pytest.mark.parametrize(
    ("subscriptions", "message"), [("bad.jsonl", "subscription 0: "), ("subs.jsonl", "event 1: line 2: invalid JSON")]
)
def test_strict_stops_at_the_first_bad_record(subscriptions: str, message: str, files: Path, capfd: Any) -> None:
    """With `--strict` the status is 2 and the message names the row."""
    (files / "events.jsonl").write_text('{"n": 1}\n{\n{"n": 1}\n{\n')

    status, out, err = run(capfd, "match", subscriptions, "events.jsonl", "--strict")

    assert (status, out) == (2, "")
    assert err.startswith("tocsin match: ")
    assert message in err


def test_a_schema_says_how_words_are_made(files: Path, capfd: Any) -> None:
    """Of a column that is a text, and of what TEXT asks of it."""
    (files / "e.csv").write_text('title\n"Shoes, to run in"\nhat\n')
    lines(files / "s.jsonl", [{"id": "t", "where": "TEXT(title, 'running shoe') AND A_CONTAINS(title, ('run'))"}])

    status, out, _ = run(capfd, "match", "s.jsonl", "e.csv", "--schema", "title:text english stem")
    refused, _, err = run(capfd, "match", "s.jsonl", "e.csv", "--schema", "title:text klingon stem")

    assert (status, records(out)) == (0, [{"event": 0, "subscription": "t"}])
    assert refused == 2 and "no stems for the language 'klingon'" in err


def test_a_schema_types_a_csv(files: Path, capfd: Any) -> None:
    """`--schema` gives columns of a CSV their type; a colon within a name is fine."""
    (files / "e.csv").write_text("n,a:b\n1,1\n2,x\n")
    lines(files / "s.jsonl", [{"id": "text", "where": "n = '1' AND \"a:b\" = 1"}])

    status, out, err = run(capfd, "match", "s.jsonl", "e.csv", "--schema", "n:string,a:b:number")

    assert status == 0
    assert records(out) == [{"event": 0, "subscription": "text"}]
    assert "warning: event 1: a:b: 'x' is not a number" in err


def test_values_that_were_not_read_are_summed_up(files: Path, capfd: Any) -> None:
    """Where every record was served the status is 0, a field is told of once, with its count, and a file takes all."""
    (files / "e.csv").write_text("n,s\n1,a\n" + "x,b\n" * 30 + "2,c\n")
    arguments = ["match", "subs.jsonl", "e.csv", "--schema", "n:number,s:number"]

    status, _, err = run(capfd, *arguments)
    strict, _, _ = run(capfd, *arguments, "--strict-values")
    filed, _, _ = run(capfd, *arguments, "--errors", "values.jsonl")

    assert (status, strict, filed) == (0, 1, 0)
    assert "warning: event 1: n: 'x' is not a number" in err and "event 2: n:" not in err
    assert "warning: 30 values of n were not read" in err
    assert "0 rejected, 62 values not read" in err
    assert len(records((files / "values.jsonl").read_text())) == 62


def test_a_record_that_was_not_served_counts_with_all_that_is_wrong(files: Path, capfd: Any) -> None:
    """Values of a record that was served cost no status; one record that was not does, though it has a field."""
    (files / "e.jsonl").write_text('{"n": 1e400}\n{"n": 1, "m": {"k": 1}, "m.k": 2}\n')
    lines(files / "s.jsonl", [{"id": "a", "where": "n > 0 OR m.k = 1"}])

    status, _, err = run(capfd, "match", "s.jsonl", "e.jsonl")

    assert status == 1
    assert "1 rejected, 1 value not read" in err


@pytest.mark.parametrize(("where", "is_told"), [("s = 'X'", True), ("s = 'X' OR n = 1", False)])
def test_nothing_matched_because_of_letter_case(where: str, is_told: bool, files: Path, capfd: Any) -> None:
    """It is said with what to write, but only if there is no match at all."""
    lines(files / "s.jsonl", [{"id": "a", "where": where}])

    err = run(capfd, "match", "s.jsonl", "events.jsonl")[2]
    quiet = run(capfd, "match", "s.jsonl", "events.jsonl", "--no-warnings")[2]

    told = "warning: s = 'X' (subscription a): 'x' satisfies it only if case is ignored; write CASEI(s) = CASEI('X')\n"
    assert (told in err) == is_told
    assert "warning" not in quiet
