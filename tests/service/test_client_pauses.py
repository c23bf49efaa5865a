"""The pauses between the tries of a client: they grow, and none is longer than half a minute."""

from __future__ import annotations

import httpx
import pytest

from tocsin.client.sending import Trying


def test_pauses_after_failures_are_bounded() -> None:
    trying = Trying(100, may_repeat=True)

    pauses = [trying.after_failure(httpx.ConnectError("refused"), "http://a") for _ in range(99)]

    assert max(pauses[:3]) < 2
    assert min(pauses[20:]) >= 15 and max(pauses) <= 30


@pytest.mark.parametrize(("header", "least"), [("", 0.2), ("7", 7.0), ("nan", 0.2), ("inf", 30.0), ("1e9", 30.0)])
def test_a_pause_is_what_the_service_asks_for_within_bounds(header: str, least: float) -> None:
    pause = Trying(4, may_repeat=True).after_answer(503, {"retry-after": header})

    assert pause is not None
    assert least <= pause <= max(least, 0.4)
