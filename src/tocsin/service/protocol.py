"""HTTP connections with deadlines and bounds, which uvicorn does not set.

The limits hold with a token and without. A head, a body and the reading of an answer have a time. What a client makes
the server remember has a size. `Connections` limits the number of connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tocsin.service.problems import Problem
from tocsin.service.tracing import ACCESS, Trace, trace_of

if TYPE_CHECKING:
    from tocsin.service.connections import Connections

_HEAD_S: Final = 10.0
"""A request's head arrives within this time, the first one after connecting."""
_HEAD_BYTES: Final = 1 << 16
"""Bytes of a head, of what separates two parts of a body, or of trailers."""
_BODY_S: Final = 30.0
"""A body arrives within this time, or at `_LEAST_RATE` at least."""
_ANSWER_S: Final = 30.0
"""A client takes what is written within this time, or at `_LEAST_RATE` at least."""
_LEAST_RATE: Final = 64 << 10
_LINGER_S: Final = 5.0
"""After an answer that does not need the rest of the body, the rest is thrown away for this time."""
_REFUSED_S: Final = 2.0
"""A connection beyond the limits waits for its request for this time, so that the request gets the answer."""
_MOST_PIPELINED: Final = 64
ENDLESS: Final = "tocsin.endless"
"""An ASGI extension. An answer that never ends calls its `begin` before it starts: see `_begin_endless`."""
_BETWEEN, _HEAD, _BODY = range(3)


class Deadline:
    """Calls `late` unless it is cancelled within some seconds, or as long as `_LEAST_RATE` bytes a second move."""

    def __init__(self, seconds: float, late: Callable[[], None], moved: Callable[[], int] = lambda: 0) -> None:
        self._seconds, self._late, self._moved = seconds, late, moved
        self._before = moved()
        self._begin()

    def _begin(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        before, self._before = self._before, self._moved()
        if self._before - before < self._seconds * _LEAST_RATE:
            self._late()
        else:
            self._begin()

    def cancel(self) -> None:
        self._timer.cancel()


class BoundedConnection(HttpToolsProtocol):
    """A connection that ends when its client is late, sends too much around bodies, or is one too many."""

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections
        self._reading: Deadline | None = None
        self._writing: Deadline | None = None
        self._refusal: Problem | None = None
        self._phase = _BETWEEN
        self._framing_bytes = 0  # bytes since the last one of a body
        self._body_bytes = 0
        self._complaint = "the request is not valid HTTP/1.1"
        self._is_endless = False  # whether the answer that is being sent never ends
        self._is_persistent = True  # whether the connection lives on after the answer, once the body has come

    # The beginning and the end

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._refusal = self._connections.enter(self, None if self.client is None else self.client[0])
        if self._refusal is None:
            self._read_within(_HEAD_S, self.give_up)
        elif self._connections.may_wait(self):
            self._read_within(_REFUSED_S, self._refuse)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadlines()
        self._connections.leave(self)
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close the connection without an answer. What the client does not take is not waited for."""
        self._end_deadlines()
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _answer(self, problem: Problem) -> None:
        """Send a last answer, also in place of the one that is being made."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._end_deadlines()
        self.transport.write(problem.message(self._trace(problem.status)))
        self.transport.close()
        self._write_within()

    def _trace(self, status: int) -> Trace:
        """The trace of the request that gets a last answer. If no application has the request, it is logged here."""
        is_running = self.cycle is not None and not self.cycle.response_complete
        scope: Any = self.cycle.scope if is_running else self.scope
        if scope is None:  # nothing was read, as of a connection that is one too many
            scope = {"client": self.client}
        trace = trace_of(scope)
        trace.status = status
        if not is_running and ACCESS.isEnabledFor(logging.INFO):
            trace.log(scope)
        return trace

    def _refuse(self) -> None:
        if self._refusal is not None:
            self._answer(self._refusal)

    def send_400_response(self, msg: str) -> None:
        if self._may_answer():
            self._answer(Problem(400, "http", self._complaint))
        else:
            self.give_up()

    def _may_answer(self) -> bool:
        """Whether an answer would be that of the request that is being read."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or not (cycle.response_started or self.pipeline)

    # Deadlines

    def _read_within(self, seconds: float, late: Callable[[], None], moved: Callable[[], int] = lambda: 0) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._reading = Deadline(seconds, late, moved)

    def _write_within(self) -> None:
        if self._writing is None and self.transport.get_write_buffer_size():
            whole = self.transport.get_write_buffer_size()
            self._writing = Deadline(
                _ANSWER_S, self.transport.abort, lambda: whole - self.transport.get_write_buffer_size()
            )

    def _end_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _end_deadlines(self) -> None:
        self._end_reading()
        self._unset_keepalive_if_required()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _body_is_late(self) -> None:
        if self.flow.read_paused:  # the server does not read
            self._read_body()
        elif self._may_answer() and not self.cycle.response_complete:
            self._answer(Problem(408, "slow", f"the body did not arrive within {_BODY_S:g} s"))
        else:
            self.give_up()

    def _read_body(self) -> None:
        self._read_within(_BODY_S, self._body_is_late, lambda: self._body_bytes)

    # Requests

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._refuse()
            return
        if self._is_endless and self._phase == _BETWEEN:
            return
        self._connections.busy(self)
        self._framing_bytes += len(data)
        was_between = self._phase == _BETWEEN
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._framing_bytes > _HEAD_BYTES:
            self.give_up()
        elif self._phase == _BODY:
            if self._reading is None:
                self._read_body()
        elif self._reading is None and (self._phase == _HEAD or (was_between and self._framing_bytes)):
            self._read_head()

    def _read_head(self) -> None:
        """Wait for the rest of a head. While an answer is being made, the client need not hurry."""
        if self.cycle is None or (self.cycle.response_complete and not self.pipeline):
            self._read_within(_HEAD_S, self.give_up)

    def on_message_begin(self) -> None:
        if self._is_endless:  # it came with the end of the body of the endless answer's request
            raise ValueError(self._complaint)
        self._phase = _HEAD
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase == _HEAD:  # and not a trailer, which must not change the request that is being answered
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._phase, self._body_bytes = _BODY, 0
        self._end_reading()
        if self.parser.should_upgrade() and self._has_body():  # the parser would take the body for the next request
            self._complaint = "a request with Upgrade may not have a body here; leave the header out"
            raise ValueError(self._complaint)
        super().on_headers_complete()
        self.scope["extensions"] = {ENDLESS: {"begin": partial(self._begin_endless, self.cycle)}}
        if len(self.pipeline) > _MOST_PIPELINED:
            raise ValueError("too many requests wait for their answers")
        if self.expect_100_continue:  # a client that is not told to go on does not send the body
            self._is_persistent, self.cycle.keep_alive = self.cycle.keep_alive, False

    def _has_body(self) -> bool:
        announced = dict(self.headers)
        return b"transfer-encoding" in announced or announced.get(b"content-length", b"0") != b"0"

    def on_body(self, body: bytes) -> None:
        self._framing_bytes = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._phase, self._framing_bytes = _BETWEEN, 0
        self._end_reading()
        if self.expect_100_continue:
            self.cycle.keep_alive = self._is_persistent
        super().on_message_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._rest()

    # Answers

    def _begin_endless(self, cycle: RequestResponseCycle) -> Callable[[bytes], bool]:
        """Let the answer be the last one of the connection: what the client sends from now on is thrown away.

        Nothing else would tell that the client is gone while a further request waits for the end of the answer.
        Returns a function that sends a part at once. It returns false if the client does not take it now. It does what
        `send` does, but without a task: a stream of events takes half the time.
        """
        self.pipeline.clear()
        self._is_endless, cycle.keep_alive, self.cycle = True, False, cycle
        if self._phase == _HEAD:
            self._phase = _BETWEEN
        if self._phase == _BETWEEN:
            self._end_reading()
        self.flow.resume_reading()
        return partial(self._push, cycle)

    def _push(self, cycle: RequestResponseCycle, body: bytes) -> bool:
        is_open = cycle.response_started and not (cycle.response_complete or cycle.disconnected)
        if not is_open or not cycle.chunked_encoding or self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(body), body))
        trace_of(cycle.scope).size += len(body)
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._write_within()
        elif not self.cycle.response_complete:  # of a request that came meanwhile
            pass
        elif self._phase == _BODY:
            self._unset_keepalive_if_required()
            self._read_within(_LINGER_S, self.give_up)
        elif self._phase == _HEAD:
            self._unset_keepalive_if_required()
            self._read_head()
        else:
            self._may_make_room()

    def _rest(self) -> None:
        """Wait for the next request."""
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        self._may_make_room()

    def _may_make_room(self) -> None:
        """Note that the connection is idle, unless its client still takes an answer."""
        if self._writing is None:
            self._connections.idle(self)

    def timeout_keep_alive_handler(self) -> None:
        if self._writing is None:
            self.give_up()
        else:  # it takes an answer in time
            self._rest()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_within()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None and not self.transport.is_closing():
            self._writing.cancel()
            self._writing = None
            if self._phase == _BETWEEN and self.cycle.response_complete:
                self._connections.idle(self)
