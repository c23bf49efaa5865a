"""What the folder of a durable window takes, what it refuses, and what it says of damage."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import tocsin
from tests.durable.killing import FORK
from tests.durable.windows import BOUNDS, state, stored
from tocsin import InvalidInput, SegmentError, StoreError, Window
from tocsin.cli.main import main

PLACE: Final = (1.0, 1.0)
MESSAGE: Final = {"words": ["a"], "location": PLACE}


def opened(folder: Path, **others: Any) -> Any:
    return Window.open(folder, **{"size": 5, "bounds": BOUNDS, **others})


def filled(folder: Path, **others: Any) -> Path:
    with opened(folder, **others) as window:
        window.subscribe("s", words=["a"], location=PLACE, k=2)
        window.push_batch([{**MESSAGE, "key": f"k{i}", "time": i} for i in range(7)])
    return folder


def results(folder: Path) -> list[Any]:
    with Window.open(folder) as window:
        return window.results("s")


@pytest.mark.parametrize("ids", [("é\0", 'a"b', ""), (-(2**63), 2**63 - 1, 0)])
@pytest.mark.parametrize("keys", [("ü\0", "", "'"), (-(2**63), 2**63 - 1, 0), (None, None, None)])
def test_ids_keys_words_and_numbers_are_kept(ids: Any, keys: Any, tmp_path: Path) -> None:
    with opened(tmp_path, weights={"ß": 1e-100, "b": 7}, text="keep_accents") as window:
        for id in ids:
            window.subscribe(id, words=["ß", "\0", "b", *map(str, range(9))], location=(1 / 3, 0.1), k=3, alpha=0.7)
        for key in keys:
            window.push(words=["b", "\n", "ß"], location=(8, 4), key=key)
        window.push_batch([{"text": "CAFÉ b", "location": [0, 0], "key": keys[0]}, {"location": [1, 1]}])
        before, explained = state(window), str(window.explain(ids[0], 3 if keys[0] is None else keys[0]))
    with Window.open(tmp_path) as window:
        assert state(window) == before
        assert str(window.explain(ids[0], 3 if keys[0] is None else keys[0])) == explained
        assert (window.weights, str(window.text)) == ({"ß": 1e-100, "b": 7}, "keep_accents")


def test_a_batch_is_one_transaction_and_keeps_what_is_in_the_window(tmp_path: Path) -> None:
    """However large it is, and however many chunks it has."""
    with opened(tmp_path, size=3) as window:
        statements: list[str] = []
        window._database._connection.set_trace_callback(statements.append)
        window.push_batch([MESSAGE] * 20_000, changes=False)
        assert statements.count("COMMIT") == 1
        assert sum(one.startswith("INSERT INTO window_messages") for one in statements) == 3
        assert stored(window)[0] == [19_997, 19_998, 19_999]
        window.subscribe_many([{"id": i, "words": ["a"], "location": PLACE} for i in range(20_000)])
        assert statements.count("COMMIT") == 2
        window.push_batch([], changes=False)
        window.push_batch([{"location": PLACE}])
        assert statements.count("COMMIT") == 2  # nothing changed


def test_what_leaves_the_window_leaves_the_store(tmp_path: Path) -> None:
    with opened(tmp_path, size=None, time=10) as window:
        window.push_batch([{**MESSAGE, "time": i} for i in range(9)])
        assert stored(window)[0] == list(range(9))
        window.advance(14)
        assert stored(window)[0] == [5, 6, 7, 8]
        window.advance(100)
        assert stored(window)[0] == []
    with Window.open(tmp_path) as window, pytest.raises(tocsin.RecordError, match="99 is before 100"):
        window.push(**MESSAGE, time=99)
    with Window.open(tmp_path) as window:
        window.subscribe("s", words=["a"], location=PLACE)
        assert [change.message for change in window.push(**MESSAGE, time=100)] == [9]
        with pytest.raises(tocsin.RecordError, match="the messages before have no key"):
            window.push(**MESSAGE, time=100, key="k")


def test_options_that_differ_are_refused(tmp_path: Path) -> None:
    folder = filled(tmp_path / "w", weights={"a": 2.0})
    for given, told in (
        ({"size": 6}, r"size is 6, but the window in .* was made with 5; leave it out"),
        ({"time": 5}, r"time is 5\.0, but the window in .* was made with None"),
        ({"bounds": (0, 0, 1, 1)}, r"bounds is \[0\.0, 0\.0, 1\.0, 1\.0\], but the window"),
        ({"weights": {"a": 3}}, r"weights is \{'a': 3\}, but the window"),
        ({"text": "keep_accents"}, r"text is 'keep_accents', but the window in .* was made with 'plain'"),
        ({"size": 0}, "size is 0; it must be a number of messages"),
        ({"index": "nothing"}, "no index is named 'nothing'"),
        ({"sync": "no"}, "sync is 'no'; it is one of full, relaxed"),
    ):
        with pytest.raises(InvalidInput, match=told):
            Window.open(folder, **given)
    same = {"size": 5, "bounds": list(BOUNDS), "weights": {"a": 2}, "text": tocsin.Text()}
    with Window.open(folder, **same, index="blocks(late=3)", threads=2) as window:
        assert (window.index, len(window.results("s"))) == ("blocks(late=3)", 2)
    with Window.open(folder) as window:
        assert window.index == "blocks"
    with pytest.raises(InvalidInput, match="bounds is None; give the area"):
        Window.open(tmp_path / "new", size=5)
    with pytest.raises(InvalidInput, match="a window needs size, a number of messages, or time"):
        Window.open(tmp_path / "new", bounds=BOUNDS)
    with opened(tmp_path / "new") as window:
        assert len(window) == 0


def test_a_second_writer_is_refused_and_a_closed_window_answers(tmp_path: Path) -> None:
    window = opened(filled(tmp_path))
    with pytest.raises(StoreError, match=f"is open for writing in process {os.getpid()}"):
        opened(tmp_path)
    window.close()
    window.close()
    assert len(window.results("s")) == 2
    for change in (
        lambda: window.push(**MESSAGE, key="k"),
        lambda: window.push_batch([MESSAGE]),
        lambda: window.subscribe("t", words=["a"], location=PLACE),
        lambda: window.subscribe_many([]),
        lambda: window.unsubscribe("s"),
    ):
        with pytest.raises(StoreError, match="is closed; open it again"):
            change()
    assert len(window.results("s")) == 2
    assert not [one for one in threading.enumerate() if one is window._committer._thread]


def test_a_forked_child_answers_but_does_not_write(tmp_path: Path) -> None:
    window = opened(filled(tmp_path))

    def look(found: Any) -> None:
        try:
            window.push(**MESSAGE, key="child")
        except StoreError as error:
            found.put((str(error), window.results("s")))
        window.close()  # of no effect: it is the parent's

    found = FORK.SimpleQueue()
    child = FORK.Process(target=look, args=(found,))
    child.start()
    message, best = found.get()
    child.join()
    assert f"belongs to process {os.getpid()}" in message
    assert [key for key, _ in best] == ["k6", "k5"]
    window.push(**MESSAGE, key="parent")
    window.close()
    assert [key for key, _ in results(tmp_path)] == ["parent", "k6"]


def test_a_full_disk_takes_a_call_back_and_loses_nothing(tmp_path: Path) -> None:
    with opened(filled(tmp_path)) as window:
        before, connection = state(window), window._database._connection
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
        large = ["x" * 50_000, "a"]
        for change in (
            lambda: window.push(words=large, location=PLACE, key="k"),
            lambda: window.push_batch([{"words": large, "location": PLACE, "key": "k"}] * 9, changes=False),
            lambda: window.subscribe("s", words=large, location=PLACE, replace=True),
        ):
            with pytest.raises(StoreError, match="is full"):
                change()
            assert state(window) == before
        connection.execute("PRAGMA max_page_count = 1000000")
        window.push(words=large, location=PLACE, key="k")
        now = state(window)
    with Window.open(tmp_path) as window:
        assert state(window) == now
        assert now["taken"] == before["taken"] + 1


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError])
def test_a_source_that_breaks_off_takes_its_call_back(raised: type[BaseException], tmp_path: Path) -> None:
    """Anything but an error of tocsin may have left memory changed by half."""

    def source() -> Iterator[dict[str, Any]]:
        yield from [{**MESSAGE, "key": "new"}] * 20_000
        raise raised

    with opened(filled(tmp_path)) as window:
        before = state(window)
        with pytest.raises(raised):
            window.push_batch(source(), changes=False)
        assert state(window) == before
        window.push(**MESSAGE, key="later")
        now = state(window)
    with Window.open(tmp_path) as window:
        assert state(window) == now


def test_an_interrupt_waits_until_the_change_is_durable(tmp_path: Path) -> None:
    with opened(filled(tmp_path)) as window:
        put = window._database.put_meta

        def slow(name: str, value: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            put(name, value)

        window._database.put_meta = slow
        with pytest.raises(KeyboardInterrupt):
            window.push(**MESSAGE, key="interrupted")
            threading.Event().wait(5)
        del window._database.put_meta
        now = state(window)
        assert window.results("s")[0][0] == "interrupted"
    with Window.open(tmp_path) as window:
        assert state(window) == now


def test_a_saved_window_becomes_durable_once(tmp_path: Path) -> None:
    saved = Window(5, bounds=BOUNDS, weights={"a": 2.0})
    saved.subscribe("s", words=["a"], location=PLACE, k=2)
    saved.push_batch([{**MESSAGE, "key": i} for i in range(7)])
    saved.save(tmp_path)
    with pytest.raises(InvalidInput, match="size is 6, but the window"):
        Window.open(tmp_path, size=6)
    with pytest.warns(
        UserWarning, match=r"was a saved window; its 5 messages and 1 subscriptions were copied to store"
    ):
        window = Window.open(tmp_path)
    assert state(window) == state(saved)
    assert window.push(**MESSAGE, key=7) == saved.push(**MESSAGE, key=7)
    window.save(tmp_path / "copy")
    assert state(Window.load(tmp_path / "copy")) == state(window)
    with pytest.raises(SegmentError, match="has the store of a durable window or engine"):
        window.save(tmp_path)
    window.close()
    with pytest.raises(SegmentError, match=r"has the store of a durable window .*open it with Window\.open"):
        Window.load(tmp_path)
    with Window.open(tmp_path) as window:  # without a warning
        assert state(window) == state(saved)


def test_a_backup_is_a_window(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "w")) as window:
        window.backup(tmp_path / "copy")
        before = state(window)
        window.push(**MESSAGE, key="later")
        with pytest.raises(StoreError, match="has a store already"):
            window.backup(tmp_path / "copy")
        assert window.log_error is None
    with Window.open(tmp_path / "copy") as copy:
        assert state(copy) == before


def test_engines_and_windows_refuse_each_others_folders(tmp_path: Path) -> None:
    filled(tmp_path / "window")
    with tocsin.Engine.open(tmp_path / "engine") as engine:
        engine.subscribe("a", "n = 1")
    with pytest.raises(StoreError, match="is the folder of an engine or of fences; for a window"):
        opened(tmp_path / "engine")
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"is the folder of a window, which Window\.open opens"):
            tocsin.Engine.open(tmp_path / "window", read_only=read_only)
    with pytest.raises(StoreError, match="is the folder of a window"):
        tocsin.Fences.open(tmp_path / "window", tocsin.Engine(), key="car")
    with pytest.raises(SegmentError, match="belongs to a durable engine or window"):
        tocsin.Engine().save(tmp_path / "window")
    index = tocsin.Engine()
    index.subscribe("a", "n = 1")
    index.save(tmp_path / "index")
    with pytest.raises(SegmentError, match="is a tocsin index, not a tocsin window"):
        opened(tmp_path / "index")
    assert len(results(tmp_path / "window")) == 2


HARM: Final = {
    "UPDATE meta SET value = '{}' WHERE name = 'window_state'": "KeyError",
    "DELETE FROM meta WHERE name = 'window_state'": "TypeError",
    "DELETE FROM window_messages WHERE number = 4": "it has messages up to 6, not up to 7",
    "DELETE FROM window_messages WHERE number = 6": "it has messages up to 6, not up to 7",
    "UPDATE window_messages SET words = '[1]' WHERE number = 4": "Expected bytes",
    "UPDATE window_messages SET words = 'a' WHERE number = 4": "JSONDecodeError",
    "UPDATE window_messages SET x = 99 WHERE number = 4": "outside the bounds",
    "UPDATE window_messages SET key = 5 WHERE number = 4": "Expected bytes",
    "UPDATE window_subscriptions SET k = 0": "it must be an integer from 1",
    "UPDATE window_subscriptions SET words = '[]'": "a subscription needs at least one word",
}


@pytest.mark.parametrize("harm", HARM)
def test_a_window_that_cannot_be_read_is_told(harm: str, tmp_path: Path, capsys: Any) -> None:
    filled(tmp_path)
    assert main(["doctor", str(tmp_path)]) == 0
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute(harm)
    with pytest.raises(StoreError, match=f"has a window that cannot be read: .*{HARM[harm]}"):
        Window.open(tmp_path)
    capsys.readouterr()
    assert main(["doctor", str(tmp_path)]) == 1
    assert HARM[harm] in capsys.readouterr().out


def test_commands_on_the_folder_of_a_window(tmp_path: Path, capsys: Any) -> None:
    folder, other = str(filled(tmp_path / "w")), str(tmp_path / "one.jsonl")
    Path(other).write_text('{"id": "a", "where": "n = 1"}\n')
    assert main(["doctor", folder]) == 0
    assert "window: 5 messages, the next is number 7; 1 subscriptions" in capsys.readouterr().out
    with opened(tmp_path / "w") as window:  # while it is written
        window.push(**MESSAGE, key="k")
        assert main(["doctor", folder]) == 0
    for command in (
        ["match", folder, other],
        ["check", folder],
        ["explain", folder, other, "--id", "a"],
        ["export", folder],
        ["update", folder, other],
        ["fences", folder, other, "--key", "car"],
        ["compile", other, "--into", folder],
    ):
        capsys.readouterr()
        assert main(command) == 2
        told = capsys.readouterr().err
        assert "is the folder of a window; for an engine" in told and "Window.open" not in told
    assert main(["compile", other, folder]) == 2
    assert main(["doctor", folder, "--rebuild"]) == 2
    assert "has a window, which has no index" in capsys.readouterr().err
    with (tmp_path / "w" / "store.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 20_000)
    assert main(["doctor", folder]) == 1
