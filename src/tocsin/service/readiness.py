"""Whether a service takes changes: its committing thread, its last change, SQLite's log, and checks of its stores.

A check is SQLite's `quick_check`, on a thread and a connection of its own. It takes at most a fiftieth of the time, and
those of all tenants together at most a tenth.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import GaugeMetricFamily, Metric

from tocsin.service.problems import is_full, printable
from tocsin.service.times import time_text
from tocsin.store import ALARMING_LOG, Check, Checking, Progress, is_damage

if TYPE_CHECKING:
    from tocsin.service.service import Service

_LOG: Final = logging.getLogger("tocsin.service")
STUCK_S: Final = 30.0
"""A committing thread that is at the same work for longer, while changes wait, is stuck."""
_FIRST_S: Final = 5.0
_LEAST_BETWEEN_S: Final = 600.0
_SHARE: Final = 50
"""The time between two checks of a store, in times of what the first one took."""
_REST: Final = 10
"""The time before the next check of any store, in times of what the last one took."""
_LOOK_S: Final = 0.2
_LOG_S: Final = 1.0
_MOST_LOG: Final = ALARMING_LOG // 4
"""A check reads one state of the store, so that the log grows meanwhile. At this size the check ends."""
_MOST_FINDING: Final = 200


class Readiness:
    """Why a service takes no changes, if it does not. Its tests change `stuck_s`, `first_s` and `between_s`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.stuck_s, self.first_s, self.between_s = STUCK_S, _FIRST_S, _LEAST_BETWEEN_S
        self.checks: dict[str | None, tuple[Check, int]] = {}  # by window, None for the service's own, with their times
        self._suspected = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # What it says

    def reason(self) -> str | None:
        """Why no changes are taken; None if they are."""
        service = self._service
        if service.hub.is_stopping:
            return "the server is stopping"
        if service.engine.log_bytes > ALARMING_LOG:
            return "SQLite's log is not folded, and grows: a reader holds it"
        if reason := self._why_idle(service.transactions.progress()):
            return reason
        if service.quotas.is_disk_full:
            return "the disk is full"
        check, time = self.checks.get(None, (None, 0))
        if check is not None and check.damage:
            return f"SQLite's check found the store damaged at {time_text(time)}; `tocsin doctor` examines it"
        return None

    def _why_idle(self, progress: Progress) -> str | None:
        """Why a committing thread makes no changes."""
        if not progress.is_alive:
            return "the thread that writes changes has ended; the log has the reason"
        if progress.waited_s > self.stuck_s:
            return f"the thread that writes changes has been at the same one for {progress.waited_s:.0f} s"
        if progress.error is None:
            return None
        if is_full(progress.error):
            return "the disk is full"
        ago = f"the store has taken no change for {progress.failed_s:.0f} s"
        return f"{ago}: the last one failed, and the log has the reason"

    def troubled_windows(self) -> dict[str, str]:
        """Why windows take no messages, by name. The rest of the service takes changes nevertheless."""
        windows = self._service.windows
        troubled = dict.fromkeys(windows.names(), "the window could not be opened")
        for window in windows:
            check, time = self.checks.get(window.name, (None, 0))
            reason = self._why_idle(window.progress())
            if reason is None and check is not None and check.damage:
                reason = f"SQLite's check found its store damaged at {time_text(time)}"
            troubled.pop(window.name, None)
            if reason is not None:
                troubled[window.name] = reason
        return troubled

    def document(self) -> dict[str, Any]:
        """The last check of the service's own store; empty before the first one."""
        if None not in self.checks:
            return {}
        check, time = self.checks[None]
        document = {"result": check.result, "time": time_text(time), "seconds": round(check.seconds, 3)}
        if reason := check.damage or check.failure:
            document["reason"] = printable(reason, _MOST_FINDING)
        return {"check": document}

    def collect(self) -> Iterator[Metric]:
        """The metrics, for Prometheus."""
        progress = self._service.transactions.progress()
        about = "For how long the thread that writes changes has been at the same work while others wait"
        yield GaugeMetricFamily("tocsin_commit_waiting_seconds", about, progress.waited_s)
        about = "For how long the store has refused all changes"
        yield GaugeMetricFamily("tocsin_commit_failing_seconds", about, progress.failed_s)
        about = "1 if SQLite found no damage in the last check of a store, 0 if it did"
        sound = GaugeMetricFamily("tocsin_store_sound", about, labels=["window"])
        about = "When a store was checked last, in seconds since 1970"
        made = GaugeMetricFamily("tocsin_store_checked_timestamp_seconds", about, labels=["window"])
        for name, (check, time) in list(self.checks.items()):
            if check.failure is None:
                sound.add_metric([name or ""], int(check.damage is None))
                made.add_metric([name or ""], time / 1000)
        yield sound
        yield made
        ready = GaugeMetricFamily("tocsin_window_ready", "1 if a window takes messages", labels=["window"])
        troubled = self.troubled_windows()
        for name in self._service.windows.names():
            ready.add_metric([name], int(name not in troubled))
        yield ready

    # Checks and the log

    def suspect(self, error: BaseException) -> None:
        """Check the stores soon if an error speaks of damage. Any thread may call it."""
        if self._loop is not None and is_damage(error):
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._suspected.set)

    @asynccontextmanager
    async def watching(self, turn: asyncio.Lock) -> AsyncIterator[None]:
        """Check the stores now and then, and log what changes, until the end of the block.

        `turn` is held during a check.
        """
        self._loop = asyncio.get_running_loop()
        tasks = [asyncio.create_task(one) for one in (self._check_at_times(turn), self._log_changes())]
        try:
            yield
        finally:
            self._loop = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _log_changes(self) -> None:
        """Log who takes no changes any more, and who takes them again."""
        before: dict[str | None, str] = {}
        while True:
            await asyncio.sleep(_LOG_S)
            if self._service.hub.is_stopping:
                return
            now: dict[str | None, str] = {}
            now.update(self.troubled_windows().items())
            if reason := self.reason():
                now[None] = reason
            for name in now.keys() - before.keys():
                _LOG.error("%s takes no changes: %s", self._name(name), now[name])
            for name in before.keys() - now.keys():
                _LOG.warning("%s takes changes again", self._name(name))
            before = now

    def _name(self, window: str | None) -> str:
        folder = self._service.engine.folder
        return f"the store in {folder}" if window is None else f"the window {window} in {folder}"

    async def _check_at_times(self, turn: asyncio.Lock) -> None:
        pause_s = self.first_s
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._suspected.wait(), pause_s)
            self._suspected.clear()
            took_s = 0.0
            for name, folder in self._stores().items():
                async with turn:
                    check = await self._checked(folder)
                    self._note(name, check)
                    took_s += check.seconds
                    await asyncio.sleep(check.seconds * _REST)
            pause_s = max(self.between_s, took_s * _SHARE)

    def _stores(self) -> Mapping[str | None, Path]:
        """The folders of the stores by the window that they are of."""
        stores: dict[str | None, Path] = {None: self._service.engine.folder}
        for window in self._service.windows:
            stores[window.name] = window.window.folder
        for name in self.checks.keys() - stores.keys():
            del self.checks[name]
        return stores

    async def _checked(self, folder: Path) -> Check:
        """A check of a store. It ends early if SQLite's log has grown much, and at the end of the server."""
        checking = Checking(folder)
        running = asyncio.get_running_loop().run_in_executor(None, checking.run)
        try:
            while not (await asyncio.wait((running,), timeout=_LOOK_S))[0]:
                if self._service.engine.log_bytes > _MOST_LOG:
                    checking.stop()
        finally:
            checking.stop()
        return running.result()

    def _note(self, name: str | None, check: Check) -> None:
        before = self.checks.get(name)
        self.checks[name] = check, self._service.clock.now_ms()
        if check.damage:
            _LOG.error("%s is damaged; run `tocsin doctor`. SQLite finds: %s", self._name(name), check.damage)
        elif check.failure:
            _LOG.warning("%s could not be checked, which is tried again: %s", self._name(name), check.failure)
        elif before is not None and before[0].damage:
            _LOG.warning("%s is sound again, as SQLite's check says", self._name(name))
