"""Server-sent events, line by line, and where a stream goes on after it was cut."""

from __future__ import annotations

import json
import warnings
from typing import Any, Final

from tocsin.client.delivery_calls import Delivery, delivery_of
from tocsin.errors import InvalidInput, ServiceError

_FIRST_PAUSE_S: Final = 1.0


def checked_gaps(gaps: str) -> str:
    """What to do about deliveries that are not kept any more: `raise` or `warn`."""
    if gaps not in ("raise", "warn"):
        raise InvalidInput(f"gaps is {gaps!r:.40}; it is raise or warn")
    return gaps


class Lines:
    """The lines of a stream of bytes. Only CR, LF and CRLF end a line.

    Python's texts have further line ends, such as U+2028, which may be part of an event.
    """

    def __init__(self) -> None:
        self._begun: list[bytes] = []  # of the line that has not ended
        self._follows_return = False

    def take(self, part: bytes) -> list[str]:
        """The lines that end in the next part of the stream."""
        if not part:
            return []
        if self._follows_return:
            part = part.removeprefix(b"\n")
        self._follows_return = part.endswith(b"\r")
        first, *others = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._begun.append(first)
        if not others:
            return []
        whole = [b"".join(self._begun), *others[:-1]]
        self._begun = others[-1:]
        return [line.decode(errors="replace") for line in whole]


class Following:
    """The state of a stream that is read line by line, and resumed."""

    def __init__(self, names: tuple[str, ...], start: str | int, gaps: str) -> None:
        if not names:
            raise InvalidInput("no destination is named")
        self._names, self._start, self._gaps = names, start, checked_gaps(gaps)
        self._last = ""
        self._lines = Lines()
        self._fields: dict[str, str] = {}
        self._data: list[str] = []
        self.pause_s = _FIRST_PAUSE_S

    def request(self) -> dict[str, Any]:
        """The parameters and headers of the next request."""
        self._lines, self._fields, self._data = Lines(), {}, []
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._last} if self._last else {})
        return {"params": {"destination": list(self._names), "from": str(self._start)}, "headers": headers}

    def lines(self, part: bytes) -> list[str]:
        """The lines that end in the next part of the answer."""
        return self._lines.take(part)

    def take(self, line: str) -> Delivery | None:
        """Take a line; returns the delivery that it ends. A gap is an error, or a warning."""
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
            elif name == "retry" and value.isdecimal():
                self.pause_s = int(value) / 1000
            elif name:
                self._fields[name] = value
            return None
        fields, data = self._fields, "\n".join(self._data)
        self._fields, self._data = {}, []
        if "id" in fields:
            self._last = fields["id"]
        if not data:
            return None
        kind = fields.get("event", "message")
        if kind == "gap":
            gap = json.loads(data)
            what = f"deliveries {gap['from']} to {gap['to']} of {gap['destination']} are missing: {gap['reason']}"
            if self._gaps == "raise":
                raise ServiceError(410, "gone", f"{what}; with gaps='warn' the stream goes on behind them", gap)
            warnings.warn(what, stacklevel=4)
        return delivery_of(json.loads(data)) if kind == "message" else None
