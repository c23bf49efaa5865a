"""Warnings of commands: the foremost of each kind, and all of them in a file of JSON lines."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from tocsin.cli.rejects import counted
from tocsin.language import name_text
from tocsin.model.subscription import Notice, SubscriptionId
from tocsin.writing import aside, raising_invalid_input

_MOST_KINDS: Final = 10
_MOST_IDS: Final = 3
NEVER: Final = "never satisfied"
_GUESS: Final = "did you mean"


def add_warnings(parser: argparse.ArgumentParser) -> None:
    """Add the option for a file of all warnings."""
    parser.add_argument("--warnings", metavar="FILE", help="write all warnings to this file, as JSON lines")


def is_typo(notice: Notice) -> bool:
    """Whether a warning is about a name that is probably misspelt."""
    return _GUESS in notice.reason


def kind_of(notice: Notice) -> str:
    """The reason of a warning without the name that it is about, and without advice."""
    reason = notice.reason.split(";")[0]
    name = re.escape(name_text(notice.attribute))
    return re.sub(rf"(?<!\w){name}(?!\w)", "...", reason) if notice.attribute else reason


def by_kind(notices: Iterable[Notice]) -> list[list[Notice]]:
    """Warnings of one kind together, those of most subscriptions first: kinds, and warnings of a kind."""
    kinds: dict[str, list[Notice]] = {}
    for notice in notices:
        kinds.setdefault(kind_of(notice), []).append(notice)
    for same in kinds.values():
        same.sort(key=lambda notice: -notice.subscriptions)
    return sorted(kinds.values(), key=lambda same: -sum(notice.subscriptions for notice in same))


def foremost(notices: Sequence[Notice], most: int) -> list[Notice]:
    """The warnings to show if there are too many: about options, of typos, then the first of each kind in turn."""
    if len(notices) <= most:
        return list(notices)
    kinds = by_kind(notices)
    in_turn = [same[place] for place in range(max(map(len, kinds))) for same in kinds if place < len(same)]
    return sorted(in_turn, key=lambda notice: (notice.example is not None, not is_typo(notice)))[:most]


def lines(notices: Sequence[Notice], most: int) -> Iterator[str]:
    """The foremost warnings, and for each kind how many more there are, with their subscriptions."""
    shown = foremost(notices, most)
    yield from (f"warning: {notice}" for notice in shown)
    left = set(map(id, notices)) - set(map(id, shown))
    kinds = by_kind(notice for notice in notices if id(notice) in left)
    for same in kinds[:_MOST_KINDS]:
        if len(same) == 1:
            yield f"warning: {same[0]}"
            continue
        subscriptions = sum(notice.subscriptions for notice in same)
        ids = [id for notice in same for id in notice.examples][:_MOST_IDS]
        among = f" of {counted(subscriptions, 'subscription')}, such as {', '.join(map(str, ids))}" if ids else ""
        yield f"... and {counted(len(same), 'more warning')}{among}: {kind_of(same[0])}"
    if len(kinds) > _MOST_KINDS:
        rest = sum(map(len, kinds[_MOST_KINDS:]))
        yield f"... and {counted(rest, 'more warning')} of {counted(len(kinds) - _MOST_KINDS, 'other kind')}"
    if len(kinds) > _MOST_KINDS or any(len(same) > 1 for same in kinds):
        yield "--warnings FILE writes them all"


def write(stream: IO[str], notices: Iterable[Notice]) -> None:
    """Write warnings as JSON lines."""
    for notice in notices:
        record = notice._asdict() | {"examples": notice.examples}
        del record["example"], record["others"]
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def never(subscriptions: Iterable[tuple[SubscriptionId, str]]) -> Iterator[Notice]:
    """A warning for each subscription that no event can satisfy: its id, and its condition."""
    for id, text in subscriptions:
        yield Notice("", text, NEVER, 1, id)


@contextmanager
def warnings_file(path: str | None) -> Iterator[IO[str] | None]:
    """A file for all warnings, which is there if the command succeeds; None without a path."""
    if path is None:
        yield None
        return
    with aside(path) as beside:
        with raising_invalid_input(path):
            stream = beside.open("w", encoding="utf-8", errors="backslashreplace")
        with stream:
            yield stream
