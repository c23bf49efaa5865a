"""What every test of the commands shares: kernels that count as compiled ahead, as after `tocsin warm`."""

from __future__ import annotations

import pytest

from tocsin.cli import check, explaining


@pytest.fixture(autouse=True)
def _warmed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (check, explaining):
        monkeypatch.setattr(module, "has_all", lambda: True)
