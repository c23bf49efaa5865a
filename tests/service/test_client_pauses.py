"""The pauses between the tries of a client: they grow, none is longer than half a minute, and they end in time."""

from __future__ import annotations

import httpx
import pytest

from tocsin.client.sending import Trying
from tocsin.errors import ServiceError


def test_pauses_after_failures_are_bounded() -> None:
    trying = Trying(1_000, may_repeat=True)

    pauses = [trying.after_failure(httpx.ConnectError("refused"), "http://a") for _ in range(99)]

    assert max(pauses[:3]) < 2
    assert min(pauses[20:]) >= 2 and max(pauses) <= 5


@pytest.mark.parametrize(("header", "least"), [("", 0.1), ("7", 7.0), ("nan", 0.1), ("inf", 30.0), ("1e9", 30.0)])
def test_a_pause_is_what_the_service_asks_for_within_bounds(header: str, least: float) -> None:
    pause = Trying(100, may_repeat=True).after_answer(503, {"retry-after": header})

    assert pause is not None
    assert least <= pause <= max(least, 0.4)


def test_no_try_begins_after_the_deadline() -> None:
    assert Trying(4, may_repeat=True).after_answer(503, {"retry-after": "7"}) is None
    with pytest.raises(ServiceError, match="could not be reached"):
        Trying(0, may_repeat=True).after_failure(httpx.ConnectError("refused"), "http://a")
