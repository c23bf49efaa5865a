"""What support does in the console: read and set every field, find a person, and find out why nothing was sent."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect

from tests.service.console.conftest import Watched
from tests.service.console.test_browser import opened, shown
from tests.service.receivers import Reply, hook, receiver
from tests.service.served import Served
from tests.waiting import awaited
from tocsin.language.dialects import DIALECTS
from tocsin.service.access.token_file import TokenFile


def test_every_field_is_kept_by_a_save(page: Page, server: Served, watched: Watched) -> None:
    """A save of the condition alone changes nothing else, down to the milliseconds of times."""
    server.destination("d")
    server.client.put("/v1/fences/cars", json={"key": "vehicle"})
    fields = {
        "score": 2.5, "payload": {"mail": "a@b.c"}, "weights": {"n": 2.0}, "destination": "d", "fence": "cars",
        "paused_until": "2126-12-20T08:00:00.123Z", "expires_at": "2127-01-01T00:00:00.456Z",
    }  # fmt: skip
    server.subscribe("s", "n = 1", **fields)
    opened(page, server, "subscriptions?id=s")
    panel = page.get_by_label("The subscription")
    for label, value in (("Destination", "d"), ("Fence", "cars"), ("Score", "2.5")):
        expect(panel.get_by_label(label)).to_have_value(value)
    expect(panel.get_by_label("Expires")).to_have_value(re.compile(r"^212[67]-"))
    expect(panel.get_by_label("Weights")).to_have_value(re.compile('"n": 2'))
    page.get_by_label("Condition", exact=True).fill("n = 2")
    page.get_by_role("button", name="Save", exact=True).click()
    shown(page, "The subscription s is saved.")

    saved = server.client.get("/v1/subscriptions/s").json()
    assert {**saved, "sequence": 0} == {"id": "s", "where": "n = 2", **fields, "sequence": 0}
    expect(panel).to_contain_text("change 2")
    panel.get_by_label("Paused until").fill("")
    panel.get_by_label("Weights").fill("{")
    page.get_by_role("button", name="Save", exact=True).click()
    shown(page, "The weights is not JSON")
    panel.get_by_label("Weights").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    awaited(lambda: page.evaluate("true") and "weights" not in server.client.get("/v1/subscriptions/s").json())
    assert "paused_until" not in server.client.get("/v1/subscriptions/s").json()
    assert watched.said == []


def test_a_rule_of_another_language_is_checked_as_one(page: Page, server: Served) -> None:
    server.subscribe("s", "state = 'running'")
    opened(page, server, "subscriptions?id=s")
    language = page.get_by_label("Language of the condition")
    expect(language.locator("option")).to_have_count(1 + len(DIALECTS))  # they come with an answer of their own
    known = language.locator("option").evaluate_all("all => all.map((one) => one.value)")
    assert known == ["", *DIALECTS]
    shown(page, "understood")
    language.select_option("eventbridge")
    page.get_by_label("Condition", exact=True).fill('{"state": "running"}')
    expect(page.locator("#verdict .note.fail")).to_be_visible()
    page.get_by_label("Condition", exact=True).fill('{"state": ["running"]}')
    shown(page, "understood")
    page.get_by_role("button", name="Save", exact=True).click()
    shown(page, "The subscription s is saved.")

    saved = server.client.get("/v1/subscriptions/s").json()
    assert (saved["where"], saved["language"]) == ({"state": ["running"]}, "eventbridge")
    page.reload()
    expect(language).to_have_value("eventbridge")
    shown(page, "understood")


def test_the_state_is_told_in_words_with_the_token(page: Page, server: Served) -> None:
    support = TokenFile(server.folder).create("", ["read", "subscribe"], name="support")[1]
    until = (datetime.now(UTC) + timedelta(days=40)).replace(hour=0, minute=0)
    answer = server.client_of(support).put(
        "/v1/subscriptions/s", json={"where": "n = 1", "paused_until": until.isoformat()}
    )
    assert answer.status_code == 201
    opened(page, server, "subscriptions?id=s")
    page.get_by_label("Token").fill(support)
    page.get_by_role("button", name="Log in").click()

    state = page.get_by_label("The state", exact=True)
    expect(state).to_contain_text(re.compile(rf"Paused until {until.day} {until:%B}.* by token “support”\."))
    expect(page.get_by_role("row", name=re.compile("^s "))).to_contain_text("paused until")


def test_a_person_is_found_and_told_why_nothing_came(page: Page, server: Served, watched: Watched) -> None:
    server.destination("d")
    more = {"destination": "d", "payload": {"mail": "ann@example.org"}}
    server.subscribe("s1", "n >= 1", throttle_s=3600, **more)
    server.subscribe("s2", "n >= 1", destination="d")
    server.lines([{"n": 1, "name": "first"}, {"n": 2, "name": "second"}, {"n": 0, "name": "third"}])
    opened(page, server, "subscriptions")
    page.get_by_label("Search in ids, conditions and payloads").fill("ANN@example")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="s1", exact=True).click()
    page.get_by_text("Why was nothing sent?").click()
    page.get_by_role("button", name="Look").click()
    events = page.get_by_label("Events, the newest first").get_by_role("button")
    expect(events).to_have_count(2)
    outcome = page.get_by_label("The outcome", exact=True)
    events.filter(has_text="second").click()
    expect(outcome).to_contain_text("throttled")
    expect(outcome).to_contain_text("It matches, but it is told at most once in 3600 s")
    events.filter(has_text="first").click()
    expect(outcome).to_contain_text("No client acknowledged delivery 1 of d so far")
    expect(outcome.get_by_role("link", name="d #1")).to_be_visible()
    page.get_by_label("Events that satisfy").fill("name = 'third'")
    page.get_by_role("button", name="Look").click()
    expect(events).to_have_count(1)
    events.click()
    expect(outcome).to_contain_text("The condition does not match the event.")
    expect(outcome.locator(".finding.fails")).to_contain_text("n >= 1")
    page.get_by_label("or the number of an event").fill("99")
    page.get_by_role("button", name="Look").click()

    shown(page, "There is no event")
    assert watched.without("404") == []


def test_a_webhook_says_when_it_is_tried_next(page: Page, server: Served) -> None:
    with receiver(lambda posted: Reply(503)) as one:
        hook(server, one.url, rate_per_s=5)
        server.publish({"n": 1})
        awaited(lambda: "next_try" in server.client.get("/v1/destinations/w").json())
        opened(page, server, "deliveries?destination=w")

        options = page.get_by_label("Options", exact=True)
        expect(options).to_contain_text("5 requests a second")
        expect(options).to_contain_text(re.compile(r"Next try(now|in \d+ s, at \d\d:\d\d)"))


def test_a_webhook_shows_that_its_template_failed(page: Page, server: Served) -> None:
    with receiver() as one:
        hook(server, one.url, template={"body": "{{ 1 | divided_by: event.n }}", "headers": {"x-a": "b"}})
        server.publish({"n": 0})
        awaited(lambda: "template_error" in server.client.get("/v1/destinations/w").json())
        opened(page, server, "deliveries?destination=w")

        options = page.get_by_label("Options", exact=True)
        expect(options).to_contain_text("body, headers")
        expect(options).to_contain_text("body, line 1: divided_by: can't divide by 0")


def test_nothing_is_published_by_mistake(page: Page, server: Served) -> None:
    """The dialog is empty, also after an event was published; the last one comes when it is asked for."""
    opened(page, server, "overview")
    shown(page, "No destination yet")
    page.keyboard.press("p")
    event = page.get_by_label("The event as JSON")
    expect(event).to_have_value("")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Publish", exact=True)).to_be_disabled()
    event.fill('{"n": 1}')
    page.get_by_role("button", name="Publish", exact=True).click()
    shown(page, "Event 1 is published.")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(event).to_have_value("")
    page.get_by_role("button", name="Use the last one").click()

    expect(event).to_have_value('{"n": 1}')
    assert server.service.directory.last_event == 1


def test_columns_are_chosen_in_live(page: Page, server: Served) -> None:
    server.destination("d")
    server.subscribe("s", "n >= 0", destination="d")
    opened(page, server, "live")
    expect(page.locator(".badge.well")).to_contain_text("Live")
    server.publish({"n": 1, "name": "Ann", "more": {"x": 2}})
    row = page.get_by_label("Deliveries, the newest first").locator("li")
    expect(row).to_contain_text("name Ann")
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("name", exact=True).check()
    page.get_by_label("more", exact=True).check()
    page.reload()
    expect(page.locator(".badge.well")).to_contain_text("Live")
    server.publish({"n": 2, "name": "Ben"})

    expect(row.locator(".cells > span")).to_have_text(["name Ben", "more –"])
    expect(page.locator(".heading .cells")).to_have_text("namemore")


def test_the_map_shows_all_objects_with_their_names(page: Page, server: Served) -> None:
    """Those that come later and far away, too, until somebody moves the map."""
    server.destination("d")
    server.subscribe("s", "S_INTERSECTS(location, BBOX(13, 52, 14, 53)) OR vehicle IS NOT NULL", destination="d")
    opened(page, server, "map")
    shown(page, "1 region")
    awaited(lambda: page.evaluate("true") and server.service.streams == 1)
    server.publish({"vehicle": "near", "location": [13.5, 52.5]})
    canvas = page.locator("canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile("and 1 object in view, 1 with a name"))
    server.lines([{"vehicle": "far", "location": [100, -30]}, {"vehicle": "west", "location": [-80, 10]}])
    expect(canvas).to_have_attribute("aria-label", re.compile("and 3 objects in view, 3 with a name"))
    shown(page, "3 objects, 3 in view")
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    expect(canvas).not_to_have_attribute("aria-label", re.compile("and 3 objects in view"))
    server.publish({"vehicle": "far", "location": [120, -30]})
    expect(canvas).not_to_have_attribute("aria-label", re.compile("and 3 objects in view"))
    page.get_by_role("button", name="Show all regions and objects").click()

    expect(canvas).to_have_attribute("aria-label", re.compile("and 3 objects in view"))
