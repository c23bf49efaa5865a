"""Everybody can use the console: axe finds nothing serious, and each view is reached by the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.service.receivers import Reply, dead_letters, hook, receiver
from tests.service.served import Served, served
from tests.waiting import awaited

VIEWS = {
    "overview": "Overview",
    "live": "Live",
    "map": "Map",
    "subscriptions": "Subscriptions",
    "explain": "Explain",
    "deliveries": "Deliveries",
    "windows": "Windows",
}
PLACES = {
    "overview": "1 subscription of 3 matched nothing",
    "live": "Every delivery is shown",
    "map": "1 region",
    "subscriptions": "3 conditions wait for events",
    "explain": "Paste an event",
    "deliveries": "2 destinations",
    "windows": "No window yet",
    "subscriptions?id=s": "understood",
    "subscriptions?new=1": "For example",
    "deliveries?destination=w": "Last deliveries",
    'explain?event={"n":1}': "1 subscription matches",
}
"""Views, and what they say once they show what the server answered."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("alerts")) as server, receiver(lambda posted: Reply(400)) as one:
        server.destination("d")
        server.subscribe("s", "n >= 0 AND S_INTERSECTS(place, BBOX(0, 0, 9, 9))", destination="d", payload={"a": 1})
        server.subscribe("silent", "n = -1")
        hook(server, one.url, max_attempts=1)
        server.lines([{"n": number, "place": [1, 2], "name": "x"} for number in range(20)])
        awaited(lambda: dead_letters(server))
        yield server


def serious(page: Page) -> list[tuple[str, Any]]:
    found = Axe().run(page).response["violations"]
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


_SPILLS: Final = """() => [...document.querySelectorAll("html, #app *")].filter((one) => {
    const { overflowX, display } = getComputedStyle(one);
    if (display === "inline" || one.clientWidth === 0 || one.scrollWidth <= one.clientWidth + 1) return false;
    return !one.matches("pre, textarea, input, svg, .clip, .clip-line, .hidden-text") && overflowX !== "visible"
        && getComputedStyle(one).textOverflow !== "ellipsis";
}).map((one) => `${one.tagName} ${one.className}: ${one.scrollWidth} > ${one.clientWidth}`)"""
"""What is wider than its box, which scrolls sideways or hides the rest. Code may; a text that ends with … does not."""


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_axe_finds_nothing_serious(browser: Browser, filled: Served, theme: Any, width: int, tmp_path: Path) -> None:
    """On a telephone, too, where each view fits its width. The pictures are in the folder of the test."""
    context = browser.new_context(color_scheme=theme, reduced_motion="reduce", viewport={"width": width, "height": 800})
    page = context.new_page()
    found: dict[str, Any] = {}
    spilt: dict[str, list[str]] = {}
    for place, shown in PLACES.items():
        page.goto(f"{filled.server.address}/#/{place}")
        expect(page.get_by_text(shown).first).to_be_visible()
        if place == "live":
            filled.publish({"n": 1, "place": [1, 2]})
            page.locator(".ring-row").first.click()
            expect(page.get_by_label("The event", exact=True)).to_be_visible()
            if width < 640:
                found["live, a delivery"] = serious(page)
                page.keyboard.press("Escape")
        if place == "subscriptions?id=s":
            page.get_by_text("Why was nothing sent?").click()
            page.get_by_role("button", name="Look").click()
            page.get_by_label("Events, the newest first").get_by_role("button").first.click()
            expect(page.get_by_label("The outcome", exact=True)).to_be_visible()
        found[place], spilt[place] = serious(page), page.evaluate(_SPILLS)
        assert page.screenshot(path=tmp_path / f"{len(found)}.png")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.get_by_role("dialog")).to_be_visible()
    found["publish"], spilt["publish"] = serious(page), page.evaluate(_SPILLS)
    context.close()

    assert {place: told for place, told in found.items() if told} == {}
    assert {place: wide for place, wide in spilt.items() if wide} == {}


def test_axe_finds_what_is_serious(page: Page, filled: Served) -> None:
    """So that the test above can fail."""
    page.goto(f"{filled.server.address}/#/overview")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")

    assert [name for name, _ in serious(page)] == ["button-name"]


def test_the_login_is_accessible(page: Page, tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.token()
        page.goto(server.server.address)
        expect(page.get_by_label("Token")).to_be_visible()

        assert serious(page) == []


def test_keys_reach_each_view(page: Page, filled: Served) -> None:
    page.goto(filled.server.address)
    for number, title in enumerate(VIEWS.values(), 1):
        page.keyboard.press(str(number))
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Publish an event")
    page.keyboard.press("Escape")
    page.keyboard.press("t")

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
