"""The matches of one event: a sequence of ids and scores, looked up on access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tocsin.language.stored import stored_payload
from tocsin.model.subscription import Hit, Match, Reject
from tocsin.segment import Snapshots


class Matches(Sequence[Match]):
    """The matches of one event, a sequence in order: by id, or with a ranking best first.

    Ids are looked up on access. A slice is a list, and an equal list of matches is equal.

    Attributes
    ----------
    errors : list of Reject
        The event's values that could not be used.

    Examples
    --------
    >>> import tocsin
    >>> engine = tocsin.Engine()
    >>> engine.subscribe_many([{"id": f"s{n}", "where": f"price < {n}"} for n in range(9)])
    Report(9 accepted, no errors)
    >>> found = engine.match({"price": 6})
    >>> len(found), found[0], [match.subscription for match in found]
    (2, Match(subscription='s7', score=1.0), ['s7', 's8'])
    """

    def __init__(
        self,
        snapshots: Snapshots,
        places: NDArray[np.int64],
        scores: NDArray[np.float64],
        errors: list[Reject],
        *,
        with_payloads: bool = False,
        named: list[dict[str, list[int]]] | None = None,
    ) -> None:
        """Matches at places of some snapshots; only engines make them."""
        self._snapshots = snapshots
        self._places = places
        self._scores = scores
        self.errors = errors
        self._with_payloads = with_payloads
        self._named = named

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, place: int) -> Match: ...

    @overload
    def __getitem__(self, place: slice) -> list[Match]: ...

    def __getitem__(self, place: int | slice) -> Match | list[Match]:
        if isinstance(place, slice):
            return list(self)[place]
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} matches, but no match {place}")
        place %= len(self)
        return next(self._made(slice(place, place + 1)))

    def __iter__(self) -> Iterator[Match]:
        return self._made(slice(None))

    def _made(self, chosen: slice) -> Iterator[Match]:
        places = self._places[chosen]
        ids, scores = self._snapshots.names_of(places), self._scores[chosen].tolist()
        more: dict[str, Iterable[Any]] = {}
        if self._with_payloads:
            texts = self._snapshots.payloads_of(places).to_pylist()
            more["payload"] = (stored_payload(text) if text else None for text in texts)
        if self._named is not None:
            more["named"] = self._named[chosen]
        if not more:
            return map(Match, ids, scores)
        values = zip(*more.values(), strict=True)
        return map(Hit, ids, scores, (dict(zip(more, one, strict=True)) for one in values))

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle or copy has everything looked up."""
        return _Told, (list(self), self.errors)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class _Told(Matches):
    """Matches from a pickle or a copy: an engine's snapshots cannot be pickled."""

    def __init__(self, matches: list[Match], errors: list[Reject]) -> None:
        self._all = matches
        self.errors = errors

    def __len__(self) -> int:
        return len(self._all)

    def _made(self, chosen: slice) -> Iterator[Match]:
        return iter(self._all[chosen])
