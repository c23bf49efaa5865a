"""Sessions of browsers: a cookie stands for a token, for as long as the token lives, and for no other server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from tests.service.served import Served
from tocsin.service.access.sessions import IDLE_S, Sessions, cookie, session_text
from tocsin.service.access.token_file import TokenFile

LOGIN = "/v1/session"


def logged_in(server: Served, *scopes: str, tenant: str = "") -> str:
    """A token, of which `server.client` has the cookie now."""
    token = server.token(*scopes, tenant=tenant)
    assert server.client.post(LOGIN, json={"token": token}).status_code == 200
    return token


def test_without_tokens_everybody_is_in(server: Served) -> None:
    answer = server.client.get(LOGIN)

    assert answer.json()["needs_token"] is False and len(answer.json()["scopes"]) == 5
    assert "set-cookie" not in server.client.post(LOGIN, json={"token": "any"}).headers


def test_a_cookie_stands_for_the_token(server: Served) -> None:
    token = server.token("read", tenant="acme")
    answer = server.client.post(LOGIN, json={"token": token})

    port = server.client.base_url.port
    shape = rf"tocsin-session-{port}=[0-9a-f]{{64}}; Path=/; HttpOnly; SameSite=Strict"
    assert re.fullmatch(shape, answer.headers["set-cookie"])
    assert token not in answer.headers["set-cookie"] and token not in answer.text
    assert (answer.json()["tenant"], answer.json()["scopes"]) == ("acme", ["read"])
    assert server.client.get(LOGIN).json() == answer.json()
    assert server.client.get("/v1/subscriptions").status_code == 200
    assert server.client.post("/v1/events", json={"n": 1}).status_code == 403  # the scopes are the token's


def test_a_session_ends_when_it_is_logged_out(server: Served) -> None:
    logged_in(server)
    shown = dict(server.client.cookies)
    answer = server.client.delete(LOGIN)

    assert answer.status_code == 204 and "Max-Age=0" in answer.headers["set-cookie"]
    server.client.cookies.update(shown)  # who kept the cookie has nothing
    assert server.client.get(LOGIN).status_code == 401
    assert server.client.delete(LOGIN).status_code == 204


def test_a_session_ends_with_its_token(server: Served) -> None:
    token = logged_in(server)
    TokenFile(server.folder).revoke(token.split("_")[1])

    assert server.client.get(LOGIN).status_code == 401


@pytest.mark.parametrize("text", ["", "tocsin_", "x" * 5000, "tocsin_0123456789ab_" + "0" * 64])
def test_a_wrong_token_begins_nothing(server: Served, text: str) -> None:
    server.token()
    answer = server.client.post(LOGIN, json={"token": text})

    assert answer.status_code == 401 and "set-cookie" not in answer.headers
    assert server.client.get(LOGIN).status_code == 401


@pytest.mark.parametrize("body", [{}, {"token": 7}, {"token": None}, {"token": "a", "more": 1}])
def test_a_wrong_login_says_what_is_wrong(server: Served, body: object) -> None:
    server.token()

    assert server.client.post(LOGIN, json=body).status_code == 422


def test_pages_of_other_origins_use_no_cookie(server: Served) -> None:
    """A page on another port of the same host is of the same site, so that a browser sends the cookie with it."""
    logged_in(server)
    for headers in ({"Origin": "http://127.0.0.1:9"}, {"Sec-Fetch-Site": "same-site"}):
        assert server.client.post("/v1/events", json={"n": 1}, headers=headers).status_code == 403
        assert server.client.delete(LOGIN, headers=headers).status_code == 403

    assert server.client.post("/v1/events", json={"n": 1}).status_code == 202


def test_a_header_goes_before_a_cookie(server: Served) -> None:
    logged_in(server)

    assert server.client.get(LOGIN, headers={"Authorization": "Bearer no"}).status_code == 401


def test_the_cookie_over_tls_is_for_tls_alone() -> None:
    headers = Headers({"host": "alerts.example.org"})
    set_cookie = cookie(headers, "abc", is_secure=True)

    assert set_cookie == "__Host-tocsin-session=abc; Path=/; HttpOnly; SameSite=Strict; Secure"
    shown = Headers({"host": "alerts.example.org", "cookie": "a=1; __Host-tocsin-session=abc"})
    assert session_text(shown, is_secure=True) == "abc"
    assert session_text(shown, is_secure=False) is None


def test_idle_sessions_end_and_used_ones_go_on() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    idle, used = sessions.begin("a", ""), sessions.begin("b", "")
    now[0] = IDLE_S - 1
    assert sessions.token(used) == "b"
    now[0] = IDLE_S + 1

    assert (sessions.token(idle), sessions.token(used)) == (None, "b")
    sessions.begin("c", "")
    assert len(sessions) == 2


def test_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.service.access.sessions._MOST", 3)
    sessions = Sessions(lambda: 0.0)
    texts = [sessions.begin(str(number), "") for number in range(5)]

    assert [sessions.token(text) for text in texts] == [None, None, "2", "3", "4"]


def test_a_tenant_ends_its_own_sessions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever logs in again and again logs nobody of another tenant out, and sessions that ended do not count."""
    monkeypatch.setattr("tocsin.service.access.sessions._MOST_OF_TENANT", 3)
    sessions = Sessions(lambda: 0.0)
    quiet = sessions.begin("quiet", "bob")
    for _ in range(9):
        sessions.end(sessions.begin("gone", "acme"))
    texts = [sessions.begin(str(number), "acme") for number in range(5)]

    assert [sessions.token(text) for text in texts] == [None, None, "2", "3", "4"]
    assert sessions.token(quiet) == "quiet"
    assert len(sessions) == 4


def test_nothing_of_a_session_is_on_disk(server: Served) -> None:
    logged_in(server)
    (text,) = dict(server.client.cookies).values()

    assert not any(text.encode() in one.read_bytes() for one in Path(server.folder).rglob("*") if one.is_file())
