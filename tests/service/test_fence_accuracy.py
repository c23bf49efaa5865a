"""The service's fences take the accuracy of positions, with and without lines between them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.served import Served

AREA = "S_INTERSECTS(location, BBOX(0, 0, 1, 1))"


@pytest.mark.parametrize("more", [{}, {"path": "location"}])
def test_a_fix_that_leaves_it_open_changes_nothing(server: Served, more: dict[str, Any]) -> None:
    server.destination()
    made = server.client.put("/v1/fences/vehicles", json={"key": "v", "accuracy": "acc", **more})
    assert made.status_code == 201 and made.json()["accuracy"] == "acc"
    server.subscribe("area", AREA, destination="d", fence="vehicles")
    for number, (x, metres) in enumerate([(1.001, 500), (0.999, 500), (0.9, 500), (1.001, 500), (1.1, 500)]):
        assert server.publish({"n": number, "v": 7, "location": [x, 0.5], "acc": metres}).status_code == 202
    changes = [
        (delivery["event"]["n"], change["change"])
        for delivery in server.pulled()
        for change in delivery["subscriptions"]
        if "change" in change
    ]
    assert changes == [(2, "enter"), (4, "exit")]
