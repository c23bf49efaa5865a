"""A server for each test, in a fresh folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.served import Served, served
from tests.service.windowed import BOUNDS, PATH, interest


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "alerts") as one:
        yield one


@pytest.fixture
def windowed(server: Served) -> Served:
    """With a destination, and a window with a subscription for it."""
    server.destination()
    assert server.client.put(PATH, json={"size": 100, "bounds": BOUNDS}).status_code == 201
    assert interest(server).status_code == 201
    return server
