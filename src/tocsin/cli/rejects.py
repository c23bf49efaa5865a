"""Log of rejected records, on standard error or in a file of JSON lines."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Container, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from tocsin.engine.loading import require_some
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Notice, Reject
from tocsin.records.files import STANDARD
from tocsin.writing import aside, raising_invalid_input

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN: Final = 20
"""The most rejected records shown in full on standard error; --errors FILE takes them all."""


class RejectLog:
    """Counts and writes records that were not served, and values in other records that were not read."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream
        self.count = 0
        self.values: Counter[str] = Counter()  # by field
        self._first: dict[str, Reject] = {}
        self._is_finished = False

    def add(self, what: str, rejects: Iterable[Reject], lost: Container[int] | None = None) -> None:
        """Log rejects of one kind of record ("event", "subscription").

        `lost` holds the rows of the records that were not served; None means all of them.
        """
        for reject in rejects:
            self._first.setdefault(what, reject)
            is_value = lost is not None and reject.row not in lost
            if is_value:
                self.values[reject.field] += 1
            else:
                self.count += 1
            if self._stream is not None:
                record = {"record": what, **reject._asdict(), "served": is_value}
                self._stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            elif is_value and self.values[reject.field] == 1 and len(self.values) <= SHOWN:
                print(f"warning: {describe(what, reject)}", file=sys.stderr)
            elif not is_value and self.count <= SHOWN:
                print(describe(what, reject), file=sys.stderr)

    def status(self, *, strict_values: bool = False) -> int:
        """The exit status: 1 if a record was not served or, with `strict_values`, a value was not read."""
        return 1 if self.count or (strict_values and self.values) else 0

    def require(self, what: str, read: int) -> None:
        """Raise `RecordError` if there were records of a kind and none could be read."""
        require_some(read, [self._first[what]] if what in self._first else [], what)

    def finish(self) -> None:
        """Print the numbers of the records and values that were not shown, below those that were. Once is enough."""
        if self._stream is not None or self._is_finished:
            return
        self._is_finished = True
        if self.count > SHOWN:
            more = counted(self.count - SHOWN, "more rejected record")
            print(f"... and {more}; --errors FILE writes them all", file=sys.stderr)
        for field, count in self.values.most_common(SHOWN):
            if count > 1:
                told = f"{count:,} values of {field} were not read; --errors FILE writes them all"
                print(f"warning: {told}", file=sys.stderr)


def describe(what: str, reject: Reject) -> str:
    """One reject in words."""
    name = f" ({reject.id})" if reject.id is not None else ""
    field = f" {reject.field}:" if reject.field else ""
    return f"{what} {reject.row}{name}:{field} {reject.reason}"


def warn(notices: Iterable[Notice]) -> None:
    """Print each warning on standard error."""
    for notice in notices:
        print(f"warning: {notice}", file=sys.stderr)


@contextmanager
def reject_log(path: str | None) -> Iterator[RejectLog]:
    """A log on standard error, or into a file."""
    if path is None:
        log = RejectLog(None)
        yield log
        log.finish()
        return
    with aside(path) as beside:
        with raising_invalid_input(path):
            stream = beside.open("w", encoding="utf-8", errors="backslashreplace")
        with stream:
            yield RejectLog(stream)


def refuse_overwriting(inputs: Iterable[str], outputs: Iterable[str | None]) -> None:
    """Raise `InvalidInput` when an output is also an input, or two outputs are one file."""
    taken = {Path(name).resolve() for name in inputs if name != STANDARD}
    for name in outputs:
        if name is None or name == STANDARD:
            continue
        if Path(name).is_dir():
            raise InvalidInput(f"cannot write {name}: it is a folder")
        if Path(name).resolve() in taken:
            raise InvalidInput(f"{name} is read or written already; give another file")
        taken.add(Path(name).resolve())


def refuse_file(folder: str) -> None:
    """Raise `InvalidInput` if a folder cannot be written because a file has its name."""
    if Path(folder).is_file():
        raise InvalidInput(f"cannot write {folder}: it is a file; give a folder")


def counted(number: int, noun: str) -> str:
    """`1 match`, `2 matches`."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"
