"""Live with 2,000 matches a second, and the Map with 20,000 regions, stay usable: no input waits for long.

On the usual machine that is 100 ms. Others are slower, so the limit is the time of some work in the same page.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.service.served import Served

ROUNDS: Final = 3
REGIONS: Final = 20_000
MATCHES: Final = 2_000
_WATCH: Final = """
window.delays = [];
addEventListener("keydown", (event) => window.delays.push(performance.now() - event.timeStamp), { capture: true });
for (const kind of ["pointerdown", "pointermove", "wheel"])
    addEventListener(kind, (event) => window.delays.push(performance.now() - event.timeStamp), { capture: true });
"""
"""Each input notes how long it waited for the main thread. The browser notes when it came, before the page is asked."""


_WORK: Final = """() => {
    const begun = performance.now();
    let sum = 0;
    for (let step = 0; step < 4e7; step++) sum = (sum * 31 + step) | 0;
    return sum === 1 ? 0 : performance.now() - begun;
}"""
"""Takes 270 ms where the benchmarks' calibration loop does 70 M steps/s, so 95 ms on the usual machine, which does 200.

The sum is used, so that no compiler leaves it out.
"""


@contextmanager
def publishing(server: Served, events: list[dict[str, object]], a_second: int) -> Iterator[list[int]]:
    """Publish so many events a second, from the list, again and again."""
    ends, count = threading.Event(), [0]

    def work() -> None:
        begun, size = time.monotonic(), a_second // 10
        while not ends.is_set():
            first = count[0] % (len(events) - size)
            server.lines(events[first : first + size])  # type: ignore[arg-type]
            count[0] += size
            ends.wait(max(0.0, begun + count[0] / a_second - time.monotonic()))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield count
    finally:
        ends.set()
        worker.join()


def of_one_round(page: Page, use: Callable[[], None]) -> float:
    """The longest delay while the page is used, as a share of the time that is allowed."""
    page.evaluate("window.delays.length = 0")
    use()
    delay, most = page.evaluate("Math.max(...window.delays)"), page.evaluate(_WORK)
    print(f"the longest delay of an input: {delay:.0f} ms; allowed here: {most:.0f} ms")
    return float(delay / most)


@pytest.mark.slow("a browser draws thousands of regions and rows")
def test_live_answers_while_two_thousand_match(page: Page, server: Served) -> None:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    page.add_init_script(_WATCH)
    page.goto(f"{server.server.address}/#/live")
    expect(page.locator(".badge.well")).to_contain_text("Live")
    events: list[dict[str, object]] = [{"n": n, "name": f"sensor {n}", "value": n / 7, "ok": True} for n in range(4000)]

    def use() -> None:
        for key in ("j", "j", "k", "Space", "Space", "Escape"):
            page.keyboard.press(key)
            page.wait_for_timeout(180)
        page.get_by_label("Text in the event").press_sequentially("sensor 7", delay=60)
        page.get_by_label("Text in the event").fill("")

    with publishing(server, events, MATCHES) as count:
        expect(page.get_by_text("A sample is shown:")).to_be_visible()
        before, begun = count[0], time.monotonic()
        delays = [of_one_round(page, use) for _ in range(ROUNDS)]
        published = (count[0] - before) / (time.monotonic() - begun)

    assert published > MATCHES / 2, "the machine is too slow for this test to be about anything"
    assert page.locator(".ring-row").count() <= 300
    assert min(delays) < 1  # what other programs delay in one round is not the page's


@pytest.mark.slow("a browser draws thousands of regions and rows")
def test_the_map_answers_with_twenty_thousand_regions(page: Page, server: Served) -> None:
    server.destination()
    corners = [(0, 0), (3, 1), (4, 3), (2, 5), (-1, 4), (-2, 2), (0, 0)]
    lines = []
    for number in range(REGIONS):
        x, y = (number * 37 % 3400) / 10 - 170, (number * 61 % 1400) / 10 - 70
        ring = ", ".join(f"{x + dx / 4:.3f} {y + dy / 4:.3f}" for dx, dy in corners)
        where = f"S_INTERSECTS(location, POLYGON(({ring})))"
        lines.append({"id": f"r{number:05}", "where": where, "destination": "d"})
    assert server.lines(lines, "/v1/subscriptions").json()["accepted"] == REGIONS
    page.add_init_script(_WATCH)
    page.goto(f"{server.server.address}/#/map")
    expect(page.get_by_text("20,000 regions")).to_be_visible()
    events: list[dict[str, object]] = [
        {"vehicle": f"v{n % 200}", "location": [n % 340 - 170, n % 140 - 70]} for n in range(2000)
    ]

    def use() -> None:
        for step in range(6):
            page.mouse.wheel(0, -240 if step % 2 else 200)
            page.wait_for_timeout(90)
        page.mouse.down()
        for step in range(20):
            page.mouse.move(500 + step * 9, 400 + step * 4)
        page.mouse.up()
        for key in ("+", "-", "ArrowLeft", "0"):
            page.keyboard.press(key)
            page.wait_for_timeout(120)

    with publishing(server, events, 200):
        page.mouse.move(500, 400)
        delays = [of_one_round(page, use) for _ in range(ROUNDS)]

    assert min(delays) < 1
    assert json.loads(page.evaluate("JSON.stringify(window.delays.length)")) > 20
