"""What comes from the network trusts nobody: no input gives a 5xx, or reaches what it must not."""

from __future__ import annotations

import io
import json
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service.served import Served, served
from tests.waiting import HANG_S
from tocsin.service import bodies, protocol, soundness
from tocsin.service.app import CALLS

HEAD = b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("alerts")) as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d")
        yield server


def raw(server: Served, request: bytes, seconds: float = 5) -> bytes:
    """The beginning of the answer to bytes."""
    url = urlsplit(str(server.client.base_url))
    with socket.create_connection((url.hostname, url.port), seconds) as one:
        one.sendall(request)
        return one.recv(65536)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8470"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "127.0.0.1@evil.example"}, 421),
        ({"Host": "[::1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_other_hosts_and_origins_are_refused(shared: Served, headers: dict[str, str], status: int) -> None:
    assert shared.client.get("/readyz", headers=headers).status_code == status


def test_a_request_without_a_host_is_refused(shared: Served) -> None:
    assert (
        b" 400 " in raw(shared, b"GET /readyz HTTP/1.1\r\n\r\n")[:20]
        or b" 421 " in raw(shared, b"GET /readyz HTTP/1.0\r\n\r\n")[:20]
    )


@pytest.mark.parametrize("path", ["%00", "%ff", "%ED%A0%80", "x" * 257, "a%0Ab", "%C2%85"])
def test_ids_that_are_none(shared: Served, path: str) -> None:
    for place in (f"/v1/subscriptions/{path}", f"/v1/destinations/{path}"):
        answer = shared.client.put(place, json={"where": "a = 1"} if "sub" in place else {"kind": "stream"})
        assert answer.status_code in (400, 422), answer.text


DEEP = "[" * 100_000 + "]" * 100_000
BODIES = [
    b"",
    b"\xff",
    b"{",
    b"null",
    b'{"n": NaN}',
    b'{"n": 1, "n": 2}',
    b'{"n": "\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"n": ' + b"9" * 5000 + b"}",
    b'{"n": 1e999}',
    b'{"n": "\\u0000"}',
    f'{{"n": {DEEP}}}'.encode(),
    b'{"n": ' + b'{"a":' * 70 + b"1" + b"}" * 71,
    b'{"n": [' + b"[]," * 100_000 + b"[]]}",
    b'{"": 1}',
    b'{"n": -0.0, "m": 123456789012345678901234567890}',
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:24]))
def test_odd_bodies_have_an_answer(shared: Served, body: bytes) -> None:
    for method, path in (
        ("POST", "/v1/events"),
        ("POST", "/v1/match"),
        ("PUT", "/v1/subscriptions/x"),
        ("PUT", "/v1/destinations/x"),
        ("POST", "/v1/destinations/d/ack"),
    ):
        for kind in ("json", "x-ndjson", "cloudevents+json", "cloudevents-batch+json"):
            headers = {"Content-Type": f"application/{kind}"}
            answer = shared.client.request(method, path, content=body, headers=headers)
            assert answer.status_code < 500, (path, kind, answer.text)
            json.loads(answer.text.splitlines()[0] if kind == "x-ndjson" and answer.text else answer.text or "0")
    for one in shared.pulled(limit=1000):  # whatever was published can be read
        json.dumps(one)


def test_what_is_nested_too_deep_is_refused(shared: Served) -> None:
    for depth, status in ((soundness.MOST_DEPTH, 202), (soundness.MOST_DEPTH + 1, 400)):
        body = b'{"n": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
        headers = {"Content-Type": "application/json"}
        assert shared.client.post("/v1/events", content=body, headers=headers).status_code == status


def test_compressed_bodies_are_refused(shared: Served) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    assert shared.client.post("/v1/events", content=b"x", headers=headers).status_code == 415


def test_a_body_that_is_announced_too_large_is_refused_at_once(shared: Served) -> None:
    assert b" 413 " in raw(shared, HEAD + b"Content-Length: 99999999999\r\n\r\n")[:20]


def test_a_slow_body_is_given_up(shared: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_BODY_S", 0.3)
    begun = time.monotonic()

    assert b" 408 " in raw(shared, HEAD + b"Content-Length: 10\r\n\r\n{")[:20]
    assert time.monotonic() - begun < 30  # what is waited without the change above


def test_a_slow_head_is_given_up(shared: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_HEAD_S", 0.3)
    for head in (b"", b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he"):
        url = urlsplit(str(shared.client.base_url))
        with socket.create_connection((url.hostname, url.port), HANG_S) as one:
            one.sendall(head)
            begun, came = time.monotonic(), b""
            while part := one.recv(65536):
                came += part
            assert time.monotonic() - begun < 10  # what is waited without the change above
            assert came.count(b"200 OK") == (1 if b"GET /he" in head[20:] else 0)


def test_a_long_head_is_refused(shared: Served) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000
    try:
        answer = raw(shared, head)
    except ConnectionError:
        answer = b""

    assert answer == b""
    assert shared.client.get("/healthz").status_code == 200


def stream_of(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_arrow_streams_that_grow_are_refused(shared: Served) -> None:
    zeros = pa.table({"n": pa.array([0] * 1_000_000)})
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int8()), ["x" * 1_000_000])
    big = {
        "compressed": stream_of(zeros, compression="zstd"),
        "a dictionary": stream_of(pa.table({"n": words})),
        "a compressed dictionary": stream_of(pa.table({"n": words}), compression="lz4"),
        "nulls": stream_of(pa.table({"n": pa.nulls(5_000_000)})),
        "nested nulls": stream_of(pa.table({"n": pa.array([[None]], pa.list_(pa.null()))})),
        "views": stream_of(pa.table({"n": pa.array(["x"], pa.string_view())})),
    }
    for what, body in big.items():
        for path in ("/v1/events", "/v1/match", "/v1/subscriptions"):
            answer = shared.client.post(path, content=body, headers=ARROW)
            assert answer.status_code in (413, 415), (what, path, answer.text)


@settings(max_examples=60)
@given(st.data())
def test_damaged_arrow_streams_have_an_answer(shared: Served, data: st.DataObject) -> None:
    table = pa.table({"n": [1, 2], "s": ["a", None], "l": [[1], []], "d": pa.array(["x", "y"]).dictionary_encode()})
    body = bytearray(stream_of(table))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 5))
        kind = data.draw(st.sampled_from(("byte", "number", "cut")))
        if kind == "byte":
            body[at] = data.draw(st.integers(0, 255))
        elif kind == "number":
            body[at : at + 4] = struct.pack("<i", data.draw(st.sampled_from((-1, 2**31 - 1, 2**30, 0, -(2**31)))))
        else:
            del body[at + 1 :]
        if len(body) < 6:
            break
    for path in ("/v1/events", "/v1/match"):
        assert shared.client.post(path, content=bytes(body), headers=ARROW).status_code < 500


_WORDS = st.one_of(
    st.sampled_from(["d", "s", "%00", "%2F", "..", "%ff", "-1", "1", "9" * 30, "true", "latest", "*", '"1"', "0.1-1"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12),
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.sampled_from(
    ["where", "score", "payload", "destination", "kind", "sequence", "id", "language", "throttle_s", "expires_at"]
)
_BODIES = st.one_of(
    st.binary(max_size=40), st.dictionaries(_FIELDS, _VALUES, max_size=4).map(lambda one: json.dumps(one).encode())
)


@settings(max_examples=150)
@given(st.data())
def test_no_request_gives_a_5xx(shared: Served, data: st.DataObject) -> None:
    call = data.draw(st.sampled_from([one for one in CALLS if not one.path.endswith("stream")]))
    path = call.path
    for name in ("id", "sequence"):
        if f"{{{name}}}" in path:
            word = data.draw(_WORDS)
            path = path.replace(
                f"{{{name}}}", "".join(c if c in "%.-_~" or c.isalnum() else f"%{ord(c) % 256:02x}" for c in word)
            )
    options = data.draw(
        st.dictionaries(st.sampled_from([one.name for one in call.options] or ["x"]), _WORDS, max_size=2)
    )
    options = {name: value for name, value in options.items() if name != "wait"}
    query = {name: value for name, value in options.items() if name[0].islower()}
    headers = {name: value.encode() for name, value in options.items() if not name[0].islower()}
    kind = data.draw(st.sampled_from([*bodies.MEDIA_TYPES, "text/plain", ""]))
    body = data.draw(_BODIES)
    try:
        request = shared.client.build_request(
            call.method, path, params=query, content=body, headers={"Content-Type": kind, **headers}
        )
        answer = shared.client.send(request)
    except Exception as error:
        if type(error).__module__.startswith(("httpx", "h11", "httpcore")):
            return  # the client does not send it
        raise

    assert answer.status_code < 500 or call.path == "/readyz", answer.text
