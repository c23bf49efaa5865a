"""The live view of the console in a browser: it follows deliveries, samples them, and leaves no gap."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.service.console.conftest import Watched
from tests.service.console.test_browser import opened, shown
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.service import outbox


@pytest.mark.parametrize("step", ["/v1/destinations?limit=1000", "/v1/stream?*"])
def test_it_is_live_only_once_the_stream_is_open(page: Page, server: Served, step: str) -> None:
    """Before that, a match may pass by, so it does not say that every delivery is shown."""
    server.destination("d")
    held: list[Route] = []
    page.route(f"**{step}", lambda route: held.append(route))
    opened(page, server, "live")
    expect(page.locator(".status-line")).to_contain_text("Connecting")
    awaited(lambda: page.evaluate("true") and held)
    expect(page.get_by_text("Every delivery is shown")).to_have_count(0)
    expect(page.get_by_text("No destination to follow")).to_have_count(0)
    held[0].continue_()

    shown(page, "Every delivery is shown")
    assert server.service.streams == 1


def test_a_lost_connection_comes_back_without_a_gap(page: Page, tmp_path: Path) -> None:
    """What is published while the page has no connection is there when it comes back."""
    with served(tmp_path) as server:
        port = int(server.server.address.rpartition(":")[2])
        server.destination("d")
        server.subscribe("s", "n >= 0", destination="d")
        opened(page, server, "live")
        expect(page.locator(".badge.well")).to_contain_text("Live")
        server.publish({"n": 0})
        expect(page.locator(".ring-row")).to_have_count(1)
    shown(page, "Connection lost. The place is kept.")
    with served(tmp_path) as elsewhere:  # on another port, which the page does not know
        for number in range(1, 4):
            elsewhere.publish({"n": number})
    with served(tmp_path, port=port) as server:
        shown(page, "Nothing is missing.")
        server.publish({"n": 4})
        expect(page.locator(".ring-row")).to_have_count(5)

        assert sorted(re.findall(r"n (\d)", " ".join(page.locator(".what").all_inner_texts()))) == list("01234")
        shown(page, "5 deliveries followed, no gap")


def test_live_says_that_it_samples_and_pauses(page: Page, server: Served) -> None:
    server.destination("d")
    server.subscribe("s", "n >= 0", destination="d")
    opened(page, server, "live")
    expect(page.locator(".badge.well")).to_contain_text("Live")
    ends = threading.Event()

    def publish() -> None:
        while not ends.wait(0.05):
            server.lines([{"n": number} for number in range(50)])

    worker = threading.Thread(target=publish)
    worker.start()
    try:
        shown(page, "A sample is shown:")
        page.keyboard.press("Space")
        shown(page, "Paused.")
        before = page.locator(".ring-row").first.inner_text()
        page.wait_for_timeout(600)
        assert page.locator(".ring-row").first.inner_text() == before
        page.get_by_label("Text in the event").fill('"n":49')
        expect(page.locator(".ring-row", has_text=re.compile("n (?!49)"))).to_have_count(0)
    finally:
        ends.set()
        worker.join()


def test_a_destination_with_a_comma_is_followed(
    page: Page, server: Served, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another one, and what its deliveries have no room for is said."""
    monkeypatch.setattr(outbox, "_MOST_BYTES", 400)
    monkeypatch.setattr(outbox, "_MOST_PAYLOADS", 70)
    for name in ("a%2Cb", "c%26d"):
        server.destination(name)
    for name, destination in (("first", "a,b"), ("second", "a,b"), ("third", "a,b"), ("other", "c&d")):
        assert server.subscribe(name, "n = 1", destination=destination, payload={"text": "x" * 30}).is_success
    opened(page, server, "live")
    expect(page.locator(".badge.well")).to_contain_text("Live")
    assert server.publish({"n": 1}).json()["deliveries"] == 2
    expect(page.locator(".ring-row")).to_have_count(2)

    page.locator(".ring-row", has_text="a,b").first.click()
    why = page.get_by_label("The delivery")
    left = next(one["id"] for one in server.pulled("a%2Cb", after=0)[0]["subscriptions"] if "left_out" in one)
    why.get_by_role("button", name=left, exact=True).click()
    expect(why).to_contain_text("The delivery was too large for the payload.")
    assert watched.said == []
