"""A file of limits is read again when it changes; one that cannot be read changes nothing, and is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.errors import InvalidInput
from tocsin.service import tenants
from tocsin.service.limits import Limits, LiveLimits

KB = 1 << 10


@pytest.fixture
def limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, Path]]:
    """A server with a file of limits."""
    monkeypatch.setattr(tenants, "_LIMITS_S", 0.02)
    file = tmp_path / "limits.toml"
    write(file, "[default]\nsubscriptions = 1\n")
    with served(tmp_path / "alerts", options={"limits": LiveLimits(file, {"payload_kb": 1.0})}) as server:
        yield server, file


def write(file: Path, text: str) -> None:
    """Replace a file at once, as careful editors do."""
    beside = file.with_suffix(".new")
    beside.write_text(text)
    beside.replace(file)


def is_taken(server: Served, id: str, payload: str = "") -> bool:
    return bool(server.subscribe(id, "n = 1", payload=payload).is_success)


def test_new_limits_hold_for_what_is_served(limited: tuple[Served, Path]) -> None:
    """Larger and smaller ones, of the default and of a tenant. Options of the command go before the file."""
    server, file = limited
    assert is_taken(server, "a") and not is_taken(server, "b")
    write(file, "[default]\nsubscriptions = 2\npayload_kb = 9\n")
    awaited(lambda: is_taken(server, "b"))
    assert not is_taken(server, "b", "x" * 2 * KB)
    write(file, "[default]\nsubscriptions = 0\nwindows = 0\n")
    awaited(lambda: server.service.limits.subscriptions == 0)
    assert not is_taken(server, "c") and is_taken(server, "b") and len(server.service.engine) == 2
    assert server.client.put("/v1/windows/w", json={"size": 9, "bounds": [0, 0, 9, 9]}).status_code == 429
    client = server.client_of(server.token(tenant="acme"))
    url = "/v1/subscriptions/s"
    assert client.put(url, json={"where": "n = 1"}).status_code == 429
    write(file, "[tenants.acme]\nsubscriptions = 1\n")
    awaited(lambda: client.put(url, json={"where": "n = 1"}).is_success)


def test_a_file_that_cannot_be_read_changes_nothing(
    limited: tuple[Served, Path], caplog: pytest.LogCaptureFixture
) -> None:
    server, file = limited
    assert "warning" not in server.client.get("/readyz").json()
    for text in ("[default]\nsubscriptions = oops\n", "[default]\nsubscription = 5\n", f"a = {'[' * 9999}", None):
        if text is None:
            file.unlink()
        else:
            write(file, text)
        awaited(lambda: "limits" in server.client.get("/readyz").json().get("warning", ""))
        assert server.service.limits.subscriptions == 1 and server.client.get("/readyz").status_code == 200
    assert "the limits that were read last stay valid" in caplog.text
    write(file, "[default]\nsubscriptions = 7\n")
    awaited(lambda: server.service.limits.subscriptions == 7)
    assert "warning" not in server.client.get("/readyz").json()


def test_a_server_does_not_start_with_a_file_that_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        LiveLimits(tmp_path / "none.toml", {})


def test_no_part_of_a_service_keeps_an_old_limit(server: Served) -> None:
    """Parts that look at a limit see the new one."""
    limits, service = Limits(*range(1_000, 1_000 + len(Limits._fields))), server.service
    service.limit(limits)
    used = {
        "bodies_bytes": service.room.most, "answers_bytes": service.answer_room.most,
        "outbox": service.outlets.most, "outbox_bytes": service.outlets.most_bytes,
        "window_bytes": service.windows.most_bytes, "window_messages": service.windows._host.most_messages(),
    }  # fmt: skip
    assert service.limits == service.quotas._limits == limits
    assert used == {name: getattr(limits, name) for name in used}
