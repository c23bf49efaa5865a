"""The console in a browser: what a person does with it, against a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.service.console.conftest import Watched
from tests.service.receivers import Reply, dead_letters, hook, receiver
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.service.access.token_file import TokenFile

PLACE = [13.4, 52.5]
BERLIN = "S_INTERSECTS(location, BBOX(13, 52, 14, 53))"


def opened(page: Page, server: Served, view: str) -> None:
    page.goto(f"{server.server.address}/#/{view}")


def shown(page: Page, text: str) -> None:
    expect(page.get_by_text(text).first).to_be_visible()


def test_a_subscription_from_a_mistake_to_a_match(page: Page, server: Served, watched: Watched) -> None:
    """Write it with a mistake, see the caret, mend it, dry-run it, save it, publish, and see it ring."""
    server.destination("alarms")
    server.lines([{"vehicle": "v1", "location": PLACE, "speed": speed} for speed in (10, 60, 90)])
    opened(page, server, "subscriptions?new=1")
    page.get_by_label("Id", exact=True).fill("speeding")
    editor = page.get_by_label("Condition", exact=True)
    editor.fill(f"speed >= AND {BERLIN}")
    expect(page.locator(".editor mark")).to_have_text("AND")
    shown(page, "Line 1, column 10: expected a value after '>='")
    expect(page.locator(".caret")).to_contain_text("^")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()

    editor.fill(f"speed >= 50 AND {BERLIN}")
    shown(page, "understood")
    page.get_by_role("button", name="Dry-run").click()
    expect(page.get_by_label("The dry run")).to_contain_text("2 matches in all 3 events")
    assert page.locator(".histogram rect:not(.none)").count() >= 1
    page.get_by_label("The subscription").get_by_label("Destination").select_option("alarms")
    page.get_by_role("button", name="Save", exact=True).click()
    shown(page, "The subscription speeding is saved.")
    assert server.client.get("/v1/subscriptions/speeding").json()["destination"] == "alarms"

    page.get_by_role("link", name="Map").click()
    shown(page, "1 region")
    page.get_by_role("link", name="Live", exact=True).click()
    expect(page.locator(".badge.well")).to_contain_text("Live")
    page.get_by_role("button", name="Publish an event").click()
    page.get_by_label("The event as JSON").fill('{"vehicle": "v7", "location": [13.4, 52.5], "speed": 70}')
    page.get_by_role("button", name="Publish", exact=True).click()
    shown(page, "1 match, 1 delivery")
    page.keyboard.press("Escape")

    page.locator(".ring-row").first.click()
    why = page.get_by_label("The delivery")
    expect(why.locator(".finding.holds")).to_have_count(2)
    expect(why).to_contain_text("speed >= 50")
    page.get_by_role("link", name="Map").click()
    expect(page.locator(".feed li").first).to_contain_text(re.compile("enter.*v7.*speeding"))
    server.publish({"vehicle": "v7", "location": PLACE, "speed": 5})  # matches nothing: the map does not hear of it
    server.subscribe("all", "location IS NOT NULL", destination="alarms")
    server.publish({"vehicle": "v7", "location": PLACE, "speed": 5})
    expect(page.locator(".feed li").first).to_contain_text(re.compile("exit.*v7.*speeding"))
    assert watched.said == []


def test_somebody_else_changed_it_meanwhile(page: Page, server: Served) -> None:
    server.subscribe("s", "n = 1")
    opened(page, server, "subscriptions?id=s")
    page.get_by_label("Condition", exact=True).fill("n = 2")
    shown(page, "understood")
    server.subscribe("s", "n = 3")
    page.get_by_role("button", name="Save", exact=True).click()

    shown(page, "Somebody changed it meanwhile.")
    assert server.client.get("/v1/subscriptions/s").json()["where"] == "n = 3"


def test_subscriptions_are_searched(page: Page, server: Served) -> None:
    records = [{"id": f"s{number:03}", "where": f"price <= {number}"} for number in range(120)]
    server.lines(records, "/v1/subscriptions")
    opened(page, server, "subscriptions")
    expect(page.locator("tbody tr")).to_have_count(100)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator("tbody tr")).to_have_count(120)
    page.keyboard.press("/")
    page.keyboard.type("<= 77")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Save filter").click()
    page.get_by_label("Name of the filter").fill("sevens")
    page.keyboard.press("Enter")
    page.reload()
    page.get_by_role("button", name="sevens", exact=True).click()

    expect(page.locator("tbody tr")).to_have_count(1)


def test_explain_shows_trees_and_near_misses(page: Page, server: Served) -> None:
    server.subscribe("hit", "price <= 5 AND name = 'a'")
    server.subscribe("near", "price <= 3 AND name = 'a'")
    opened(page, server, "explain")
    page.get_by_label("Event, as JSON").fill('{"price": 4, "name": "a"')
    page.get_by_role("button", name="Explain", exact=True).click()
    shown(page, "This is not JSON")
    page.get_by_label("Event, as JSON").fill('{"price": 4, "name": "a"}')
    page.get_by_role("button", name="Explain", exact=True).click()

    shown(page, "1 subscription matches")
    missed = page.locator(".explained", has_text="near")
    expect(missed.locator(".finding.fails")).to_contain_text("would match if price <= 3")
    expect(missed.locator(".finding.holds")).to_contain_text("name = 'a'")


def test_a_dead_letter_is_retried(page: Page, server: Served) -> None:
    with receiver(lambda posted: Reply(400)) as one:
        hook(server, one.url, max_attempts=1)
        server.publish({"n": 1})
        awaited(lambda: dead_letters(server))
        opened(page, server, "overview")
        page.get_by_role("link", name="w", exact=True).click()
        page.get_by_role("button", name="Dead letters").click()
        shown(page, "HTTP 400")
        one.reply = lambda posted: Reply()
        page.get_by_role("button", name="Retry dead letter 1").click()

        shown(page, "1 dead letter is sent again.")
        shown(page, "No dead letters")  # also before it has been sent
        awaited(lambda: len(one.got) >= 2)
        assert len(one.got) == 2 and one.got[0].headers["webhook-id"] == one.got[1].headers["webhook-id"]


def test_a_destination_of_every_kind_is_made(page: Page, server: Served) -> None:
    """The form has what the service says that a kind needs. A secret that was made is shown once."""
    token = server.token()  # an admin, who may allow private addresses
    opened(page, server, "deliveries")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="New destination").click()
    form = page.get_by_label("New destination")
    form.get_by_label("Id", exact=True).fill("mails")
    form.get_by_label("Kind").select_option("email")
    form.get_by_label("Host").fill("127.0.0.1")
    form.get_by_label("From").fill("alerts@tocsin.example")
    form.get_by_label("To", exact=True).fill("a@desk.example, b@desk.example")
    form.get_by_label("Password").fill("hidden")
    form.get_by_label("Further options").fill('{"allow_private": true, "digest_s": 60}')
    form.get_by_role("button", name="Make it").click()
    expect(form).to_have_count(0)
    made = server.client_of(token).get("/v1/destinations/mails").json()
    assert made["to"] == ["a@desk.example", "b@desk.example"] and made["digest_s"] == 60 and "password" not in made

    page.get_by_role("button", name="New destination").click()
    form.get_by_label("Id", exact=True).fill("hook")
    form.get_by_label("Kind").select_option("webhook")
    form.get_by_label("URL", exact=True).fill("https://example.org/hook")
    form.get_by_role("button", name="Make it").click()
    expect(page.get_by_label("The secret of the destination")).to_contain_text("whsec_")


def test_a_login_and_a_logout(page: Page, context: BrowserContext, server: Served) -> None:
    token = server.token("read", "publish", tenant="acme")
    opened(page, server, "overview")
    page.get_by_label("Token").fill("tocsin_wrong")
    page.get_by_role("button", name="Log in").click()
    shown(page, "This token is not valid here.")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    shown(page, "Busiest subscriptions")

    (cookie,) = context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    assert page.evaluate("document.cookie") == ""
    stored = page.evaluate("JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])")
    assert token not in stored and token not in page.content()
    page.reload()
    shown(page, "acme")
    opened(page, server, "subscriptions")
    expect(page.get_by_role("button", name="New subscription")).to_have_count(0)  # the scope subscribe is missing
    second = context.new_page()
    opened(second, server, "live")
    shown(second, "Live")
    page.get_by_role("button", name="Log out").click()

    expect(page.get_by_label("Token")).to_be_visible()
    expect(second.get_by_label("Token")).to_be_visible()
    assert context.cookies() == []


def test_a_revoked_token_leads_to_the_login(page: Page, server: Served) -> None:
    token = server.token()
    opened(page, server, "overview")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    shown(page, "Busiest subscriptions")
    TokenFile(server.folder).revoke(token.split("_")[1])

    expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_an_event_that_is_a_script_stays_text(page: Page, server: Served, watched: Watched, evil: str) -> None:
    server.destination(_quoted(evil))
    server.subscribe("evil", "location IS NOT NULL", destination=evil, payload={evil: evil})
    server.client.post("/v1/subscriptions", content=_line(evil), headers={"Content-Type": "application/x-ndjson"})
    event = {"name": evil, evil: evil, "location": PLACE, "javascript:alert(1)": 1}
    opened(page, server, "live")
    expect(page.locator(".badge.well")).to_contain_text("Live")
    server.publish(event)
    page.locator(".ring-row").first.click()
    expect(page.get_by_label("The event", exact=True)).to_contain_text(evil.replace('"', '\\"'))
    for view in (
        "overview",
        "map",
        f"subscriptions?id={_quoted(evil)}",
        "explain",
        f"deliveries?destination={_quoted(evil)}",
    ):
        opened(page, server, view)
        page.wait_for_timeout(300)
    shown(page, evil)

    assert watched.said == []
    assert page.locator("main script, main img").count() == 0


def _line(evil: str) -> str:
    return json.dumps({"id": evil, "where": f"name = '{evil}'"})


def _quoted(text: str) -> str:
    return quote(text, safe="")


def test_the_policy_is_what_the_browser_enforces(page: Page, server: Served) -> None:
    """So that the tests that find no refusal are about something."""
    opened(page, server, "overview")
    shown(page, "Overview")
    refused = page.evaluate(
        """() => {
            const tries = [
                () => { document.body.innerHTML = "<b>x</b>"; },
                () => {
                    const one = document.createElement("script");
                    one.text = "window.ran = 1";
                    document.head.append(one);
                },
            ];
            return tries.map((one) => { try { one(); return false; } catch { return true; } });
        }"""
    )
    assert refused == [True, True] and page.evaluate("window.ran") is None


def test_a_list_of_a_window_changes_while_it_is_watched(page: Page, server: Served) -> None:
    window = "/v1/windows/news"
    server.client.put(window, json={"size": 10, "bounds": [0, 0, 9, 9]})
    for id in ("u1", "u2"):
        server.client.put(f"{window}/subscriptions/{id}", json={"words": [id], "location": [1, 1], "k": 2})
    opened(page, server, "windows")
    first = page.get_by_label("The list of u1")
    shown(page, "No message of the window has one of its words.")
    server.client.post(f"{window}/messages", json={"words": ["u1"], "location": [1, 2], "key": "offer-1"})
    expect(first.locator("li")).to_contain_text("offer-1")
    page.get_by_label("Do not watch u2").click()
    page.get_by_label("Subscription to watch").fill("u9")
    page.get_by_role("button", name="Watch", exact=True).click()
    shown(page, "The window news has no subscription u9.")
    page.reload()

    expect(page.get_by_label("The list of u1")).to_be_visible()
    expect(page.get_by_label("The list of u2")).to_have_count(0)


def test_the_map_shows_what_a_fence_tells(page: Page, server: Served) -> None:
    server.destination("d")
    server.client.put("/v1/fences/cars", json={"key": "vehicle"})
    server.subscribe("berlin", BERLIN, fence="cars", destination="d")
    opened(page, server, "map")
    shown(page, "1 region")
    expect(page.locator(".map-about")).to_contain_text("1 region")
    awaited(lambda: server.service.streams == 1)
    server.publish({"vehicle": "v1", "location": PLACE})
    expect(page.locator(".feed li").first).to_contain_text(re.compile("enter.*v1.*berlin"))
    server.publish({"vehicle": "v1", "location": [0, 0]})

    expect(page.locator(".feed li").first).to_contain_text(re.compile("exit.*v1.*berlin"))


def test_an_operator_sees_no_events(page: Page, server: Served) -> None:
    """The scope operate shows counts; views that need more say which scope."""
    server.destination("d")
    token = server.token("operate")
    opened(page, server, "overview")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_label("Destinations by backlog").locator("tbody tr")).to_contain_text("d")
    shown(page, "need a token with the scope read")
    opened(page, server, "live")
    shown(page, "Live needs the scope read")
    opened(page, server, "subscriptions")

    shown(page, "this needs the scope read".capitalize())


def test_a_subscription_is_deleted_after_a_second_click(page: Page, server: Served) -> None:
    server.subscribe("s", "n = 1")
    opened(page, server, "subscriptions?id=s")
    page.get_by_role("button", name="Delete").click()
    assert server.client.get("/v1/subscriptions/s").status_code == 200
    page.get_by_role("button", name="Delete it").click()
    shown(page, "The subscription s is deleted.")

    assert server.client.get("/v1/subscriptions/s").status_code == 404
    shown(page, "No subscription yet")


def test_an_event_source_of_the_browser_resumes(page: Page, tmp_path: Path) -> None:
    """The browser's own EventSource sends the last id by itself, so that nothing is missing after a restart."""
    with served(tmp_path) as server:
        port = int(server.server.address.rpartition(":")[2])
        server.destination("d")
        server.subscribe("s", "n >= 0", destination="d")
        opened(page, server, "overview")
        page.evaluate(
            """() => {
                window.got = [];
                const source = new EventSource("/v1/destinations/d/stream?from=earliest");
                source.onmessage = (event) => window.got.push(JSON.parse(event.data).event.n);
            }"""
        )
        server.publish({"n": 0})
        awaited(lambda: page.evaluate("window.got.length") == 1)
    with served(tmp_path) as elsewhere:
        for number in (1, 2):
            elsewhere.publish({"n": number})
    with served(tmp_path, port=port) as server:
        awaited(lambda: page.evaluate("window.got.length") == 3)
        server.publish({"n": 3})
        awaited(lambda: page.evaluate("window.got.length") == 4)

        assert page.evaluate("window.got") == [0, 1, 2, 3]
