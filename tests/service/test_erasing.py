"""What is erased is nowhere in the folder afterwards, and all that belongs to others is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.served import Served, served
from tests.service.test_audit import log
from tocsin.service import erasing, outbox

PATH = "/v1/subscriptions"
SECRETS = ("Rosebud-1941", "ann-of-the-north")


def fill(server: Served) -> None:
    """Deliveries of several parts that name both, one without a destination, and one with many others."""
    server.destination("d")
    server.destination("e")
    for id, user, more in (
        ("ann-of-the-north", "ann", {"destination": "d"}),
        ("ann-of-the-north-2", "ann", {"destination": "e"}),
        ("ann-of-the-north-3", "ann", {}),
        *((f"bob-{number}", "bob", {"destination": "d"}) for number in range(5)),
    ):
        secret = SECRETS[0] if user == "ann" else "a bicycle"
        payload = {"user": user, "mail": secret}
        assert server.subscribe(id, f"n > 0 OR mail = '{secret}'", payload=payload, **more).status_code == 201
    for number in range(1, 8):
        server.publish({"n": number})


def files_with(folder: Path, texts: tuple[str, ...]) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(text.encode() in path.read_bytes() for text in texts)]


def test_what_is_erased_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "_AT_ONCE", 3)
    monkeypatch.setattr(outbox, "MOST_SUBSCRIPTIONS", 2)
    with served(tmp_path / "alerts") as server:
        fill(server)
        server.service.engine.checkpoint()
        assert len(files_with(server.folder, SECRETS)) >= 2

        answer = server.client.delete(PATH, params={"only": "user = 'ann'", "erase": "true"}).json()

        assert answer == {"removed": 3, "dry_run": False, "erased": 14}
        pulled = server.pulled()
        assert [one["sequence"] for one in pulled] == list(range(1, 8))
        assert [[one["id"] for one in delivery["subscriptions"]] for delivery in pulled] == [["bob-0"]] * 7
        rest = server.client.get(pulled[0]["more"]).json()
        assert [one["id"] for one in rest["subscriptions"]] == ["bob-1", "bob-2"]
        assert [one["subscriptions"] for one in server.pulled("e")] == [[]] * 7
        paths = [one["path"] for one in log(server.client)]
        assert paths.count("/v1/subscriptions/(erased)") == 3 and f"{PATH}/bob-0" in paths
        assert server.publish({"n": 1}).json()["deliveries"] == 1
    tombstones = files_with(tmp_path / "alerts", SECRETS[1:])
    assert files_with(tmp_path / "alerts", SECRETS[:1]) == [] and set(tombstones) <= {"store.db", "store.db-wal"}


def test_ids_that_were_removed_before_are_erased_and_a_dry_run_erases_nothing(server: Served) -> None:
    fill(server)
    asked = {"id": ["ann-of-the-north", "bob-4"], "erase": "true"}
    before = server.pulled()

    assert "erased" not in server.client.delete(PATH, params=asked | {"dry_run": "true"}).json()
    assert server.pulled() == before
    server.client.delete(f"{PATH}/ann-of-the-north")
    answer = server.client.delete(PATH, params=asked).json()

    assert answer == {"removed": 1, "dry_run": False, "unknown": ["ann-of-the-north"], "erased": 7}
    for delivery in server.pulled():
        assert [one["id"] for one in delivery["subscriptions"]] == ["bob-0", "bob-1", "bob-2", "bob-3"]
