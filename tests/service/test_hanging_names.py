"""Names whose name server does not answer delay neither other names nor the end of the process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.waiting import HANG_S
from tocsin.service.deliver.resolver import Resolver, Unreachable
from tocsin.service.deliver.webhook.urls import parsed_url

ADDRESS = [(2, 1, 6, "", ("93.184.216.34", 0))]
GOOD = parsed_url("http://good.example/")


class NameServer:
    """Answers at once, except for names that hang until it is `released`."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.names: list[str] = []

    def __call__(self, host: str, port: int, **options: Any) -> Sequence[Any]:
        self.names.append(host)
        if host.startswith("hangs"):
            assert self.released.wait(HANG_S)
        return ADDRESS


@asynccontextmanager
async def hanging(resolver: Resolver, count: int) -> AsyncIterator[list[asyncio.Task[list[str]]]]:
    """Ask for names that hang, in tasks that end with the block."""
    urls = [parsed_url(f"http://hangs{number}.example/") for number in range(count)]
    tasks = [asyncio.create_task(resolver.addresses(url)) for url in urls]
    await asyncio.sleep(0)
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_names_that_hang_do_not_delay_those_that_resolve() -> None:
    server = NameServer()

    async def ask() -> None:
        resolver = Resolver(server, quick=2, slow=20, slow_s=0.01)
        async with hanging(resolver, 20):
            for _ in range(3):
                assert await asyncio.wait_for(resolver.addresses(GOOD), HANG_S) == ["93.184.216.34"]
        server.released.set()
        resolver.close()

    asyncio.run(ask())


def test_a_name_that_hung_once_gives_way_from_then_on() -> None:
    """Also if more names hang than there are places for them."""
    server = NameServer()

    async def ask() -> None:
        resolver = Resolver(server, quick=2, slow=2, slow_s=0.01)
        async with hanging(resolver, 10) as tasks:
            while len(resolver._slow_names) < 4:
                await asyncio.sleep(0.01)
            server.released.set()
            await asyncio.gather(*tasks)
        server.released.clear()
        names = list(resolver._slow_names)
        waiting = [asyncio.create_task(resolver.addresses(parsed_url(f"http://{host}/"))) for host, _ in names]
        for _ in range(3):
            assert await asyncio.wait_for(resolver.addresses(GOOD), HANG_S) == ["93.184.216.34"]
        assert not any(task.done() for task in waiting)
        server.released.set()
        assert await asyncio.gather(*waiting) == [["93.184.216.34"]] * len(names)
        assert len(names) >= 4
        resolver.close()

    asyncio.run(ask())


def test_all_who_ask_for_a_name_share_a_look_up_and_threads_are_used_again() -> None:
    server = NameServer()

    async def ask() -> None:
        resolver = Resolver(server)
        assert await asyncio.gather(*(resolver.addresses(GOOD) for _ in range(9))) == [["93.184.216.34"]] * 9
        assert server.names == ["good.example"]
        for _ in range(9):
            await resolver.addresses(GOOD)
        assert resolver._threads == 1
        resolver.close()

    asyncio.run(ask())


def test_a_failure_is_told_to_all_and_not_remembered() -> None:
    errors: list[Exception] = [OSError("Temporary failure"), UnicodeError("label too long")]

    def lookup(host: str, port: int, **options: Any) -> Sequence[Any]:
        if errors:
            raise errors.pop()
        return ADDRESS

    async def ask() -> None:
        resolver = Resolver(lookup)
        for reason in ("label too long", "Temporary failure"):
            with pytest.raises(Unreachable, match=reason):
                await resolver.addresses(GOOD)
        assert await resolver.addresses(GOOD) == ["93.184.216.34"]
        resolver.close()

    asyncio.run(ask())


def test_a_process_ends_while_look_ups_hang() -> None:
    program = """
import asyncio, threading, time
from tocsin.service.deliver.resolver import Resolver
from tocsin.service.deliver.webhook.urls import parsed_url

begun = threading.Semaphore(0)

def hang(*_, **__):
    begun.release()
    time.sleep(3600)

async def ask():
    resolver = Resolver(hang)
    tasks = [asyncio.create_task(resolver.addresses(parsed_url(f"http://h{n}.example/"))) for n in range(40)]
    for _ in range(10):
        await asyncio.to_thread(begun.acquire)
    resolver.close()
    await asyncio.gather(*tasks, return_exceptions=True)
    print("ended")

asyncio.run(ask())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_S, check=False)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
