"""The running streams of a pipeline: waited for, and ended in an orderly way or abandoned."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from tocsin.errors import TocsinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener
    from pyspark.sql.streaming.query import StreamingQuery

PATIENCE_S: Final = 60.0
"""How long a micro-batch may take to finish after a stop; then it is cancelled, and replayed at the next start."""

_LOOK_S: Final = 0.1
_ABANDON_S: Final = 5.0


class Streams:
    """The streams of a session that end together. `stop` asks them to."""

    def __init__(self, session: SparkSession, listener: StreamingQueryListener, stop: threading.Event) -> None:
        self._session = session
        self._listener = listener
        self._stop = stop
        self._queries: list[StreamingQuery] = []

    @property
    def are_stopped(self) -> bool:
        """Whether the streams are asked to end."""
        return self._stop.is_set()

    def add(self, query: StreamingQuery) -> None:
        """Add a running stream."""
        self._queries.append(query)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """End all streams after the body, and report its errors.

        Raises `TocsinError` if Spark refuses a stream or is gone, and `KeyboardInterrupt` if it is gone after a stop: a
        signal to all processes also ends Java's.
        """
        from pyspark.errors import PySparkException

        self._session.streams.addListener(self._listener)
        # If Java ends, a thread of PySpark would print a traceback.
        self._session.sparkContext._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        try:
            try:
                yield
            except Exception:
                self._end()
                raise
            self._end()
        except KeyboardInterrupt:
            self._abandon()
            raise
        except Exception as error:  # errors of PySpark, Py4J and Java have no common class
            if self._is_gone():
                gone = TocsinError("Spark has ended, perhaps for lack of memory; the pipeline can be run again")
                raise (KeyboardInterrupt if self._stop.is_set() else gone) from error
            if isinstance(error, PySparkException):
                raise TocsinError(f"Spark refused this pipeline: {_reason(str(error))}") from error
            raise

    def wait(self, look: Callable[[], None]) -> None:
        """Wait until a stop, or until all streams have ended; raises `TocsinError` if one failed."""
        while any(query.isActive for query in self._queries) and not self._stop.is_set():
            look()
            if any(not query.isActive and query.exception() is not None for query in self._queries):
                break
            time.sleep(_LOOK_S)
        look()
        for query in self._queries:
            if (error := query.exception()) is not None:
                if BrokenPipeError.__name__ in str(error):
                    raise BrokenPipeError  # the reader of the console has closed it
                raise TocsinError(f"a stream failed, and can be run again: {_reason(str(error))}")

    def _end(self) -> None:
        """Let each current micro-batch finish, then stop."""
        for query in reversed(self._queries):
            until = time.monotonic() + PATIENCE_S
            while query.isActive and query.status["isTriggerActive"] and time.monotonic() < until:
                time.sleep(_LOOK_S)
            query.stop()
        self._session.streams.removeListener(self._listener)

    def _abandon(self) -> None:
        """Stop without waiting for micro-batches, from another thread.

        The interrupt may have come in the middle of an answer from Java. The rest of it is still in this thread's
        connection, which would give it as the next answer.
        """

        def stop() -> None:
            for query in self._queries:
                with suppress(Exception):
                    query.stop()
            with suppress(Exception):
                self._session.streams.removeListener(self._listener)

        thread = threading.Thread(target=stop, daemon=True)
        thread.start()
        thread.join(_ABANDON_S)

    def _is_gone(self) -> bool:
        """Whether Spark, or its Java process, has ended."""
        with suppress(Exception):  # errors of Py4J and of sockets
            return bool(self._session.sparkContext._jsc.sc().isStopped())
        return True


def _reason(text: str) -> str:
    """The last line of a long error that names one."""
    named = [line.strip() for line in text.splitlines() if "Error: " in line or "InvalidInput: " in line]
    return named[-1] if named else text.strip().splitlines()[0]
