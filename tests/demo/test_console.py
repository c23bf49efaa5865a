"""The demo of the console: planes are published to a server that has everything that the console shows."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.waiting import awaited
from tocsin import Client, InvalidInput
from tocsin.demo import console


@pytest.fixture
def playing() -> Iterator[Client]:
    """A client of a demo in a process of its own, which ends in order."""
    command = [sys.executable, "-m", "tocsin", "demo", "service", "--console", "--subscriptions", "200"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"the console is at (http://\S+)/ ", process.stdout.readline())
        assert found is not None
        with Client(found[1]) as client:
            yield client
        process.terminate()
        assert process.wait(30) == 0


def test_everything_that_the_console_shows_is_there(playing: Client) -> None:
    destinations = {one["id"]: one for one in playing.destinations()}
    assert set(destinations) == {"airspace", "cities", "friends", "late", "partner", "radar"}
    awaited(lambda: playing.destination("radar")["newest"] > 50)
    awaited(lambda: playing.destination("cities")["acknowledged"] > 0)
    awaited(lambda: any(True for _ in playing.dead_letters("partner")))

    delivery = next(iter(playing.stream("radar", start="earliest")))
    assert len(delivery.event["location"]) == 2 and delivery.event["plane"]
    assert playing.window("approaches").describe()["subscriptions"] == 12
    awaited(lambda: len(playing.window("approaches").results("to Chicago")) == 5)
    assert next(iter(playing.fences()))["name"] == "planes"


@pytest.mark.parametrize(("asked", "message"), [({"alerts": 0}, "an alert"), ({"events": 0}, "an alert")])
def test_too_little_is_refused(asked: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        console.run(**asked)  # type: ignore[arg-type]


def test_the_day_begins_anew() -> None:
    noon = dt.datetime(2013, 7, 22, 12)
    table = [{"time": noon + dt.timedelta(minutes=minute), "plane": f"p{minute}"} for minute in range(30)]
    groups = console._groups(table)
    planes = [one["plane"] for _ in range(800) for one in next(groups)]

    assert planes.count("p20") >= 2 and set(planes) == {one["plane"] for one in table}
