"""Many subscriptions are removed at once: by their ids, or by a condition on their payloads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.cli.calling import run
from tocsin.engine.only import Choice, choice_of
from tocsin.engine.store import Store

OWNERS = ("ann", "bob", None)


def filled(engine: tocsin.Engine, count: int = 30) -> tocsin.Engine:
    """Some subscriptions in a segment, some recent, some removed; every third has no payload that is an object."""
    records = [
        {"id": f"s{number:02}", "where": "n > 0", "payload": {"user": owner} if (owner := OWNERS[number % 3]) else 7}
        for number in range(count)
    ]
    engine.subscribe_many(records[: count // 2])
    engine.merge()
    for one in records[count // 2 :]:
        engine.subscribe(**one)
    engine.unsubscribe("s00")
    return engine


@pytest.fixture(params=["in memory", "durable"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    opened = tocsin.Engine() if request.param == "in memory" else tocsin.Engine.open(tmp_path / "alerts")
    with filled(opened) as one:
        yield one


def test_a_condition_removes_its_part_and_a_dry_run_counts_it(engine: tocsin.Engine) -> None:
    of_ann = [one["id"] for one in engine.subscriptions(only="user = 'ann'")]
    assert len(of_ann) == 9

    assert engine.unsubscribe_many(only="user = 'ann'", dry_run=True) == (9, [])
    assert len(engine) == 29
    assert engine.unsubscribe_many(only="user = 'ann'") == (9, [])

    assert not set(of_ann) & set(engine) and len(engine) == 20
    assert [one.subscription for one in engine.match({"n": 1})] == list(engine)
    assert engine.unsubscribe_many(only="user = 'ann'") == (0, [])


def test_ids_are_removed_once_and_others_are_named(engine: tocsin.Engine) -> None:
    assert engine.unsubscribe_many(["s05", "s29", "s05", 5, "s00", "new"]) == (2, [5, "new", "s00"])
    assert "s05" not in engine and "s29" not in engine and len(engine) == 27


@pytest.mark.parametrize(
    ("ids", "options", "kind"),
    [
        (None, {}, tocsin.InvalidInput),
        (["s01"], {"only": "user = 'ann'"}, tocsin.InvalidInput),
        ("s01", {}, tocsin.InvalidInput),  # its letters are not ids
        (None, {"only": ["s01"]}, tocsin.InvalidInput),
        (None, {"only": "user ="}, tocsin.ExpressionError),
        (["s01", None], {}, tocsin.RecordError),
        (["s01", True], {}, tocsin.RecordError),
    ],
)
def test_what_is_refused_removes_nothing(engine: tocsin.Engine, ids: Any, options: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        engine.unsubscribe_many(ids, **options)
    assert len(engine) == 29


def test_what_is_replaced_meanwhile_stays(engine: tocsin.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner changes after the choice. A new score does not save a subscription."""

    def slow(snapshots: Any, condition: str) -> Choice:
        choice = choice_of(snapshots, condition)
        other = threading.Thread(target=change)
        other.start()
        other.join()
        return choice

    def change() -> None:
        engine.subscribe("s03", "n > 0", payload={"user": "bob"}, replace=True)
        engine.rescore("s06", 5.0)
        engine.unsubscribe("s09")

    monkeypatch.setattr("tocsin.engine.subscription_set.choice_of", slow)
    assert engine.unsubscribe_many(only="user = 'ann'") == (7, [])
    assert "s03" in engine and "s06" not in engine


def test_a_failure_in_the_middle_removes_nothing(engine: tocsin.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    bury: Callable[..., None] = Store._bury
    seen: list[int] = []

    def failing(store: Store, source: Any, number: int) -> None:
        seen.append(number)
        if len(seen) == 5:
            raise MemoryError
        bury(store, source, number)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_bury", failing)
        if isinstance(engine, tocsin.DurableEngine):
            return  # what is in the database is made in memory, or the engine refuses to go on
        with pytest.raises(MemoryError):
            engine.unsubscribe_many(only="user = 'ann'")
    assert len(engine) == 29 and len(engine.match({"n": 1})) == 29


def test_a_removal_is_durable_and_readers_follow_it(tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    with filled(tocsin.Engine.open(folder)) as engine:
        engine.checkpoint()
        with tocsin.Engine.open(folder, read_only=True) as reader:
            before = engine.sequence
            assert engine.unsubscribe_many(only="user = 'ann'").removed == 9
            assert engine.sequence == before + 9
            assert reader.refresh() == engine.sequence and list(reader) == list(engine)
            with pytest.raises(tocsin.InvalidInput, match="read_only"):
                reader.unsubscribe_many(["s01"])
            assert reader.unsubscribe_many(["s01"], dry_run=True) == (1, [])
        left = list(engine)
    with tocsin.Engine.open(folder) as engine:
        assert list(engine) == left
        engine.subscribe("s03", "n > 0")
        assert "s03" in engine


def test_the_command_lists_counts_and_removes(tmp_path: Path, capfd: Any) -> None:
    folder = str(tmp_path / "alerts")
    filled(tocsin.Engine.open(folder)).close()
    part = ("--only", "user = 'ann'")

    status, listed, _ = run(capfd, "export", folder, *part)

    assert status == 0 and len(listed.splitlines()) == 9
    assert run(capfd, "unsubscribe", folder, *part, "--dry-run") == (0, "9 subscriptions would be removed\n", "")
    assert run(capfd, "unsubscribe", folder, *part) == (0, "9 subscriptions removed\n", "")
    told = "1 subscription removed\n", "no such subscription: s03\n"
    assert run(capfd, "unsubscribe", folder, "s01", "s03") == (1, *told)
    for wrong in ((folder,), (folder, "s01", *part), (str(tmp_path), "s01"), (folder, "--only", "user =")):
        assert run(capfd, "unsubscribe", *wrong)[0] == 2
    with tocsin.Engine.open(folder) as engine:
        assert len(engine) == 19


def test_the_command_knows_ids_that_are_integers(tmp_path: Path, capfd: Any) -> None:
    with tocsin.Engine.open(tmp_path / "alerts") as engine:
        engine.subscribe_many([{"id": number, "where": "n > 0"} for number in (1, 22)])
    assert run(capfd, "unsubscribe", str(tmp_path / "alerts"), "22", "x")[1] == "1 subscription removed\n"
