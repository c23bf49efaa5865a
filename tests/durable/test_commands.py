"""Commands on the folder of a durable engine: they answer its present state, and changes go through its store."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import fork_server
from tocsin.cli.main import main

_CHANGES = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from(["a", "b", "c"]),
            "change": st.sampled_from(["insert", "update", "delete", "rescore"]),
            "version": st.integers(0, 6),
            "score": st.sampled_from([1.0, 2.0]),
            "where": st.sampled_from(["n = 1", "n = 2"]),
        }
    ),
    max_size=6,
)


def in_the_tail(folder: Path) -> Path:
    """A store whose index lacks the last changes, as after a crash."""
    with tocsin.Engine.open(folder) as engine:
        engine.subscribe_many([{"id": "a", "where": "n = 1"}, {"id": "b", "where": "n = 1", "payload": 5}])
    child = os.fork()
    if child == 0:
        engine = tocsin.Engine.open(folder)
        engine.unsubscribe("a")
        engine.subscribe("late", "n >= 1")
        os._exit(0)
    os.waitpid(child, 0)
    return folder


def lines(path: Path, records: list[Any]) -> str:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(path)


def outcome(arguments: list[str]) -> tuple[int, list[str]]:
    """The status of a command, and what it counted."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        status = main(arguments)
    return status, [line.split("; ")[0] for line in out.getvalue().splitlines() if " inserted, " in line]


@given(batches=st.lists(_CHANGES, max_size=3))
def test_a_store_takes_changes_as_an_index_does(batches: list[Any], tmp_path_factory: Any) -> None:
    tmp_path = tmp_path_factory.mktemp("update")
    with tocsin.Engine.open(tmp_path / "store"):
        pass
    for number, batch in enumerate(batches):
        changes = lines(tmp_path / f"{number}.jsonl", batch)
        index, store = (outcome(["update", str(tmp_path / name), changes]) for name in ("index", "store"))
        assert index == store
    if (tmp_path / "index" / "manifest.json").exists():
        index, store = tocsin.Engine.load(tmp_path / "index"), tocsin.Engine.load(tmp_path / "store")
        assert store.subscription_table().equals(index.subscription_table())


def test_a_match_sees_what_no_checkpoint_has(tmp_path: Path, capsys: Any) -> None:
    folder = in_the_tail(tmp_path / "store")
    events = lines(tmp_path / "events.jsonl", [{"n": 1}])
    assert main(["match", str(folder), events, "--no-warnings"]) == 0
    assert [json.loads(line)["subscription"] for line in capsys.readouterr().out.splitlines()] == ["b", "late"]
    found = tocsin.match(folder, [{"n": 1}], payload=True).table.to_pylist()
    assert [(one["subscription"], one["payload"]) for one in found] == [("b", "5"), ("late", None)]
    assert main(["explain", str(folder), events, "--id", "late"]) == 0
    assert main(["check", str(folder)]) == 0
    assert main(["explain", str(folder), events, "--id", "a"]) == 2
    with pytest.warns(UserWarning, match="lacks the last 2 changes"):
        loaded = tocsin.Engine.load(folder)
    assert [one.subscription for one in loaded.match({"n": 1})] == ["a", "b"]  # the checkpoint


def test_everything_is_exported(tmp_path: Path, capsys: Any) -> None:
    folder = in_the_tail(tmp_path / "store")
    assert main(["export", str(folder), "--out", str(tmp_path / "all.jsonl")]) == 0
    engine = tocsin.Engine()
    engine.subscribe_many(tmp_path / "all.jsonl")
    assert [engine.get(id) for id in engine] == [
        {"id": "b", "where": "n = 1", "score": 1.0, "payload": 5},
        {"id": "late", "where": "n >= 1", "score": 1.0},
    ]
    capsys.readouterr()
    assert main(["export", str(folder)]) == 0
    assert capsys.readouterr().out == (tmp_path / "all.jsonl").read_text()


def test_a_doctor_finds_what_is_wrong_and_repairs_it(tmp_path: Path, capsys: Any) -> None:
    folder = in_the_tail(tmp_path / "store")
    assert main(["doctor", str(folder)]) == 0
    assert "index: change 2, 2 behind" in capsys.readouterr().out
    (arrays,) = folder.glob("version-*/part-*/arrays.bin")
    arrays.write_bytes(arrays.read_bytes()[:-8])
    assert main(["doctor", str(folder)]) == 1
    out = capsys.readouterr()
    assert "all subscriptions are read from the store" in out.out
    assert "--rebuild" in out.err
    with tocsin.Engine.open(tmp_path / "other"):
        assert main(["doctor", str(tmp_path / "other"), "--rebuild"]) == 2  # its writer is alive
    assert main(["doctor", str(folder), "--rebuild"]) == 0
    assert "index: written again, 2 subscriptions" in capsys.readouterr().out
    with (folder / "store.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)
    assert main(["doctor", str(folder)]) == 1
    assert "SQLite finds" in capsys.readouterr().out


def test_a_doctor_of_an_index(tmp_path: Path, capsys: Any) -> None:
    engine = tocsin.Engine()
    engine.subscribe("a", "n = 1")
    engine.save(tmp_path)
    assert main(["doctor", str(tmp_path)]) == 0
    assert main(["doctor", str(tmp_path), "--rebuild"]) == 2
    (arrays,) = tmp_path.glob("version-*/part-*/arrays.bin")
    arrays.write_bytes(b"")
    assert main(["doctor", str(tmp_path)]) == 1


def test_commands_that_would_write_beside_the_store_are_refused(tmp_path: Path, capsys: Any) -> None:
    folder = in_the_tail(tmp_path / "store")
    subscriptions = lines(tmp_path / "s.jsonl", [{"id": "x", "where": "n = 1"}])
    assert main(["compile", subscriptions, str(folder)]) == 2
    assert "belongs to a durable engine" in capsys.readouterr().err
    assert main(["update", str(folder), subscriptions, "--keep", "5"]) == 2
    assert "leave the option out" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["export", "doctor"])
def test_a_folder_that_is_not_there(command: str, tmp_path: Path) -> None:
    assert main([command, str(tmp_path / "nothing")]) in (1, 2)


def test_subscriptions_are_compiled_into_a_store(tmp_path: Path, capsys: Any) -> None:
    folder = str(tmp_path / "store")
    records = [{"id": "a", "where": "n = 1", "mail": "x"}, {"id": "b", "where": "n = "}]
    source = lines(tmp_path / "s.jsonl", records)
    assert main(["compile", source, "--into", folder, "--payload-columns", "mail"]) == 1
    assert "1 subscription added to" in capsys.readouterr().out
    with tocsin.Engine.open(folder) as engine:
        assert (list(engine), engine.payload("a"), engine.sequence) == (["a"], {"mail": "x"}, 1)
    again = lines(tmp_path / "t.jsonl", [{"id": "a", "where": "n = 2"}, {"id": "c", "where": "n = 2"}])
    assert main(["compile", again, "--into", folder]) == 1
    with tocsin.Engine.open(folder) as engine:
        assert (list(engine), engine.get("a")["where"]) == (["a", "c"], "n = 1")
    assert main(["compile", again, str(tmp_path / "index"), "--into", folder]) == 2
    assert main(["compile", again, "--plan", "--into", folder]) == 2


def test_a_warning_is_one_line_without_code(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path / "alerts") as engine:
        engine.subscribe("a", "n = 1")
    (arrays,) = (tmp_path / "alerts").glob("version-*/part-*/arrays.bin")
    arrays.write_bytes(b"")
    (tmp_path / "e.jsonl").write_text('{"n": 1}\n')
    command = [*fork_server.python(), "-m", "tocsin", "match", str(tmp_path / "alerts"), str(tmp_path / "e.jsonl")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"subscription": "a"' in ended.stdout
    (line,) = [line for line in ended.stderr.splitlines() if "warning" in line.lower()]
    assert line.startswith("tocsin: warning: ") and line.endswith("all subscriptions are read from the store")
