"""The demo of the service: what arrives is what an engine finds, although the server dies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tocsin import InvalidInput
from tocsin.demo import serving


def test_a_server_that_dies_loses_nothing(tmp_path: Path) -> None:
    summary = serving.run(tmp_path, subscriptions=500, events=600)

    assert (summary.missing, summary.wrong, summary.events) == (0, 0, 600)
    assert summary.deliveries > 50 and summary.down_seconds > 0
    assert json.loads((tmp_path / "service.json").read_text())["matches"] == summary.matches


def test_what_is_missing_is_counted() -> None:
    """So that the test above can fail."""
    flights, alerts = [{"number": 0, "carrier": "AA"}], [{"id": "a", "where": "carrier = 'AA'", "destination": "AA"}]
    demo = serving._Demo(serving.ServerProcess(Path()), flights, alerts)
    assert demo._compared({"AA": 1}, 1.0, 0.0).missing == 2  # the delivery, and its match


def test_too_little_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="200 flights at least"):
        serving.run(tmp_path, events=10)
