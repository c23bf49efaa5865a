"""Bodies in memory: those of all requests together have a limit, and what is beyond it waits, or comes later."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.served import Served, served
from tests.waiting import HANG_S, awaited
from tocsin.service import bodies
from tocsin.service.bodies import Holding, Room
from tocsin.service.limits import Limits
from tocsin.service.problems import Problem

MB = 1 << 20


def announced(server: Served, length: bytes, sent: bytes) -> socket.socket:
    """A connection whose request has a body that is not sent whole."""
    url = urlsplit(str(server.client.base_url))
    one = socket.create_connection((url.hostname, url.port), timeout=HANG_S)
    head = b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    one.sendall(head + length + b"\r\n\r\n" + sent)
    return one


def test_bodies_that_do_not_come_whole_take_no_more_than_their_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that has no room is refused before it is read, and small requests are served all the time."""
    monkeypatch.setattr(bodies, "_PATIENCE_S", 0.2)
    with served(tmp_path, Limits(bodies_bytes=4 * MB)) as server, ExitStack() as stack:
        room = server.service.room
        for _ in range(3):
            stack.enter_context(announced(server, b"Content-Length: 1048576", b'{"a":"'))
        awaited(lambda: room._held == 3 * MB)
        stack.enter_context(announced(server, b"Transfer-Encoding: chunked", b"12000\r\n" + b" " * 0x12000))
        awaited(lambda: room._held == 4 * MB)
        refused = [stack.enter_context(announced(server, b"Content-Length: 1048576", b"")) for _ in range(20)]
        answers = [one.recv(65536) for one in refused]
        assert all(answer.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in answer.lower() for answer in answers)
        assert room._held == 4 * MB
        assert server.publish({"n": 1}).status_code == 202
        stack.close()
        awaited(lambda: room._held == 0 and server.server.tenants.room._held == 0)
        assert server.publish({"n": "x" * MB}).status_code == 202


def test_a_body_waits_for_those_before_it(tmp_path: Path) -> None:
    with served(tmp_path, Limits(bodies_bytes=MB)) as server:
        first = announced(server, b"Content-Length: 1048576", b"")
        awaited(lambda: server.service.room._held == MB)
        second = announced(server, b"Content-Length: 100000", b'"' + b"x" * 99_998 + b'"')
        awaited(lambda: len(server.service.room._waiting) == 1)
        first.sendall(b'"' + b"x" * (MB - 2) + b'"')

        assert first.recv(65536).startswith(b"HTTP/1.1 400")  # it is no object
        assert second.recv(65536).startswith(b"HTTP/1.1 400")
        first.close()
        second.close()


@given(sizes=st.lists(st.integers(1, 12), max_size=12), most=st.integers(1, 10), chances=st.data())
def test_room_is_given_in_order_and_all_of_it_comes_back(sizes: list[int], most: int, chances: st.DataObject) -> None:
    """Whoever leaves, in whichever way, nothing is lost; more than the room is held by one body that is alone."""

    async def play() -> None:
        room, outer = Room(most), Room(2 * most)
        holdings = [Holding((room, outer)) for _ in sizes]
        tasks = [asyncio.create_task(one.take(size)) for one, size in zip(holdings, sizes, strict=True)]
        left = set(range(len(sizes)))
        while left:
            await asyncio.sleep(0)
            held = [size for size, one in zip(sizes, holdings, strict=True) if one._taken[0]]
            assert sum(held) <= room._held and (room._held <= most or room._held in sizes)
            number = chances.draw(st.sampled_from(sorted(left)))
            left.discard(number)
            tasks[number].cancel()
            await asyncio.gather(tasks[number], return_exceptions=True)
            holdings[number].release()
        assert (room._held, outer._held, len(room._waiting), len(outer._waiting)) == (0, 0, 0, 0)

    asyncio.run(play())


def test_who_gets_no_room_in_time_leaves_it_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_PATIENCE_S", 0.01)

    async def play() -> None:
        room = Room(10)
        await room.take(9)
        large = asyncio.create_task(room.take(10))
        await asyncio.sleep(0)
        small = asyncio.create_task(room.take(1))
        with pytest.raises(Problem):
            await large
        await small
        assert room._held == 10

    asyncio.run(play())
