"""What check, explain, compile and index print, and which status each ends with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.cli.calling import EVENTS, SUBSCRIPTIONS, records, run


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
    assert "\nindex: looked for under n = 1; events with this need no verification (access: " in fails[1]
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
