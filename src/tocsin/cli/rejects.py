"""Log of rejected records, on standard error or in a file of JSON lines."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Container, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from tocsin.engine.loading import require_some
from tocsin.errors import InvalidInput, RecordError, in_field
from tocsin.model.subscription import Notice, Reject
from tocsin.records.files import STANDARD, Opened
from tocsin.records.formats import FORMATS, JSON, Formatted, input_format
from tocsin.writing import aside, raising_invalid_input

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN: Final = 20
"""The most rejected records of a kind shown in full on standard error; --errors FILE takes them all."""


class RejectLog:
    """Counts and writes records that were not served, and values in other records that were not read.

    With `folds`, standard error shows the first record for each reason, and the number of the others.
    """

    def __init__(self, stream: IO[str] | None, *, folds: bool = False) -> None:
        self._stream, self._folds = stream, folds
        self._shown, self._unshown = Counter[str](), Counter[str]()  # by kind of record
        self._repeated: Counter[tuple[str, str, str]] = Counter()  # by kind of record, field and reason
        self.count = 0
        self.values: Counter[str] = Counter()  # by field
        self._first: dict[str, Reject] = {}  # by kind of record
        self._shown_first: set[str] = set()
        self._is_finished = False

    def add(self, what: str, rejects: Iterable[Reject], lost: Container[int] | None = None) -> None:
        """Log rejects of one kind of record ("event", "subscription").

        `lost` holds the rows of the records that were not served; None means all of them.
        """
        for reject in rejects:
            is_first = self._first.setdefault(what, reject) is reject
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
            elif not is_value and self._show(what, reject) and is_first:
                self._shown_first.add(what)

    def _show(self, what: str, reject: Reject) -> bool:
        """Show a reject, unless one with its reason was shown, or too many; returns whether it is shown."""
        kind = what, reject.field, reject.reason
        if self._folds and kind in self._repeated:
            self._repeated[kind] += 1
        elif self._shown[what] < SHOWN:
            self._shown[what] += 1
            self._repeated[kind] = 0
            print(describe(what, reject), file=sys.stderr)
            return True
        else:
            self._unshown[what] += 1
        return False

    def status(self, *, strict_values: bool = False) -> int:
        """The exit status: 1 if a record was not served or, with `strict_values`, a value was not read."""
        return 1 if self.count or (strict_values and self.values) else 0

    def summary(self) -> str:
        """The numbers of rejected records and, if there are any, of values that were not read."""
        values = self.values.total()
        return f"{self.count:,} rejected" + (f", {counted(values, 'value')} not read" if values else "")

    def require(self, what: str, read: int, source: str = "") -> None:
        """Raise `RecordError` if there were records of a kind and none could be read.

        The message has the first reason, unless it stands above. It says how `source` was read, if that is a default.
        Warns if there were no records because `source` is an empty CSV file.
        """
        if what in self._shown_first and not read:
            is_default = source == STANDARD and not isinstance(source, Formatted)
            how = f"; standard input is read as {JSON.name} unless --format gives another format" if is_default else ""
            raise RecordError(f"no {what} could be read{how}")
        require_some(read, [self._first[what]] if what in self._first else [], what)
        if not read:
            warn_if_empty(source)

    def finish(self) -> None:
        """Print the numbers of the records and values that were not shown, below those that were. Once is enough."""
        if self._stream is not None or self._is_finished:
            return
        self._is_finished = True
        for (what, field, reason), count in self._repeated.items():
            if count:
                print(f"... and {counted(count, f'more {what}')}: {in_field(field, reason)}", file=sys.stderr)
        for what, count in self._unshown.items():
            more = counted(count, f"more rejected {what}")
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


def warn_if_empty(source: str) -> None:
    """Warn of a CSV file without a header: it has no bytes, or only blank lines. Other files may well be empty."""
    if not Path(source).is_file() or input_format(source) is not FORMATS["csv"]:
        return
    with Opened(source) as opened:
        if not opened.peek(_BLANK).strip():
            print(f"warning: {source} is empty; a CSV file begins with the names of its columns", file=sys.stderr)


_BLANK: Final = 1 << 16
"""A file that begins with so much blank space was not meant to be empty."""


@contextmanager
def reject_log(path: str | None, *, folds: bool = False) -> Iterator[RejectLog]:
    """A log on standard error, where `folds` shows equal reasons once, or into a file."""
    if path is None:
        log = RejectLog(None, folds=folds)
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
        if not Path(name).parent.exists():
            raise InvalidInput(f"cannot write {name}: there is no folder {Path(name).parent}")
        if not os.access(Path(name).parent, os.W_OK):
            raise InvalidInput(f"cannot write {name}: there is no right to write into {Path(name).parent}")
        if Path(name).resolve() in taken:
            raise InvalidInput(f"{name} is read or written already; give another file")
        taken.add(Path(name).resolve())


def counted(number: int, noun: str) -> str:
    """`1 match`, `2 matches`."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"
