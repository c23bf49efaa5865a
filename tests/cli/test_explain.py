"""tocsin explain: the options of tocsin match, from files and index folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin.cli.main import main

SUBSCRIPTIONS = [
    {"id": "near", "where": "S_INTERSECTS(shop, BBOX(13, 52, 14, 53)) AND price <= 580"},
    {"id": "text", "where": "TEXT(title, 'running shoe')"},
    {"id": "gone", "where": "price = 1"},
]
OFFERS = (
    "sku;price;lon;lat;title\na-1;550;13.4;52.5;Shoes to run in\na-2;650;13.4;52.5;hat\na-3;550;;;hat\n17;1;0;0;x\n"
)
OPTIONS = ("--delimiter", ";", "--points", "shop=lon:lat", "--schema", "price:number,sku:string")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with subscriptions in a file and in the index folders of `compile` and `Engine.save`, and offers."""
    monkeypatch.chdir(tmp_path)
    Path("subs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in SUBSCRIPTIONS))
    Path("offers.csv").write_text(OFFERS)
    engine = tocsin.Engine(texts={"title": "text english stem"})
    engine.subscribe_many(SUBSCRIPTIONS)
    engine.unsubscribe("gone")
    engine.save("saved")
    assert main(["compile", "subs.jsonl", "compiled"]) == 0
    Path("changes.jsonl").write_text('{"id": "gone", "change": "delete", "version": 1}\n')
    assert main(["update", "compiled", "changes.jsonl"]) == 0
    return tmp_path


def explained(capfd: Any, *arguments: str) -> tuple[int, str, str]:
    capfd.readouterr()
    status = main(["explain", *arguments])
    return status, *capfd.readouterr()


@pytest.mark.parametrize("source", ["subs.jsonl", "compiled", "saved"])
def test_explain_reads_events_as_match_does(folder: Path, capfd: Any, source: str) -> None:
    """With points, a schema and a delimiter, for each row, from a file and from index folders."""
    main(["match", source, "offers.csv", *OPTIONS])
    matches = {
        row["event"] for row in map(json.loads, capfd.readouterr().out.splitlines()) if row["subscription"] == "near"
    }

    assert matches == {0}
    for row in range(4):
        status, out, _ = explained(capfd, source, "offers.csv", "--id", "near", "--row", str(row), *OPTIONS)
        assert status == 0
        assert ("does not match" not in out) == (row in matches)
        assert "\nindex: " in out


def test_a_saved_engine_explains_with_its_texts(folder: Path, capfd: Any) -> None:
    """Words are made as the engine makes them; for a file, the schema says how."""
    of_file = ("--schema", "title:text english stem")

    assert "does not match" in explained(capfd, "subs.jsonl", "offers.csv", "--id", "text")[1]
    assert "\nmatches" in explained(capfd, "subs.jsonl", "offers.csv", "--id", "text", *of_file)[1]
    assert "\nmatches" in explained(capfd, "saved", "offers.csv", "--id", "text")[1]


@pytest.mark.parametrize("source", ["compiled", "saved"])
def test_a_removed_subscription_is_not_explained(folder: Path, capfd: Any, source: str) -> None:
    """Nor is one that an index never held; without an id there must be one alone."""
    gone = explained(capfd, source, "offers.csv", "--id", "gone")
    unchosen = explained(capfd, source, "offers.csv")

    assert (gone[0], unchosen[0]) == (2, 2)
    assert f"{source} holds no subscription 'gone'" in gone[2]
    assert f"{source} holds 2 subscriptions; choose one with --id" in unchosen[2]


def test_the_only_subscription_of_an_index_needs_no_id(folder: Path, capfd: Any) -> None:
    """Although others were removed from it."""
    Path("more.jsonl").write_text('{"id": "text", "change": "delete", "version": 1}\n')
    main(["update", "compiled", "more.jsonl"])

    assert "subscription near, event 0:" in explained(capfd, "compiled", "offers.csv", *OPTIONS)[1]


def test_integer_ids_of_an_index(folder: Path, capfd: Any) -> None:
    """An id is read as the index has it."""
    Path("numbered.jsonl").write_text('{"id": 7, "where": "price = 550"}\n{"id": 8, "where": "price = 0"}\n')
    main(["compile", "numbered.jsonl", "numbered"])

    assert "subscription 7, event 0:\nmatches" in explained(capfd, "numbered", "offers.csv", "--id", "7")[1]
    assert "no subscription 'x'" in explained(capfd, "numbered", "offers.csv", "--id", "x")[2]


@pytest.mark.parametrize(("key", "row"), [("a-1", 0), ("a-2", 1), ("17", 3)])
def test_an_event_is_chosen_by_its_key(folder: Path, capfd: Any, key: str, row: int) -> None:
    """The key is what `tocsin match --event-key` writes, from CSV and from JSON lines."""
    lines = (dict(zip(("sku", "price"), line.split(";")[:2], strict=True)) for line in OFFERS.splitlines()[1:])
    skus = [int(line["sku"]) if line["sku"].isdigit() else line["sku"] for line in lines]
    Path("offers.jsonl").write_text("".join(json.dumps({"sku": sku}) + "\n" for sku in skus))

    for source in ("offers.csv", "offers.jsonl"):
        status, out, _ = explained(capfd, "subs.jsonl", source, "--id", "near", "--event-key", "sku", "--event", key)
        assert status == 0
        assert out.startswith(f"subscription near, event {row} ({key}):\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--event-key", "sku", "--event", "b-1"], "offers.csv has no event with sku = 'b-1'"),
        (["--event-key", "skuu", "--event", "a-1"], "no event of offers.csv has skuu; did you mean sku?"),
        (["--event", "a-1"], "--event needs --event-key NAME"),
        (["--event-key", "sku"], "--event-key needs --event KEY"),
        (["--row", "4"], "offers.csv has no event 4; rows count from 0"),
        (["--row", "-1"], "offers.csv has no event -1; rows count from 0"),
    ],
)
def test_an_event_that_cannot_be_chosen(folder: Path, capfd: Any, arguments: list[str], message: str) -> None:
    """The message says what is missing."""
    status, out, err = explained(capfd, "subs.jsonl", "offers.csv", "--id", "near", *arguments)

    assert (status, out) == (2, "")
    assert message in err


def test_a_key_in_place_of_a_row(folder: Path, capfd: Any) -> None:
    """The message names the options that take it."""
    with pytest.raises(SystemExit):
        explained(capfd, "subs.jsonl", "offers.csv", "--id", "near", "--row", "a-1")

    assert "'a-1' is not a row number" in (err := capfd.readouterr().err)
    assert "--event-key NAME --event a-1" in err


def test_an_event_that_was_refused(folder: Path, capfd: Any) -> None:
    """Its reason is the answer, also where one field is to blame."""
    Path("bad.jsonl").write_text('{"price": 1, "price": 2}\n')

    status, _, err = explained(capfd, "subs.jsonl", "bad.jsonl", "--id", "near")

    assert status == 2
    assert "event 0 cannot be read: price: line 1" in err


def test_explain_reads_every_row_of_a_table(folder: Path, capfd: Any) -> None:
    """Rows of a CSV are found by number where no row was rejected."""
    Path("e.csv").write_text("price,s\n" + "".join(f"{number},x\n" for number in range(5)))

    for row in range(5):
        status, out, _ = explained(capfd, "subs.jsonl", "e.csv", "--id", "gone", "--row", str(row))

        assert status == 0
        assert ("does not match" in out) == (row != 1)


@pytest.mark.parametrize("choice", [["--row", "20"], ["--event-key", "sku", "--event", "b"]])
def test_a_value_of_a_file_that_could_not_be_read_is_shown(folder: Path, capfd: Any, choice: list[str]) -> None:
    """With the reason that `tocsin match` gives, without its advice."""
    Path("dirty.csv").write_text("sku,price\n" + "a,1\n" * 20 + "b,many\n")

    status, out, _ = explained(capfd, "subs.jsonl", "dirty.csv", "--id", "gone", *choice)

    assert status == 0
    reason = "'many' is not a number, but the other values of column price are"
    assert f"unknown  price = 1: price could not be read ({reason}), so this is UNKNOWN; needed: a number = 1" in out
