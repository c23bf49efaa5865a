"""The attempts of a webhook in the console, and the button that sends a test."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.service.console.test_browser import opened, shown
from tests.service.receivers import Reply, hook, receiver
from tests.service.served import Served
from tests.waiting import awaited


def test_attempts_are_shown_and_a_test_is_sent(page: Page, server: Served) -> None:
    with receiver(lambda posted: Reply(503, body=b"<b>later</b>")) as one:
        hook(server, one.url)
        server.publish({"n": 1})
        awaited(lambda: server.client.get("/v1/destinations/w/attempts").json()["attempts"])
        opened(page, server, "deliveries?destination=w")
        page.get_by_role("button", name="Attempts").click()
        shown(page, "The last 1 attempt")
        expect(page.get_by_label("Attempts, the latest first")).to_contain_text("HTTP 503: <b>later</b>")
        one.reply = lambda posted: Reply()
        page.get_by_role("button", name="Send a test").click()

        shown(page, "The endpoint took the test, with HTTP 204.")
        expect(page.get_by_label("Attempts, the latest first").locator("li").first).to_contain_text("test")
        assert one.got[-1].document["type"] == "test"
