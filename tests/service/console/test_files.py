"""The files of the console: current, complete, small, and served so that nothing else can be loaded or run."""

from __future__ import annotations

import gzip
import re
import sys

import httpx
import pytest

from tests.pages import ROOT
from tests.service.served import Served
from tocsin.service.console.files import POLICY, built

sys.path.insert(0, str(ROOT / "scripts"))
import console

_MOST_BYTES = 400_000


def page(server: Served, **headers: str) -> httpx.Response:
    return server.client.get("/", headers=headers)


def test_the_built_files_are_those_of_the_sources() -> None:
    assert not console.is_stale(), "the sources of the console changed; run: make console"


def test_a_change_of_the_sources_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above can fail."""
    before = console.digest()
    monkeypatch.setattr(console, "_GENERATED", (*console._GENERATED, "main.tsx"))

    assert console.digest() != before


def test_all_files_together_are_small() -> None:
    sizes = [len(one.compressed or one.body) for one in built().values()]

    assert len(sizes) > 5 and sum(sizes) <= _MOST_BYTES


def test_the_page_and_everything_it_names_is_there(server: Served) -> None:
    answer = page(server)
    names = re.findall(r'(?:src|href)="(/console/[^"]+)"', answer.text)

    assert answer.status_code == 200 and len(names) >= 3
    assert answer.headers["cache-control"] == "no-cache"
    for name in names:
        file = server.client.get(name)
        assert file.status_code == 200
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_the_policy_allows_files_of_the_server_alone(server: Served) -> None:
    answer = page(server)

    assert answer.headers["content-security-policy"] == POLICY
    assert POLICY.startswith("default-src 'none'") and "unsafe" not in POLICY and "data:" not in POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "<style" not in answer.text and not re.search(r"<script(?![^>]* src=)", answer.text)
    assert not re.search(r'\s(on\w+|style)="', answer.text)


def test_files_come_compressed_and_once(server: Served) -> None:
    with server.client.stream("GET", "/", headers={"Accept-Encoding": "gzip"}) as response:
        body = b"".join(response.iter_raw())
    plain = page(server, **{"Accept-Encoding": "identity"})

    assert gzip.decompress(body) == plain.content
    assert page(server, **{"If-None-Match": plain.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("path", ["/console/none.js", "/console/sources.sha256", "/console/..%2ffiles.py", "/console/"])
def test_nothing_else_is_served(server: Served, path: str) -> None:
    assert server.client.get(path).status_code == 404


def test_the_page_is_only_read(server: Served) -> None:
    answer = server.client.post("/")

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert server.client.head("/").status_code == 200


def test_the_page_needs_no_token_and_tells_nothing(server: Served) -> None:
    before = page(server).content
    server.token()

    assert page(server).content == before


def test_a_link_on_another_page_opens_the_console_and_nothing_else(server: Served) -> None:
    linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    assert page(server, **linked).status_code == 200
    assert page(server, **{**linked, "Sec-Fetch-Dest": "iframe"}).status_code == 403
    assert server.client.get("/v1/subscriptions", headers=linked).status_code == 403
    assert server.client.post("/", headers=linked).status_code == 403
