"""tocsin check with a sample of events, which it reads as tocsin match does."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.segment.folder import saved_statistics

SUBSCRIPTIONS = [
    {"id": "near", "where": "S_INTERSECTS(shop, BBOX(13, 52, 14, 53)) AND price <= 580"},
    {"id": "text", "where": "sku = '17'"},
    {"id": "typo", "where": "prize < 400"},
]
OPTIONS = ("--delimiter", ";", "--points", "shop=lon:lat", "--schema", "sku:string")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with subscriptions, in a file and compiled, and offers that need options."""
    monkeypatch.chdir(tmp_path)
    Path("subs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in SUBSCRIPTIONS))
    Path("offers.csv").write_text("sku;price;lon;lat\n17;550;13.4;52.5\n18;650;13.4;52.5\n")
    assert main(["compile", "subs.jsonl", "index"]) == 0
    return tmp_path


def run(capfd: Any, *arguments: str) -> tuple[int, str, str]:
    capfd.readouterr()
    status = main(arguments)
    return status, *capfd.readouterr()


@pytest.mark.parametrize("source", ["subs.jsonl", "index"])
def test_only_real_mistakes_are_warned_of(folder: Path, capfd: Any, source: str) -> None:
    """With the options of the match, for a file and for an index folder; without them, what is absent or mistyped."""
    status, out, err = run(capfd, "check", source, "--sample", "offers.csv", *OPTIONS)
    without = run(capfd, "check", source, "--sample", "offers.csv")[1]

    assert (status, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("warning: ")] == [
        "warning: prize < 400 (subscription typo): no event has prize; did you mean price?"
    ]
    assert "no event has shop" in without and "every sku that came is a number" in without


def test_misspelt_options_are_warned_of(folder: Path, capfd: Any) -> None:
    """As in a match."""
    out = run(capfd, "check", "subs.jsonl", "--sample", "offers.csv", "--points", "shop=lon:latt")[1]

    assert "no event has latt; did you mean lat?" in out


def test_a_folder_is_an_index(folder: Path, capfd: Any) -> None:
    """Its subscriptions are counted, and no file in it is read as subscriptions."""
    status, out, _ = run(capfd, "check", "index")

    assert status == 0
    assert out.splitlines()[:2] == ["3 subscriptions in index", "4 attributes: shop, price, sku, prize"]


def test_the_command_that_a_match_names_runs(folder: Path, capfd: Any) -> None:
    """It has the options of the match, so that it shows the same warnings, and all of them."""
    asked = [*SUBSCRIPTIONS, *({"id": name, "where": f"{name} = 1"} for name in ("m1", "m2", "m3"))]
    Path("subs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in asked))
    err = run(capfd, "match", "subs.jsonl", "offers.csv", *OPTIONS)[2]
    command = err.split("`")[1]

    out = run(capfd, *shlex.split(command)[1:])[1]

    assert (
        command
        == "tocsin check subs.jsonl --sample offers.csv --schema sku:string --points shop=lon:lat --delimiter ';'"
    )
    assert "... and 1 more warning;" in err
    assert out.count("warning: ") == 4


def test_errors_go_to_a_file(folder: Path, capfd: Any) -> None:
    """Those of subscriptions and of the sample; the status counts subscriptions alone."""
    Path("bad.jsonl").write_text('{"id": "x", "where": "n = AND"}\n{"id": "y", "where": "n = 1"}\n')
    Path("sample.jsonl").write_text('{"n": 1e999}\n{"n": \n')

    bad = run(capfd, "check", "bad.jsonl", "--sample", "sample.jsonl", "--errors", "errors.jsonl")
    logged = [json.loads(line) for line in Path("errors.jsonl").read_text().splitlines()]
    good = run(capfd, "check", "subs.jsonl", "--sample", "sample.jsonl", "--errors", "errors.jsonl")
    shown = run(capfd, "check", "bad.jsonl", "--sample", "sample.jsonl")

    assert (bad[0], good[0], bad[2]) == (1, 0, "")
    assert [(one["record"], one["row"]) for one in logged] == [("subscription", 0), ("event", 0), ("event", 1)]
    assert "warning: 2 events of the sample had errors; event 0: n: " in bad[1]
    assert "; --errors FILE writes them all" in shown[1] and "--errors" not in bad[1]


def test_many_mistakes_are_cut_and_it_is_said(folder: Path, capfd: Any) -> None:
    """As in the other commands."""
    Path("bad.jsonl").write_text('{"id": 1, "where": "n ="}\n' * 21)

    err = run(capfd, "check", "bad.jsonl")[2]

    assert err.splitlines()[-1] == "... and 1 more rejected subscription; --errors FILE writes them all"


def test_an_index_is_compiled_with_a_sample_that_needs_options(folder: Path, capfd: Any) -> None:
    """Its statistics know the point, and so does a plan."""
    status, _, err = run(capfd, "compile", "subs.jsonl", "index", "--sample", "offers.csv", *OPTIONS)

    assert (status, err) == (0, "")
    statistics = saved_statistics("index")
    assert statistics is not None and statistics.shares["shop"] == statistics.shares["price"] == 1.0
    assert run(capfd, "compile", "subs.jsonl", "index", "--sample", "offers.csv")[0] == 0
    without = saved_statistics("index")
    assert without is not None and "shop" not in without.shares
    plan = ["compile", "subs.jsonl", "--plan", "--placement", "access", "--partitions", "2", "--sample", "offers.csv"]
    visits = [run(capfd, *plan, *options)[1] for options in (OPTIONS, ())]
    assert "an event visits" in visits[0] and visits[0] != visits[1]


@pytest.mark.parametrize("command", [["compile", "subs.jsonl", "index"], ["compile", "subs.jsonl", "--plan"]])
def test_options_of_a_sample_need_it(folder: Path, capfd: Any, command: list[str]) -> None:
    """Where an index is compiled or planned, too."""
    status, _, err = run(capfd, *command, "--schema", "sku:string")

    assert status == 2 and "--schema says how events are read; give some with --sample EVENTS" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["subs.jsonl", "--points", "shop=lon:lat"], "--points says how events are read; give some with --sample"),
        (["-e", "a = 1", "--sample", "offers.csv"], "--sample needs a file of subscriptions"),
        (["-", "--sample", "-"], "only one of SUBSCRIPTIONS and --sample can be standard input"),
        (["subs.jsonl", "--errors", "subs.jsonl"], "subs.jsonl is read or written already"),
        (["subs.jsonl", "--sample", "offers.csv", "--points", "shop"], "'shop' is not NAME=X:Y"),
    ],
)
def test_options_that_do_not_fit(folder: Path, capfd: Any, arguments: list[str], message: str) -> None:
    """The status is 2, and the message says why."""
    status, _, err = run(capfd, "check", *arguments)

    assert status == 2
    assert message in err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("e.jsonl", '{"n"\n[1]\n', "no event could be read; event 0: line 1: invalid JSON"),
        ("e.csv", "a,b\n1\n2\n", "no event could be read; event 0: line 2: 1 fields; the header has 2"),
        ("e.jsonl", "", "there is no event to count; leave --sample out to estimate them from the subscriptions"),
    ],
)
def test_a_sample_without_a_readable_event(folder: Path, capfd: Any, name: str, text: str, said: str) -> None:
    """Says why the first event cannot be read, to check and compile; or that there is none."""
    Path(name).write_text(text)

    for command in (("check", "subs.jsonl"), ("compile", "subs.jsonl", "index")):
        status, _, err = run(capfd, *command, "--sample", name)
        assert (status, err.startswith(f"tocsin {command[0]}: {said}")) == (2, True), err


OF_CASE = [
    ("title LIKE '%bike%' AND n = 1", "title LIKE '%bike%'", "'Bike, new'", "CASEI(title) LIKE CASEI('%bike%')"),
    ("n = 2 OR city = 'bonn'", "city = 'bonn'", "'BONN'", "CASEI(city) = CASEI('bonn')"),
    ("city IN ('x', 'Bonn')", "city IN ('x', 'Bonn')", "'BONN'", "CASEI(city) IN (CASEI('x'), CASEI('Bonn'))"),
    ("MATCHES(title, '^bike')", "MATCHES(title, '^bike')", "'Bike, new'", "MATCHES(title, '(?i)^bike')"),
    ("title LIKE '%shoe%'", "", "", ""),
    ("city LIKE 'k%'", "", "", ""),
    ("NOT city = 'bonn'", "", "", ""),
    ("CASEI(city) = CASEI('bonn')", "", "", ""),
]


@pytest.mark.parametrize(("where", "condition", "text", "instead"), OF_CASE)
def test_a_condition_that_only_letter_case_prevents(
    folder: Path, capfd: Any, where: str, condition: str, text: str, instead: str
) -> None:
    """Is warned of with what to write, from a file and an index; not if one event satisfies it as it is, or none do."""
    asked = [{"id": "gone", "where": "city = 'bonn' AND city = 'bonn'"}, {"id": "a", "where": where}]
    Path("case.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked[1:]))
    Path("e.jsonl").write_text(
        '{"title": "Bike, new", "city": "BONN", "n": 1}\n{"city": "kiel", "n": 2}\n{"city": "KIEL"}\n'
    )
    engine = tocsin.Engine()
    engine.subscribe_many(asked)
    engine.unsubscribe("gone")
    engine.save("cased")

    for source in ("case.jsonl", "cased"):
        out = run(capfd, "check", source, "--sample", "e.jsonl")[1]
        told = [line for line in out.splitlines() if "case is ignored" in line]
        reason = f"{text} satisfies it only if case is ignored; write {instead}"
        assert told == ([f"warning: {condition} (subscription a): {reason}"] if condition else [])
