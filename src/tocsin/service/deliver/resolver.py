"""Look-ups of names, of which those that hang delay neither the others nor the end of the process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, Protocol

from tocsin.service.deliver.addresses import refusal

_QUICK: Final = 16
_SLOW: Final = 112
_SLOW_S: Final = 1.0
"""A look-up that takes longer is slow."""
_MOST_SLOW_NAMES: Final = 10_000
CONNECT_S: Final = 5.0
"""The most time until an address is connected to."""
_MOST_TRIED: Final = 3
"""Addresses of a name that are tried."""
Lookup = Callable[..., Sequence[Any]]
Name = tuple[str, int]
_Call = tuple[Name, "asyncio.Future[Sequence[Any]]", asyncio.AbstractEventLoop]


class Unreachable(Exception):
    """No answer came; the reason is the message."""


class Place(Protocol):
    """A host and a port, as of a URL."""

    @property
    def host(self) -> str:
        """A name, or an address."""

    @property
    def port(self) -> int:
        """The port."""

    @property
    def is_address(self) -> bool:
        """Whether the host is an address."""


class Resolver:
    """Looks names up, on threads of its own. All who ask for a name at the same time wait for one look-up.

    A look-up begins in one of the `quick` places. If it takes longer than `slow_s`, it moves to one of the `slow`
    places, and the next look-up of its name begins there. So names that hang leave the quick places to the others.
    """

    def __init__(
        self, lookup: Lookup = socket.getaddrinfo, quick: int = _QUICK, slow: int = _SLOW, slow_s: float = _SLOW_S
    ) -> None:
        self.lookup, self._slow_s = lookup, slow_s
        self._quick, self._slow = asyncio.Semaphore(quick), asyncio.Semaphore(slow)
        self._slow_names: dict[Name, None] = {}  # in the order in which they were slow last
        self._under_way: dict[Name, asyncio.Task[Sequence[Any]]] = {}
        self._calls = SimpleQueue[_Call | None]()
        self._threads = self._idle = 0

    async def addresses(self, place: Place) -> list[str]:
        """The addresses of a host; raises `Unreachable`."""
        if place.is_address:
            return [place.host]
        name = (place.host, place.port)
        if (task := self._under_way.get(name)) is None:
            task = self._under_way[name] = asyncio.create_task(self._look_up(name))
            task.add_done_callback(lambda done: self._ended(name, done))
        try:
            answers = await asyncio.shield(task)
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"the name {place.host} has no address ({error})") from None
        addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
        if not addresses:
            raise Unreachable(f"the name {place.host} has no address")
        return addresses

    async def permitted(self, place: Place, *, allow_private: bool) -> list[str]:
        """The addresses of a host, all of which may be reached; raises `Unreachable`.

        Connect to one of these, and not to the name: a second look-up could lead elsewhere (DNS rebinding).
        """
        addresses = await self.addresses(place)
        for address in addresses:
            if reason := refusal(address, allow_private=allow_private):
                raise Unreachable(f"the name {place.host} leads to {reason}")
        return addresses

    async def connected(self, place: Place, *, allow_private: bool) -> socket.socket:
        """A socket that is connected to one of the permitted addresses of a host; raises `Unreachable`."""
        failure = ""
        for address in (await self.permitted(place, allow_private=allow_private))[:_MOST_TRIED]:
            opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            opened.setblocking(False)
            try:
                async with asyncio.timeout(CONNECT_S):
                    await asyncio.get_running_loop().sock_connect(opened, (address, place.port))
            except OSError as error:  # TimeoutError is one
                opened.close()
                failure = f"{address} cannot be connected to ({error or type(error).__name__})"
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise Unreachable(failure)

    def _ended(self, name: Name, done: asyncio.Task[Sequence[Any]]) -> None:
        self._under_way.pop(name, None)
        if not done.cancelled():
            done.exception()  # it was looked at, also if everybody gave up meanwhile

    async def _look_up(self, name: Name) -> Sequence[Any]:
        """The answer of the name server, whose look-up has a place until it ends."""
        places = self._slow if name in self._slow_names else self._quick
        await places.acquire()
        try:
            answer = self._begin(name)
            is_quick = bool((await asyncio.wait((answer,), timeout=self._slow_s))[0])
            self._slow_names.pop(name, None)
            if not is_quick:
                self._slow_names[name] = None
                if len(self._slow_names) > _MOST_SLOW_NAMES:
                    del self._slow_names[next(iter(self._slow_names))]
                if places is self._quick and await self._has_moved(answer):
                    places = self._slow
            return await answer
        finally:
            places.release()

    async def _has_moved(self, answer: asyncio.Future[Sequence[Any]]) -> bool:
        """Give a quick place back as soon as there is a slow one; False if the answer comes first."""
        moving = asyncio.create_task(self._slow.acquire())
        try:
            await asyncio.wait((moving, answer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if has_moved := moving.done():
                self._quick.release()
            else:
                moving.cancel()
        return has_moved

    def _begin(self, name: Name) -> asyncio.Future[Sequence[Any]]:
        """Look a name up on a thread that is idle, or on a new one."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[Any]] = loop.create_future()
        if self._idle:
            self._idle -= 1
        else:
            self._threads += 1
            # The end of the process does not wait for a daemon, as it does for threads of an executor.
            threading.Thread(target=self._run, name="tocsin-resolve", daemon=True).start()
        self._calls.put((name, answer, loop))
        return answer

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            name, answer, loop = call
            result: Sequence[Any] = ()
            error: Exception | None = None
            try:
                result = self.lookup(*name, type=socket.SOCK_STREAM)
            except Exception as raised:  # who asked gets it  # noqa: BLE001
                error = raised
            with suppress(RuntimeError):  # the loop is closed: nobody asks any more
                loop.call_soon_threadsafe(self._answered, answer, result, error)

    def _answered(self, answer: asyncio.Future[Sequence[Any]], result: Sequence[Any], error: Exception | None) -> None:
        self._idle += 1
        if answer.done():  # it was cancelled
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    def close(self) -> None:
        """Let the threads end; nobody waits for a name server that does not answer."""
        for task in self._under_way.values():
            task.cancel()
        for _ in range(self._threads):
            self._calls.put(None)
