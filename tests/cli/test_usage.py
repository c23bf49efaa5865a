"""What cannot run, and calls that are not understood: one line says why, and the status is 2."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.cli.calling import run
from tocsin.cli.main import main, make_parser

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


NOT_UNDERSTOOD = {
    "a misspelt command": (["matsch"], "'matsch' is not one of check, match, "),
    "a similar command": (["matsch"], "; did you mean match?\n"),
    "a misspelt verb": (["index", "lst"], "'lst' is not one of list; did you mean list?"),
    "another command": (["nonsense"], ", demo\n"),
    "a misspelt choice": (["match", "a", "b", "--format", "csvv"], "; did you mean csv?"),
    "a misspelt option": (["match", "a", "b", "--output", "x"], ": --output x; did you mean --out?"),
    "an option of other commands": (["match", "a", "b", "--key", "x"], "; did you mean --event-key?"),
    "an option with one dash": (["match", "a", "b", "-top", "3"], "; did you mean --top?"),
    "an unknown option": (["match", "a", "b", "--zzz", "x"], "--zzz x\n"),
    "an option, where arguments are missing": (["--vesion"], "--vesion is not an option; did you mean --version?"),
    "an unknown option of a command": (["match", "--zzz"], ": SUBSCRIPTIONS, EVENTS; --zzz is not an option\n"),
    "missing arguments": (["match", "--top=2", "a"], "are required: EVENTS\n"),
}


@pytest.mark.parametrize("what", NOT_UNDERSTOOD)
def test_a_misspelt_word_is_answered_with_a_similar_one(what: str, capfd: Any) -> None:
    """A command, a verb, a choice or an option, or an option that another command calls differently."""
    arguments, message = NOT_UNDERSTOOD[what]

    with pytest.raises(SystemExit):
        main(arguments)

    assert message in capfd.readouterr().err


def _numbers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _numbers(command)
        elif action.type in (int, float):
            yield parser.prog, action


@pytest.mark.parametrize(("command", "option"), [*_numbers(make_parser())])
@pytest.mark.parametrize("value", ["x", "1,5", "", "nan"])
def test_a_value_that_is_not_a_number_is_answered_in_our_words(
    command: str, option: argparse.Action, value: str, capfd: Any
) -> None:
    """Of each option that takes a number, in each command: they say what it is, and not a type of Python."""
    what = "an integer; write one such as 20" if option.type is int else "a number; write one such as 2.5"

    with pytest.raises(SystemExit):
        main([*command.split()[1:], option.option_strings[0], value])

    assert capfd.readouterr().err.endswith(f"argument {option.option_strings[0]}: {value!r} is not {what}\n")


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


@pytest.mark.parametrize("command", ["match", "fences"])
@pytest.mark.parametrize("out", ["x.doc", "no/x.csv", "."])
def test_the_output_is_checked_before_anything_is_read(
    command: str, out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """A bad subscription would be reported if the file was read."""
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text('{"id": 1}\n')
    Path("e.jsonl").write_text("{}\n")
    key = ["--key", "k"] if command == "fences" else []
    assert main([command, "s.jsonl", "e.jsonl", "--out", out, *key]) == 2
    shown = capfd.readouterr().err
    assert "subscription 0" not in shown and len(shown.splitlines()) == 1
