"""What every answer has: an id of the request, and headers that keep it out of caches. The access log."""

from __future__ import annotations

import json
import logging
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.service.served import Served, events_of, served
from tests.service.test_process import started
from tests.waiting import HANG_S, awaited
from tocsin.service import logs, tracing

PARENT: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
HOSTILE: Final = "\x1b[2J\x1b]0;owned\x07\r\nERROR forged \u202e\u2028\x9b31m"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("alerts")) as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d")
        yield server


@pytest.fixture
def access(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    """A function that gives the fields of the lines of the access log, once there are so many."""
    with caplog.at_level(logging.INFO, "tocsin.access"):

        def lines(count: int = 1) -> list[dict[str, Any]]:
            def found() -> list[dict[str, Any]]:
                return [one.fields for one in caplog.records if one.name == "tocsin.access"]  # type: ignore[attr-defined]

            awaited(lambda: len(found()) >= count)
            return found()

        yield lines


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/v1/subscriptions/s", {}),
        ("GET", "/v1/subscriptions/none", {}),
        ("GET", "/nothing", {}),
        ("PATCH", "/v1/events", {}),
        ("GET", "/healthz", {"Host": "elsewhere.example"}),
        ("GET", "/healthz", {"Origin": "https://elsewhere.example"}),
        ("GET", "/metrics", {}),
        ("GET", "/docs", {}),
        ("GET", "/" + 9000 * "x", {}),
        ("POST", "/console/x.js", {}),
    ],
)
def test_every_answer_is_named_and_in_no_cache(shared: Served, method: str, path: str, headers: dict[str, str]) -> None:
    answer = shared.client.request(method, path, headers=headers)

    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.status_code >= 400:
        assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_streams_and_files_say_themselves_how_they_are_kept(shared: Served, access: Any) -> None:
    with shared.client.stream("GET", "/v1/destinations/d/stream") as stream:
        next(events_of(stream))
        assert stream.headers["cache-control"] == "no-cache, no-transform"
        assert stream.headers["x-request-id"]
    page = shared.client.get("/")
    assert page.headers["cache-control"] == "no-cache"
    assert page.headers.get_list("x-content-type-options") == ["nosniff"]
    access(2)  # the stream has ended, so its line is not among those of the next test


@pytest.mark.parametrize("sent", ["abc-1", "A" * 128, "trace/7:b+c=@_."])
def test_a_sane_id_is_taken(shared: Served, sent: str) -> None:
    assert shared.client.get("/healthz", headers={"X-Request-Id": sent}).headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", "A" * 129, "a b", "a\x1b[2J", "a\tb", "é", '"', "a,b"])
def test_others_get_a_new_one(shared: Served, sent: str) -> None:
    answer = shared.client.get("/healthz", headers=[(b"X-Request-Id", sent.encode("latin-1"))])
    if answer.status_code == 200:  # and is not refused before
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
    twice = shared.client.get("/healthz", headers=[("X-Request-Id", "a"), ("X-Request-Id", "b")])
    assert re.fullmatch("[0-9a-f]{32}", twice.headers["x-request-id"])


def test_what_no_application_answers_is_named_too(shared: Served, access: Any) -> None:
    with socket.create_connection(("127.0.0.1", shared.client.base_url.port)) as connection:
        connection.sendall(b"GET / HTTP/9.9\r\n\r\n")
        head, _, body = b"".join(iter(lambda: connection.recv(4096), b"")).partition(b"\r\n\r\n")

    assert b"\r\ncache-control: no-store" in head and b"\r\nx-content-type-options: nosniff" in head
    assert f"x-request-id: {json.loads(body)['request_id']}".encode() in head
    assert [line["status"] for line in access()] == [400]


def test_a_line_for_each_request(shared: Served, access: Any, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"X-Request-Id": "mine", "traceparent": PARENT}
    answer = shared.client.get("/v1/subscriptions/s?x=secret", headers=headers)
    shared.client.get("/v1/subscriptions/s")

    bad, good = access(2)
    assert answer.status_code == 400 and bad["status"] == 400 and good["status"] == 200
    assert (bad["method"], bad["path"], bad["address"]) == ("GET", "/v1/subscriptions/s", "127.0.0.1")
    assert bad["bytes"] == len(answer.content) and bad["duration_ms"] > 0
    assert "secret" not in caplog.text


def test_a_line_says_whose_token_it_was(tmp_path: Path, access: Any) -> None:
    with served(tmp_path) as server:
        text = server.token("read", tenant="acme")
        server.client_of(text).get("/v1/subscriptions")
        server.client.get("/v1/subscriptions")

    lines = sorted(access(2), key=lambda line: int(line["status"]))
    assert [(line["status"], line.get("tenant")) for line in lines] == [(200, "acme"), (401, None)]
    assert lines[0]["token"] == text.split("_")[1] and text not in str(lines)


def test_a_stream_has_its_line_when_it_ends(server: Served, access: Any) -> None:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    size = 0
    with server.client.stream("GET", "/v1/destinations/d/stream") as stream:
        parts = stream.iter_raw()
        for number in range(3):
            server.publish({"n": number})
            size += len(next(parts))
    awaited(lambda: any("stream" in line["path"] for line in access()))

    (line,) = [line for line in access() if "stream" in line["path"]]
    assert line["status"] == 200 and line["bytes"] >= size > 300


def test_without_the_option_nothing_is_logged(shared: Served, caplog: pytest.LogCaptureFixture) -> None:
    shared.client.get("/healthz")
    assert not caplog.records


def record(message: str, *arguments: Any, error: BaseException | None = None, **fields: Any) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    one = logging.LogRecord("tocsin.service", logging.ERROR, "x.py", 1, message, arguments, info)
    one.fields = fields
    return one


@pytest.mark.parametrize("formatter", [logs.Lines(), logs.JsonLines()])
def test_nothing_that_is_quoted_reaches_a_terminal(formatter: logging.Formatter) -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        line = formatter.format(record("the webhook %s failed", HOSTILE, error=error, path=HOSTILE, token=HOSTILE))

    shown = line.replace("\n    ", "")  # a traceback is indented, so that no line of it begins a record
    assert shown.isprintable() and not re.search(r"^ERROR", line, re.MULTILINE)
    assert formatter.format(record("x" * 1_000_000)).count("x") < 10_000
    if isinstance(formatter, logs.JsonLines):
        document = json.loads(line)
        assert document["message"].isprintable() and all(one.isprintable() for one in document["traceback"])


def test_lines_name_the_request_while_it_is_answered() -> None:
    trace = tracing.Trace([(b"x-request-id", b"mine"), (b"traceparent", PARENT.encode())])
    token = tracing._current.set(trace)
    try:
        assert f" request_id=mine traceparent={PARENT}" in logs.Lines().format(record("x"))
        assert json.loads(logs.JsonLines().format(record("x")))["traceparent"] == PARENT
        trace.is_over = True  # as in a task that a request began, and that goes on

        assert "mine" not in logs.Lines().format(record("x"))
    finally:
        tracing._current.reset(token)


@pytest.mark.parametrize("sent", ["00-" + 32 * "0" + "-00f067aa0ba902b7-01", PARENT.upper(), "ff" + PARENT[2:], "x"])
def test_a_trace_that_is_none_is_not_taken(sent: str) -> None:
    assert tracing.Trace([(b"traceparent", sent.encode())]).parent is None


def test_the_process_writes_lines_of_json(tmp_path: Path) -> None:
    process, address = started(tmp_path, "--log-format", "json", "--access-log")
    httpx.get(f"{address}/healthz", headers={"X-Request-Id": "mine"}, trust_env=False, timeout=HANG_S)
    process.terminate()
    _, errors = process.communicate(timeout=HANG_S)

    (line,) = map(json.loads, errors.splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert (line["logger"], line["path"], line["status"], line["request_id"]) == (
        "tocsin.access",
        "/healthz",
        200,
        "mine",
    )


def test_lines_of_text_have_times() -> None:
    program = (
        "from tocsin.service import logs; logs.configure('text', access=False)\n"
        "import logging; logging.getLogger('tocsin.service').warning('x\\ny')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\S+Z WARNING tocsin\.service: x\\ny\n", done.stderr)


def test_warnings_are_lines_of_json_too() -> None:
    program = (
        "from tocsin.service import logs; logs.configure('json', access=False)\n"
        "import warnings; warnings.warn('the disk is slow')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (line,) = map(json.loads, done.stderr.splitlines())
    assert line["level"] == "warning" and "the disk is slow" in line["message"]


def test_what_is_made_says_where_it_is(server: Served) -> None:
    server.destination()
    put = server.client.put
    for path, body in (
        ("/v1/subscriptions/a%2Fb%20%C3%A9", {"where": "n = 1"}),
        ("/v1/destinations/e", {"kind": "stream"}),
        ("/v1/fences/f", {"key": "v"}),
        ("/v1/windows/w", {"size": 9, "bounds": [0, 0, 9, 9]}),
        ("/v1/windows/w/subscriptions/s", {"words": ["a"], "location": [1, 1]}),
    ):
        answer = put(path, json=body)
        assert (answer.status_code, answer.headers["location"]) == (201, path)
        assert server.client.get(answer.headers["location"]).status_code == 200
        assert "location" not in put(path, json=body).headers


def test_what_a_client_has_is_not_sent_again(server: Served) -> None:
    server.subscribe("s", "n = 1")
    before = server.client.get("/v1/subscriptions/s").headers["etag"]
    for path in ("/v1/subscriptions/s", "/openapi.json"):
        first = server.client.get(path)
        tag = first.headers["etag"]
        for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            again = server.client.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert server.client.get(path, headers={"If-None-Match": '"x"'}).json() == first.json()
    server.subscribe("s", "n = 2")

    stale = server.client.get("/v1/subscriptions/s", headers={"If-None-Match": before})
    assert stale.status_code == 200 and stale.json()["where"] == "n = 2"
