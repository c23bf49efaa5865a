"""Of many warnings, the commands show the foremost of each kind, and write all of them into a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import lines, records, run
from tocsin.cli.notices import foremost, kind_of
from tocsin.jit.compiling.stores import has_all
from tocsin.model.subscription import Notice


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """300 attributes that no event has, of one subscription each; a typo; two conditions of many subscriptions."""
    monkeypatch.chdir(tmp_path)
    wheres = [f"attr{n} = 1" for n in range(300)] + ["prize < 3"] * 4 + ["price = 'a'"] * 40
    wheres += ["price > 5 AND 1 = 2"] * 7
    lines(tmp_path / "s.jsonl", [{"id": f"s{n:03}", "where": where} for n, where in enumerate(wheres)])
    lines(tmp_path / "e.jsonl", [{"price": 3}])
    return tmp_path


def test_check_shows_typos_and_the_largest_kinds_first(many: Path, capfd: Any) -> None:
    status, shown, _ = run(capfd, "check", "s.jsonl", "--sample", "e.jsonl")

    told = [line for line in shown.splitlines() if line.startswith(("warning", "..."))]
    assert status == 0 and len(told) == 21
    assert told[0] == (
        "warning: prize < 3 (subscriptions s300, s301, s302 and 1 more): no event has prize; did you mean price?"
    )
    assert told[1].startswith("warning: price = 'a' (subscriptions s304, s305, s306 and 37 more)")
    assert any("s344, s345, s346 and 4 more" in line for line in told)
    assert told[-1].startswith("... and 283 more warnings of 283 subscriptions, such as ")
    assert told[-1].endswith(": no event has ...")


def test_a_file_has_all_warnings_and_lists_what_is_never_satisfied(many: Path, capfd: Any) -> None:
    assert run(capfd, "check", "s.jsonl", "--sample", "e.jsonl", "--warnings", "w.jsonl")[0] == 0

    told = records(Path("w.jsonl").read_text())
    never = [one for one in told if one["reason"] == "never satisfied"]
    assert len(told) - len(never) == 303
    if has_all():  # otherwise nothing is indexed
        assert [one["examples"] for one in never] == [[f"s{n}"] for n in range(344, 351)]
    assert {"attribute", "condition", "reason", "subscriptions", "examples"} == told[0].keys()
    Path("w.jsonl").unlink()
    assert run(capfd, "match", "s.jsonl", "e.jsonl", "--out", "m.jsonl", "--warnings", "w.jsonl")[0] == 0
    assert len(records(Path("w.jsonl").read_text())) == 303
    assert run(capfd, "check", "s.jsonl", "--warnings", "s.jsonl")[0] == 2  # it is read


def test_match_shows_a_typo_among_its_few(many: Path, capfd: Any) -> None:
    shown = run(capfd, "match", "s.jsonl", "e.jsonl", "--out", "m.jsonl")[2]
    told = [line for line in shown.splitlines() if line.startswith("warning")]
    assert len(told) == 3 and "did you mean price?" in told[0] and "and 37 more" in told[1] + told[2]


def test_options_come_first_and_few_warnings_keep_their_order() -> None:
    about = [Notice("x", "color", "ignored", 0, None)]
    few = [Notice(name, f"{name} = 1", f"no event has {name}", count, 1) for name, count in (("a", 1), ("b", 9))]
    assert foremost(few, 2) == few
    assert foremost([*few, *about], 2) == [*about, few[1]]
    assert {kind_of(one) for one in few} == {"no event has ..."}


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_check_knows_the_fields_of_the_service(form: str, tmp_path: Path, capfd: Any) -> None:
    good = {"id": "a", "where": "n = 1", "destination": "d", "throttle_s": 60, "expires_at": "2030-01-01T00:00:00Z"}
    bad = [{"throttle_s": -1}, {"throttle_s": "soon"}, {"expires_at": "tomorrow"}, {"destination": ""}]
    bad += [{"destination": 7}, {"paused_until": 5}] if form == "jsonl" else []
    all_records = [good, *({**good, **one, "id": f"b{n}"} for n, one in enumerate(bad))]
    path = tmp_path / f"s.{form}"
    if form == "jsonl":
        lines(path, [*all_records, {"id": "c", "where": "n = 1", "color": 1}])
    else:
        rows = [[str(one[name]) for name in good] for one in all_records if one["destination"]]
        path.write_text("\n".join(",".join(row) for row in [list(good), *rows]) + "\n")

    status, shown, refused = run(capfd, "check", str(path), "--service")

    expected = [("b0", "throttle_s"), ("b1", "throttle_s"), ("b2", "expires_at")]
    if form == "jsonl":
        expected += [("b3", "destination"), ("b4", "destination"), ("b5", "paused_until")]
        assert "subscription field color: ignored" in shown
    found = [(line.split("(")[1].split(")")[0], line.split(": ")[1]) for line in refused.splitlines()]
    assert status == 1 and found == expected and "subscription field destination" not in shown
    assert "subscription field destination: ignored" in run(capfd, "check", str(path))[1]


def test_numbers_of_warnings_are_json(many: Path, capfd: Any) -> None:
    run(capfd, "check", "s.jsonl", "--sample", "e.jsonl", "--warnings", "w.jsonl")
    assert all(isinstance(json.loads(line)["subscriptions"], int) for line in Path("w.jsonl").read_text().splitlines())
