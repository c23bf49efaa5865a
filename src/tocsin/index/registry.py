"""Which indexes are there? One line each."""

from __future__ import annotations

import difflib

from tocsin.errors import UnknownIndex
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.scan import Scan
from tocsin.index.protocols import Registration

_REGISTRATIONS = (
    Registration(
        "access",
        "all matches",
        "any expression",
        "access predicates (Fabret et al. 2001) by covers",
        False,
        lambda: Access,
    ),
    Registration("scan", "all matches", "any expression", "exact linear baseline of every family", True, lambda: Scan),
)


def registrations() -> tuple[Registration, ...]:
    """Every index, in the order of the documentation."""
    return _REGISTRATIONS


def find_index(name: str) -> Registration:
    """The registration of that name; raises `UnknownIndex`.

    >>> find_index("scan").question
    'all matches'
    """
    names = [r.name for r in _REGISTRATIONS]
    if not isinstance(name, str):
        raise UnknownIndex(
            f"an index is named by a string, not {name!r:.40}. There are: {', '.join(['auto', *names])}."
        )
    if name in names:
        return _REGISTRATIONS[names.index(name)]
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownIndex(f"no index is named {name!r}{hint} There are: {', '.join(['auto', *names])}.")
