"""The tenants of a server: each has a service of its own, over a durable engine in a folder of its own.

    FOLDER/                  the default tenant, whose name is empty
    FOLDER/tenants/NAME/     every other one

Tenants are opened when the server starts, one after the other, because their destinations have work. One that is new is
opened by its first request. They stay open. Nothing below this module knows of tenants.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.engine import Engine
from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.durable.transactions import Transactions
from tocsin.errors import StoreError, TocsinError
from tocsin.service.access.tokens import other_tenants, tenant_folder
from tocsin.service.bodies import MOST_AT_ONCE, Room
from tocsin.service.clock import Clock, stored_mark
from tocsin.service.deliver.encryption import Keys
from tocsin.service.limits import Limits, LiveLimits, TenantLimits
from tocsin.service.problems import Problem, disk_full, is_full
from tocsin.service.reserve import Reserve
from tocsin.service.retention import keep
from tocsin.service.service import Service
from tocsin.store import is_damage

_RESERVE_S: Final = 0.5
_LOG: Final = logging.getLogger("tocsin.service")
_LIMITS_S: Final = 1.0
"""How often to look whether limits changed."""


class _Open(NamedTuple):
    service: Service
    keeping: asyncio.Task[None]


class Tenants:
    """The services of all tenants. Made in the event loop that serves them.

    `engine` is that of the default tenant, or says why the tenant is left out.
    """

    def __init__(
        self,
        folder: Path,
        engine: DurableEngine | StoreError,
        limits: TenantLimits | LiveLimits,
        sync: str = "full",
        keys: Keys = Keys(),  # noqa: B008
    ) -> None:
        self.live_limits = limits if isinstance(limits, LiveLimits) else None  # of a file
        self._limits = limits.newest() if isinstance(limits, LiveLimits) else limits
        self._folder, self._sync, self._keys = folder, sync, keys
        self._engine = engine if isinstance(engine, DurableEngine) else None
        self._open: dict[str, _Open] = {}
        self._opening: dict[str, asyncio.Task[Service]] = {}
        self.left_out: dict[str, str] = {}  # why tenants could not be opened
        self._is_stopping = False
        self.room, self.answer_room = Room(MOST_AT_ONCE), Room(MOST_AT_ONCE, of_answers=True)
        self.reserve = Reserve(folder)
        self.reserve.look()
        self._turn = asyncio.Lock()  # held while a store is checked
        self.clock = Clock()
        try:
            if not isinstance(engine, DurableEngine):
                raise engine
            self.clock.resume(Transactions(engine).read(stored_mark))
            self._keep("", Service(engine, self._limits.of(""), sync=sync, clock=self.clock, keys=keys))
        except StoreError as error:
            if self._engine is not None and not (is_damage(error) and other_tenants(folder)):
                raise
            self._leave_out("", error)

    @property
    def default(self) -> Service:
        """The service of the default tenant; raises a `Problem` if it is left out."""
        service = self.get("")
        if service is None:
            raise _left_out()
        return service

    def limits_of(self, tenant: str) -> Limits:
        """The limits of a tenant, which may be left out."""
        return self._limits.of(tenant)

    def __iter__(self) -> Iterator[tuple[str, Service]]:
        """The tenants that are open, by name."""
        return iter([(name, one.service) for name, one in self._open.items()])

    def get(self, tenant: str) -> Service | None:
        """The service of a tenant that is open."""
        known = self._open.get(tenant)
        return None if known is None else known.service

    async def opened(self, tenant: str) -> Service:
        """The service of a tenant, which is opened, and made if there is none."""
        known = self.get(tenant)
        if known is not None:
            return known
        if self._is_stopping:
            raise Problem(503, "stopping", "the server is stopping", headers={"Retry-After": "1"})
        task = self._opening.get(tenant)
        if task is None:  # who comes meanwhile waits for the same
            task = self._opening[tenant] = asyncio.create_task(self._begin(tenant))
            task.add_done_callback(lambda _: self._opening.pop(tenant, None))
        return await asyncio.shield(task)

    async def resume(self) -> None:
        """Open all tenants that there are. One that cannot be opened is logged, and tried again by its requests."""
        for name in await asyncio.to_thread(other_tenants, self._folder):
            with suppress(Problem):
                await self.opened(name)

    async def _begin(self, tenant: str) -> Service:
        """Open a tenant on a thread, so that the others do not wait."""
        loop, limits = asyncio.get_running_loop(), self._limits.of(tenant)
        folder = tenant_folder(self._folder, tenant)

        def begun() -> Service:
            given = None if tenant else self._engine
            engine = Engine.open(folder, sync=self._sync) if given is None else given
            try:
                return Service(engine, limits, loop, self._sync, self.clock, self._keys)
            except BaseException:
                if given is None:
                    engine.close()
                raise

        try:
            service = await asyncio.to_thread(begun)
            service.limit(self._limits.of(tenant))  # which may have changed meanwhile
            return self._keep(tenant, service)
        except Exception as error:  # whatever is stored, the other tenants are served
            self._leave_out(tenant, error)
            if is_full(error):
                raise disk_full() from error
            raise _left_out() from error

    def _leave_out(self, tenant: str, error: Exception) -> None:
        known = isinstance(error, TocsinError | OSError | MemoryError)
        self.left_out[tenant] = str(error) or type(error).__name__
        who = f"the tenant {tenant}" if tenant else "the default tenant"
        _LOG.error("%s is left out: %s", who, self.left_out[tenant], exc_info=None if known else error)

    def _keep(self, tenant: str, service: Service) -> Service:
        self.left_out.pop(tenant, None)
        service.quotas.look_at_disk(is_full=self.reserve.is_spent)
        self._open[tenant] = _Open(service, asyncio.create_task(keep(service, self._turn)))
        return service

    async def follow_limits(self) -> None:
        """Look each second whether the file of the limits changed."""
        while self.live_limits is not None:
            limits = await asyncio.to_thread(self.live_limits.newest)
            if limits != self._limits:
                self.limit(limits)
                _LOG.warning("the limits of tenants changed, and hold from now on")
            await asyncio.sleep(_LIMITS_S)

    def limit(self, limits: TenantLimits) -> None:
        """Use other limits from now on."""
        self._limits = limits
        for name, service in self:
            service.limit(limits.of(name))

    async def keep_reserve(self) -> None:
        """Spend the reserve when the disk is full, and let nobody but retention use it, until it is there again."""
        while True:
            await asyncio.sleep(_RESERVE_S)
            await asyncio.to_thread(self.reserve.look)
            for _, service in self:
                service.quotas.look_at_disk(is_full=self.reserve.is_spent or service.is_disk_full())

    def troubled(self) -> list[str]:
        """The names of the tenants, besides the default one, that take no changes or could not be opened."""
        waiting = {name for name, service in self if service.readiness.reason()}
        return sorted((waiting | self.left_out.keys()) - {""})

    def stop(self) -> None:
        """Wake all streams, to end."""
        self._is_stopping = True
        for _, service in self:
            service.hub.stop()

    async def close(self) -> None:
        """Publish what waits, and end all threads. The engine that was given stays open."""
        self.stop()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        self.stop()  # those that were being opened, too
        keeping = [one.keeping for one in self._open.values()]
        for task in keeping:
            task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)
        await asyncio.gather(*(asyncio.to_thread(self._end, one.service) for one in self._open.values()))

    def _end(self, service: Service) -> None:
        service.close()
        if service.engine is not self._engine:
            service.engine.close()


def _left_out() -> Problem:
    detail = "the tenant cannot be opened, and is tried again; the log of the server has the reason"
    return Problem(503, "store", detail, headers={"Retry-After": "10"})
