"""How objects that live in one process are shown in notebooks, and what they say when they are to be pickled."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, NoReturn

_MOST_CELL = 200


def html_table(title: str, head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table with a title, as HTML. Long values are cut."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = [f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows]
    body = f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>" if lines else ""
    return f"<div><strong>{escape(title)}</strong>{body}</div>"


def _cell(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = "" if value is None else str(value)
    return escape(text if len(text) <= _MOST_CELL else text[: _MOST_CELL - 3] + "...")


def refuse_pickling(what: object, instead: str) -> NoReturn:
    """Raise `TypeError` for an object with threads, locks or files; `instead` says what to do."""
    raise TypeError(f"{type(what).__name__} cannot be pickled or copied: {instead}")
