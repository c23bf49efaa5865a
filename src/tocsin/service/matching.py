"""Matching without publishing. Requests that come at once are matched as one batch, on one thread."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar

from tocsin.columns.arrays import Texts
from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.groups import Columns, Hits, columns_of, hits_of
from tocsin.engine.rooms import Room, Rooms
from tocsin.errors import InvalidInput
from tocsin.model.ranking import RANKINGS, Ranking
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.records import Chunk, ObjectChunk
from tocsin.service.bodies import SMALL, Holding
from tocsin.service.fragments import fragments, lines_of_many
from tocsin.service.names import Asked
from tocsin.service.problems import Problem, invalid, printable

_MOST: Final = 1024
"""Events in a batch."""
_MOST_K: Final = 10_000
MOST_BYTES: Final = 16 << 20
"""Of the matches of an answer; it has one at least."""
Result = TypeVar("Result")
Found = tuple[list[Columns], list[Reject]]


class _Waiting(NamedTuple):
    """An event that waits to be matched, and the room that its answer may take if it is large."""

    event: Mapping[str, Any]
    ranking: Ranking | None
    holding: Holding
    done: asyncio.Future[str | None]


def ranking_of(asked: Asked) -> Ranking | None:
    """The ranking that the options of a URL give."""
    given = [(word, text) for word in RANKINGS if (text := asked.text(word)) is not None]
    if len(given) > 1:
        raise Problem(400, "query", f"{' and '.join(word for word, _ in given)} exclude each other")
    for word, text in given:
        kind = RANKINGS[word]
        try:
            ranking = kind.parse([part[:32] for part in text.split(":")])
        except InvalidInput as error:
            raise Problem(400, "query", str(error)) from None
        except ValueError:
            raise Problem(400, "query", f"{word} is {text!r:.40}; it is {kind.spelling()[1]}") from None
        if getattr(ranking, "k", 0) > _MOST_K:
            raise Problem(400, "query", f"{word} is at most {_MOST_K:,}")
        return ranking
    return None


def listed(hits: Hits) -> list[str]:
    """The matches of each event as a JSON list."""
    matches = fragments(hits)
    pairs = itertools.pairwise(hits.starts)
    return ["[]" if first == stop else f"[{','.join(matches[first:stop])}]" for first, stop in pairs]


class Matcher:
    """Matches single events as batches: each has the events that came during the one before."""

    def __init__(self, engine: DurableEngine) -> None:
        self._engine = engine
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "tocsin-match")

    async def match(self, event: Mapping[str, Any], ranking: Ranking | None, holding: Holding) -> str | None:
        """The matches of one event, as the members of a JSON document; None if they are large and there is no room.

        Large ones take their room.
        """
        done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(event, ranking, holding, done))
        if self._task is None:
            self._task = asyncio.create_task(self._answer())
        return await done

    async def columns(self, chunk: Chunk, ranking: Ranking | None, room: Room) -> Found:
        """The matches of a chunk of events for which there is room, and why some could not be used."""
        return await self.run(columns_of, self._engine, chunk, ranking, room)

    async def run(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """The result of a call on the matching thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)

    async def _answer(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            try:
                answers = await self.run(self._matched, batch, asyncio.get_running_loop())
            except Exception as error:  # each caller gets it  # noqa: BLE001
                answers = [error for _ in batch]
            for (*_, holding, done), answer in zip(batch, answers, strict=True):
                if done.done():  # the caller has gone
                    holding.release()
                    continue
                if isinstance(answer, Exception):
                    done.set_exception(answer)
                else:
                    done.set_result(answer)
        self._task = None

    def _matched(self, batch: Sequence[_Waiting], loop: asyncio.AbstractEventLoop) -> list[str | Exception | None]:
        """The answers of a batch, those of each ranking together. A large one without room is None."""
        answers: list[str | Exception | None] = [Problem(500, "internal", "not matched")] * len(batch)
        places: dict[Ranking | None, list[int]] = {}
        for place, waiting in enumerate(batch):
            places.setdefault(waiting.ranking, []).append(place)
        small, roomy = min(SMALL, MOST_BYTES), set[int]()

        def larger(place: int) -> int:
            """The room of a large answer. The rooms belong to the event loop."""
            if not asyncio.run_coroutine_threadsafe(_taken(batch[place].holding), loop).result():
                return small
            roomy.add(place)
            return MOST_BYTES

        for ranking, own in places.items():
            chunk, rooms = ObjectChunk([(place, batch[place].event) for place in own]), Rooms(small, larger)
            found, rejects = hits_of(self._engine, chunk, ranking, room=rooms)
            for place in own:
                answers[place] = invalid(_reason(rejects, place))
            for hits in found:
                for place, matches in zip(hits.rows, listed(hits), strict=True):
                    has_room = place in roomy or place not in rooms.ends
                    answers[place] = members(matches, rooms.ends.get(place)) if has_room else None
        return answers

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()


async def _taken(holding: Holding) -> bool:
    return holding.takes(MOST_BYTES)


def members(matches: str, last: SubscriptionId | None) -> str:
    """The members of a document with a list of matches, and with the last of them if there are more."""
    return f'"matches":{matches}' + ("" if last is None else f',"next":{json.dumps(str(last), ensure_ascii=False)}')


def next_line(row: int, after: SubscriptionId | None) -> bytes:
    """The last line of an answer that ends early: the event to go on with, and its last match here."""
    return json.dumps({"next": next_place(row, after)}, ensure_ascii=False).encode() + b"\n"


def next_place(row: int, after: SubscriptionId | None) -> dict[str, Any]:
    """A place to go on at as a document."""
    return {"row": row} if after is None else {"row": row, "after": str(after)}


def lines_of(found: Found, count: int, first: int) -> bytes:
    """A line of JSON for each of some events: its row, and its matches or why it could not be used.

    `first` is the row of the first. Those beyond `count` are left out.
    """
    answers, rejects = [one for one in found[0] if len(one.rows)], found[1]
    written = [lines_of_many(columns, first) for columns in answers]
    if len(written) == 1 and len(written[0]) == count:
        return Texts.of_arrow(written[0]).data.tobytes()
    texts: list[str] = [""] * count
    for columns, lines in zip(answers, written, strict=True):
        for row, line in zip(columns.rows.tolist(), lines.to_pylist(), strict=True):
            if row < count:
                texts[row] = line
    for row in (row for row, text in enumerate(texts) if not text):
        texts[row] = f"{problem_line(first + row, _reason(rejects, row))}\n"
    return "".join(texts).encode()


def problem_line(row: int, detail: str) -> str:
    """A line for an event that could not be used."""
    return json.dumps({"row": row, "error": printable(detail)}, ensure_ascii=False)


def _reason(rejects: Sequence[Reject], row: int) -> str:
    return next((one.reason for one in rejects if one.row == row), "the event cannot be used")
