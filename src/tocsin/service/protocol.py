"""Connections whose heads have limits of size and time, which uvicorn does not set."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD_S: Final = 10.0
"""A request's head arrives within this time, the first one after connecting."""
_HEAD_BYTES: Final = 1 << 16


class LimitedHeads(HttpToolsProtocol):
    """Closes a connection that sends too long a head, or sends it too slowly, or sends nothing."""

    _timer: asyncio.TimerHandle | None = None
    _is_in_head = True
    _size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._is_in_head, self._size = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_in_head:
            self._end()
            return
        self._size += len(data)
        if self._size > _HEAD_BYTES:
            self._give_up()
        elif self._timer is None:
            self._begin()

    def _begin(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_HEAD_S, self._give_up)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self, *_: Any) -> None:
        self._end()
        if not self.transport.is_closing():
            self.transport.close()
