"""A full disk is full until it has had room for a while, so that readiness does not flap while retention frees it."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from tests.service.served import Served
from tocsin.service import quotas


def test_a_disk_that_has_room_now_and_then_is_full(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.monotonic()]
    monkeypatch.setattr(quotas, "time", SimpleNamespace(monotonic=lambda: now[0]))
    looked = server.service.quotas
    monkeypatch.setattr(server.server.tenants, "reserve", SimpleNamespace(look=lambda: None, is_spent=False))
    assert server.client.get("/readyz").status_code == 200

    for step in range(40):
        now[0] += 0.5
        looked.look_at_disk(is_full=step % 7 == 0)
        assert server.client.get("/readyz").status_code == 503
        assert server.publish({"n": 1}).status_code == 507
    now[0] += quotas._STEADY_S
    looked.look_at_disk(is_full=False)
    assert server.client.get("/readyz").status_code == 200
    assert server.publish({"n": 1}).status_code == 202
