"""What each command prints and which status it ends with."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin.cli.main import main

SUBSCRIPTIONS = [
    {"id": "a", "where": "n = 1", "score": 2},
    {"id": "b", "where": "n >= 1 AND s = 'x'"},
    {"id": "c", "where": "z IS NULL", "score": -1},
]
EVENTS = [{"n": 1, "s": "x"}, {"n": 3, "s": "x"}, {"z": 1}]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with subs.jsonl, bad.jsonl and events.jsonl, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "subs.jsonl", SUBSCRIPTIONS)
    lines(tmp_path / "bad.jsonl", [{"id": "x", "where": "n = AND"}, *SUBSCRIPTIONS, {"id": "a", "where": "n = 1"}])
    lines(tmp_path / "events.jsonl", EVENTS)
    lines(tmp_path / "events.txt", EVENTS)
    return tmp_path


def lines(path: Path, records: list[Any]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def records(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def run(capfd: Any, *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    return status, *capfd.readouterr()


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
    assert told[20] == "... and 30 more rejected records; --errors FILE writes them all"
    assert told[21].startswith("1 match of 51 events")
    assert all(line.startswith("warning: ") for line in told[22:]) and told[22:]


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


COULD_NOT_RUN = {
    "unknown index": (["match", "subs.jsonl", "events.jsonl", "--index", "scam"], "did you mean 'scan'"),
    "top 0": (["match", "subs.jsonl", "events.jsonl", "--top", "0"], "--top is 0; it must"),
    "relaxed -1": (["match", "subs.jsonl", "events.jsonl", "--relaxed", "-1"], "--relaxed is -1;"),
    "missing subscriptions": (["match", "no.jsonl", "events.jsonl"], "no file no.jsonl"),
    "missing events": (["match", "subs.jsonl", "no.csv"], "no file no.csv"),
    "unknown ending": (["match", "subs.jsonl", "events.txt"], "ending '.txt'"),
    "unknown ending of the output": (["match", "subs.jsonl", "events.jsonl", "--out", "x.doc"], "ending '.doc'"),
    "missing folder": (["match", "no/", "events.jsonl"], "match: there is no file or folder no/"),
    "missing events without an ending": (["match", "subs.jsonl", "no"], "match: there is no file or folder no"),
    "check of a missing folder": (["check", "no/"], "check: there is no file or folder no/"),
    "compile of a missing folder": (["compile", "no/", "index"], "compile: there is no file or folder no/"),
    "explain of a missing folder": (["explain", "no/", "events.jsonl"], "explain: there is no file or folder no/"),
    "fences of a missing folder": (["fences", "no/", "events.jsonl", "--key", "k"], "there is no file or folder no/"),
    "no folder for the output": (
        ["match", "subs.jsonl", "events.jsonl", "--out", "no/x.csv"],
        "cannot write no/x.csv: there is no folder no\n",
    ),
    "no folder for the errors": (
        ["match", "subs.jsonl", "events.jsonl", "--errors", "no/e"],
        "there is no folder no\n",
    ),
    "no folder for the state": (
        ["fences", "subs.jsonl", "events.jsonl", "--key", "n", "--state", "no/e"],
        "cannot write no/e: there is no folder no\n",
    ),
    "the format of the output": (["match", "subs.jsonl", "events.jsonl", "--out", "x.doc"], " --out-format json|csv"),
    "the format of the input": (["match", "subs.jsonl", "events.txt"], " --format json|csv"),
    "lists in CSV": (["match", "subs.jsonl", "events.jsonl", "--lists", "--out", "x.csv"], "CSV cannot hold"),
    "a folder that is no index": (["match", ".", "events.jsonl"], "not a tocsin index"),
    "two standard inputs": (["match", "-", "-"], "only one"),
    "schema of no type": (["match", "subs.jsonl", "e.csv", "--schema", "n:float"], "'float' in 'n:float' is not"),
    "schema without a type": (["match", "subs.jsonl", "e.csv", "--schema", "n"], "'n' is not COLUMN:TYPE"),
    "delimiter for JSON": (["match", "subs.jsonl", "events.jsonl", "--delimiter", ";"], "a delimiter is for CSV"),
    "check of nothing": (["check", "no.jsonl"], "no file no.jsonl"),
    "compile of nothing": (["compile", "no.jsonl", "index"], "no file no.jsonl"),
    "compile with an unknown index": (["compile", "subs.jsonl", "index", "--index", "x"], "no index is named 'x'"),
    "compile into a file": (["compile", "subs.jsonl", "events.jsonl"], "events.jsonl"),
    "explain without a choice": (["explain", "subs.jsonl", "events.jsonl"], "holds 3 subscriptions"),
    "explain of an unknown id": (["explain", "subs.jsonl", "events.jsonl", "--id", "q"], "no subscription 'q'"),
    "explain of a bad subscription": (["explain", "bad.jsonl", "events.jsonl", "--id", "x"], "cannot be read"),
    "explain of no event": (["explain", "subs.jsonl", "events.jsonl", "--id", "a", "--row", "9"], "no event 9"),
}


@pytest.mark.parametrize("what", COULD_NOT_RUN)
def test_what_cannot_run_says_why_and_ends_with_2(what: str, files: Path, capfd: Any) -> None:
    """One line on standard error (two more show a place in an expression) names the command and the reason."""
    arguments, message = COULD_NOT_RUN[what]
    before = sorted(files.rglob("*"))

    status, _, err = run(capfd, *arguments)

    assert status == 2
    assert err.startswith(f"tocsin {arguments[0]}: ")
    assert message in err
    assert err.count("\n") == (3 if "line 1, column" in err else 1)
    assert sorted(files.rglob("*")) == before


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["match"], ["match", "a", "b", "--top", "x"], ["index"]])
def test_wrong_usage_ends_with_2(arguments: list[str], capfd: Any) -> None:
    """argparse's own refusals have the status of what could not run."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    assert caught.value.code == 2
    assert "usage: tocsin" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("--output", "; did you mean --out?"), ("--key", "; did you mean --event-key?"), ("--zzz", "--zzz x\n")],
)
def test_an_unknown_option_is_answered_with_a_similar_one(wrong: str, meant: str, capfd: Any) -> None:
    """A misspelt one, or one that another command calls differently."""
    with pytest.raises(SystemExit):
        main(["match", "a", "b", wrong, "x"])

    assert meant in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--format", "json"]])
def test_a_csv_from_standard_input_is_answered_with_the_option(
    files: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """Only if the format is the default."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"n;s\n1;a\n")))

    status, _, err = run(capfd, "match", "subs.jsonl", "-", *arguments)

    assert status == 2
    assert ("is read as JSON lines unless --format gives another format" in err) == (not arguments)


def test_version(capfd: Any) -> None:
    """`--version` is the package's."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])

    assert caught.value.code == 0
    assert capfd.readouterr().out == f"tocsin {tocsin.__version__}\n"


def test_check_counts_what_is_understood(files: Path, capfd: Any) -> None:
    """Accepted and rejected, the attributes, the planned index; rejects on standard error with status 1."""
    good = run(capfd, "check", "subs.jsonl")
    bad = run(capfd, "check", "bad.jsonl")

    assert good[0] == 0
    assert "3 subscriptions accepted, 0 rejected" in good[1]
    assert "3 attributes: n, s, z" in good[1]
    assert "index: access" in good[1]
    assert good[2] == ""
    assert bad[0] == 1
    assert "3 subscriptions accepted, 2 rejected" in bad[1]
    assert "subscription 0 (x): where: line 1, column 5" in bad[2]


def test_check_names_attributes_as_users_do(files: Path, capfd: Any) -> None:
    """Each once, whatever is asked of it: words, places, elements, instants, arrays."""
    asked = ["TEXT(title, 'new')", "DISTANCE_M(p, POINT(1 2)) <= 5", "A_EQUALS(l, (b))", "t > DATE('2024-01-01')"]
    lines = [json.dumps({"id": str(number), "where": where}) for number, where in enumerate([*asked, "ANY(l, n = 1)"])]
    Path("asked.jsonl").write_text("\n".join(lines))

    shown = run(capfd, "check", "asked.jsonl")[1].splitlines()[1]
    assert shown.startswith("5 attributes: ") and set(shown.split(": ")[1].split(", ")) == set("plbt") | {"title"}


def test_check_counts_what_it_cannot_read_of_a_sample(files: Path, capfd: Any) -> None:
    """Each event once, and what was wrong with the first."""
    Path("sample.jsonl").write_text('{"n": 1}\n{"n": 1e999, "s": 1e999}\n{"n": \n[1]\n')

    shown = run(capfd, "check", "subs.jsonl", "--sample", "sample.jsonl")[1]

    assert "warning: 3 events of the sample had errors; event 1: n: " in shown
    assert ".;" not in shown


def test_check_of_an_expression(capfd: Any) -> None:
    """`-e` prints the expression as it was understood, as text or JSON; a mistake is shown with a caret."""
    text = "NOT (a=1 or b in (2))"

    plain = run(capfd, "check", "-e", text)
    as_json = run(capfd, "check", "-e", text, "--json")
    wrong = run(capfd, "check", "-e", "a = 1 AND")

    assert plain[0] == 0
    assert tocsin.parse(plain[1].splitlines()[0]) == tocsin.parse(text)
    assert plain[1].splitlines()[1] == "attributes: a, b"
    assert as_json[0] == 0
    assert tocsin.parse_json(json.loads(as_json[1])) == tocsin.parse(text)
    assert (wrong[0], wrong[1]) == (1, "")
    assert "line 1, column 10" in wrong[2]
    assert wrong[2].rstrip().endswith("^")


@pytest.mark.parametrize("name", [2**63 - 1, -(2**63), 7])
def test_explain_finds_an_id_of_any_size(files: Path, capfd: Any, name: int) -> None:
    """Integers are read from the command line as they are in the file."""
    (files / "numbered.jsonl").write_text(f'{{"id": {name}, "where": "n = 1"}}\n{{"id": 1, "where": "n = 2"}}\n')

    status, out, _ = run(capfd, "explain", "numbered.jsonl", "events.jsonl", "--id", f"{name}")

    assert (status, out.splitlines()[0]) == (0, f"subscription {name}, event 0:")


def test_explain_says_why(files: Path, capfd: Any) -> None:
    """It shows whether the event matches and which condition fails."""
    matches = run(capfd, "explain", "subs.jsonl", "events.jsonl", "--id", "b")
    fails = run(capfd, "explain", "subs.jsonl", "events.jsonl", "--id", "a", "--row", "1")

    assert matches[0] == fails[0] == 0
    assert "subscription b, event 0:\nmatches" in matches[1]
    assert "does not match" in fails[1]
    assert "n = 1: n = 3" in fails[1]
    assert "\nindex: " in matches[1]
    assert "(access: " in matches[1]
    assert matches[2] == fails[2] == ""


def test_compile_then_match(files: Path, capfd: Any) -> None:
    """A compiled index answers like the subscriptions; compiling again replaces it, and rejects give status 1."""
    first = run(capfd, "compile", "subs.jsonl", "index")
    again = run(capfd, "compile", "bad.jsonl", "index", "--errors", "errors.jsonl")

    status, out, _ = run(capfd, "match", "index", "events.jsonl", "--top", "2")

    assert first[0] == 0
    assert "3 subscriptions compiled into index, 0 rejected" in first[1]
    assert "index: access" in first[1]
    assert again[0] == 1
    assert len(records((files / "errors.jsonl").read_text())) == 2
    assert status == 0
    assert records(out) == tocsin.match(SUBSCRIPTIONS, EVENTS, ranking=tocsin.Top(2)).table.to_pylist()
    assert len(list((files / "index").glob("version-*"))) == 2


@pytest.mark.parametrize("command", [("check", "subs.jsonl"), ("compile", "subs.jsonl", "index")])
def test_a_sample_of_events_is_counted(files: Path, capfd: Any, command: tuple[str, ...]) -> None:
    """The reason says what the placement goes by; without a sample, that it is estimated."""
    assert "estimated" in run(capfd, *command)[1]
    status, out, _ = run(capfd, *command, "--sample", "events.jsonl")

    assert status == 0
    assert f"values sampled from {len(EVENTS)} events" in out


def test_an_index_keeps_what_was_sampled(files: Path, capfd: Any) -> None:
    """Compiled again into the same folder without a sample, it goes by the one before; another folder knows of none."""
    run(capfd, "compile", "subs.jsonl", "index", "--sample", "events.jsonl")

    assert f"values sampled from {len(EVENTS)} events" in run(capfd, "compile", "subs.jsonl", "index")[1]
    assert "estimated" in run(capfd, "compile", "subs.jsonl", "other")[1]


def test_a_sample_that_cannot_be_taken(files: Path, capfd: Any) -> None:
    """A missing file, and a sample for what is placed nowhere, are said."""
    assert run(capfd, "check", "subs.jsonl", "--sample", "none.jsonl")[0] == 2
    status, _, err = run(capfd, "check", "-e", "a = 1", "--sample", "events.jsonl")

    assert status == 2
    assert "--sample needs a file" in err


def test_index_list_names_every_index(capfd: Any) -> None:
    """One row a registration, the structures of windows among them."""
    status, out, err = run(capfd, "index", "list")

    assert (status, err) == (0, "")
    assert out.splitlines()[0].split() == ["name", "question", "accepts", "role", "source"]
    assert any(line.startswith("scan ") for line in out.splitlines())
    rows = {row[0]: row[1:] for row in (re.split("  +", line) for line in out.splitlines())}
    assert {"blocks", "skype", "ciq", "inverted_file"} <= set(rows)
    assert rows["skype"][:3] == ["the best recent messages", "a place and words", "index"]
    assert rows["skype"][3].startswith("Skype (Wang et al. 2016")
    assert rows["ciq"][2] == "baseline"
