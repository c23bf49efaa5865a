"""Which objects enter, stay in and leave which subscriptions? An engine's matches, followed from event to event."""

from __future__ import annotations

import heapq
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import pyarrow as pa

from tocsin.engine.answer import Answer
from tocsin.engine.matching import EVENT_KEY, PASSED
from tocsin.engine.trails import BEFORE, Trail
from tocsin.errors import InvalidInput, RecordError, SegmentError
from tocsin.forking import renewed
from tocsin.model.fence import FenceChange, FenceRules, ObjectKey, Position, Stay, Visits, plain_key
from tocsin.model.instants import read_instant
from tocsin.model.shapes import shapely
from tocsin.model.subscription import Reject, SubscriptionId, shown
from tocsin.model.values import Instant
from tocsin.records.sources import Events
from tocsin.writing import aside, told

MOST_OBJECTS: Final = 1_000_000
_VERSION: Final = 2
_OPTIONS: Final = frozenset(["schema", "delimiter", "points", "strict", "threads"])


@runtime_checkable
class Matching(Protocol):
    """What fences ask of an engine."""

    def followed(self, events: Any, key: str, also: Sequence[str], trail: Trail | None, **options: Any) -> Answer:
        """A row an event: its matches as a list, its key, further attributes, and what its trail leads through."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What is followed: the attributes that tell objects apart, time and place, and when objects are given up."""

    key: str
    time: str | None = None
    path: str | None = None
    most_objects: int = MOST_OBJECTS
    forget_after: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("key", self.key), ("time", self.time), ("path", self.path)):
            if not (isinstance(value, str) and value) and not (name != "key" and value is None):
                raise InvalidInput(f"{name} is {value!r:.40}; it names an attribute of the events")
        for name, value in (("time", self.time), ("key", self.key)):
            if self.path is not None and self.path == value:
                raise InvalidInput(f"path and {name} are both {value!r:.40}; path names what has the object's place")
        if not isinstance(self.most_objects, int) or isinstance(self.most_objects, bool) or self.most_objects < 1:
            raise InvalidInput(f"most_objects is {self.most_objects!r:.40}; it counts objects, from 1 on.")
        if self.forget_after is not None and not (
            self.time is not None and isinstance(self.forget_after, int | float) and self.forget_after > 0
        ):
            raise InvalidInput(
                f"forget_after is {self.forget_after!r:.40}, time is {self.time!r:.40}; it is a number of seconds "
                "above 0, by the attribute that time names."
            )


class Fences:
    """Objects whose events come one after the other, and the subscriptions of an engine that they are in.

    An object is what has one value of `key`. It enters a subscription when an event of it matches and the one before
    did not, and exits when one no longer does; `FenceRules` say more. `time` names the attribute of which seconds are
    taken (an instant, or a number of seconds), `path` the attribute that has the object's place: then it crosses what
    lies on the straight line from its last place, and is in neither. Only objects that are in something are kept, with
    `path` all: at most `most_objects`, and
    none longer than `forget_after` seconds after its last event; what is given up is reported as lost, those longest
    unseen first. Many threads may push; events are taken in the order in which they come.

    >>> from tocsin.engine import Engine
    >>> engine = Engine()
    >>> engine.subscribe("city", "S_INTERSECTS(location, BBOX(0, 0, 10, 10))")
    >>> fences = Fences(engine, key="vehicle")
    >>> [fences.push({"vehicle": 7, "location": [x, 5]}) for x in (-1, 3, 4, 12)]  # doctest: +NORMALIZE_WHITESPACE
    [[], [FenceChange(object=7, subscription='city', change='enter', seconds=None)], [],
     [FenceChange(object=7, subscription='city', change='exit', seconds=None)]]
    """

    def __init__(
        self,
        engine: Matching,
        *,
        key: str,
        time: str | None = None,
        path: str | None = None,
        enter_after: int = 1,
        exit_after: int = 1,
        dwell: float | None = None,
        inside: bool = False,
        most_objects: int = MOST_OBJECTS,
        forget_after: float | None = None,
    ) -> None:
        if not isinstance(engine, Matching):
            raise InvalidInput(f"engine is {shown(engine)}; give a tocsin.Engine")
        self._engine = engine
        self._followed = Followed(key, time, path, most_objects, forget_after)
        self._rules = FenceRules(enter_after, exit_after, dwell, inside)
        if dwell is not None and time is None:
            raise InvalidInput(f"dwell is {dwell!r:.40} and time is None; name the attribute that has the time.")
        if path is not None:
            shapely()  # which says what to install where it is not there
        self._objects: OrderedDict[ObjectKey, Visits] = OrderedDict()  # those longest unseen first
        self._events = 0  # how many came, from which each has its number
        self._due: list[tuple[float, int, ObjectKey]] = []  # a heap: when objects were seen, each once
        self._are_due: set[ObjectKey] = set()
        self._awaited = count()  # so that no two of the heap are compared by their keys
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many objects are kept: in something, or about to be; with `path` all."""
        return len(self._objects)

    def __repr__(self) -> str:
        return f"Fences({len(self)} objects by {self._followed.key!r})"

    def inside(self, object: ObjectKey) -> list[SubscriptionId]:
        """The subscriptions that an object is in, by id."""
        with self._lock:
            visits = self._objects.get(object, Visits())
            return sorted(one for one, stay in visits.stays.items() if stay.has_entered)

    def objects(self) -> Iterator[tuple[ObjectKey, list[SubscriptionId]]]:
        """Each object that is in something, and what in; those longest unseen first."""
        for key in list(self._objects):
            if inside := self.inside(key):
                yield key, inside

    def push(self, event: Mapping[str, Any]) -> list[FenceChange]:
        """What an event changes; raises `RecordError` for one that is bad, or has no key."""
        if not isinstance(event, Mapping):
            raise RecordError(f"an event is an object of names and values, not {shown(event)}")
        answer, changes = self._pushed([event], {})
        if answer.event_errors:
            raise RecordError(answer.event_errors[0].reason, answer.event_errors[0].field)
        return [change for _, change in changes]

    def push_batch(self, events: Events, **options: Any) -> Answer:
        """What a source of events changes: a table of `event` (row), `object`, `subscription`, `change`, `seconds`.

        By event; of one event what it leaves first, and those that it made lost before that. `options` are those of
        `Engine.match_batch` that say how the source is read (`schema`, `delimiter`, `points`, `strict`, `threads`).
        Events that are bad, or have no key, are in its errors and change nothing.
        """
        if unknown := sorted(options.keys() - _OPTIONS):
            raise InvalidInput(f"{unknown[0]!r} is no option of fences; they have {', '.join(sorted(_OPTIONS))}")
        answer, changes = self._pushed(events, options)
        objects, ids = [change.object for _, change in changes], [change.subscription for _, change in changes]
        table = pa.table(
            {
                "event": pa.array([row for row, _ in changes], pa.int64()),
                "object": _column(objects, answer.table[EVENT_KEY].type),
                "subscription": pa.array(ids, answer.table["subscription"].type.value_type),
                "change": pa.array([change.change for _, change in changes], pa.string()).dictionary_encode(),
                "seconds": pa.array([change.seconds for _, change in changes], pa.float64()),
            }
        )
        return Answer(table, answer.event_errors, [], answer.stats, answer.complete, answer.noticing)

    def _pushed(self, events: Any, options: dict[str, Any]) -> tuple[Answer, list[tuple[int, FenceChange]]]:
        also = [] if self._followed.time is None else [self._followed.time]
        changes: list[tuple[int, FenceChange]] = []
        with self._lock:
            trail = None if self._followed.path is None else Trail(self._followed.path, self._last_place)
            answer = self._engine.followed(events, self._followed.key, also, trail, **options)
            table = answer.table
            nothing = [None] * len(table)
            first = self._events + 1  # the number of the event in row 0
            columns = [table[name].to_pylist() for name in ("event", EVENT_KEY, "subscription")]
            times = table["also_0"].to_pylist() if also else nothing
            ways = nothing if trail is None else table[PASSED].to_pylist()
            for row, key, ids, moment, passed in zip(*columns, times, ways, strict=True):
                if ids is None:
                    continue  # it is bad, and reported
                if key is None or key != key:
                    answer.event_errors.append(_without_key(row, self._followed.key))
                    continue
                now, through = _seconds_of(moment), frozenset(passed or ())
                self._events = first + row
                start = 0 if trail is None else first + trail.starts.get(row, BEFORE)
                changes += (
                    (row, change) for change in self._moved(plain_key(key), frozenset(ids), now, through, start)
                )
            for key, (at, row) in {} if trail is None else trail.moved.items():
                if key in self._objects and self._objects[key].began <= first + row:
                    self._objects[key].at = at
        answer.event_errors.sort(key=lambda reject: reject.row)
        return answer, changes

    def _last_place(self, key: ObjectKey) -> Position | None:
        visits = self._objects.get(key)
        return None if visits is None else visits.at

    def _moved(
        self,
        key: ObjectKey,
        matched: frozenset[SubscriptionId],
        now: float | None,
        passed: frozenset[SubscriptionId],
        start: int,
    ) -> Iterator[FenceChange]:
        """Take one event of an object; `start` is the event with which its line begins.

        An object that was lost since then has no last place.
        """
        yield from self._given_up(now)
        keeps_all = self._followed.path is not None
        visits = self._objects.get(key)
        if visits is None:
            if not matched and not keeps_all:
                return
            while len(self._objects) >= self._followed.most_objects:
                longest, gone = self._objects.popitem(last=False)
                yield from gone.leave(longest)
            visits = self._objects[key] = Visits(began=self._events)
        self._objects.move_to_end(key)
        yield from visits.move(key, matched, now, self._rules, passed if start >= visits.began else frozenset())
        self._await(key, visits)
        if not visits.stays and not keeps_all:
            del self._objects[key]

    def _given_up(self, now: float | None) -> Iterator[FenceChange]:
        """Objects whose last event is too long ago."""
        after = self._followed.forget_after
        while after is not None and now is not None and self._due and now - self._due[0][0] > after:
            _, _, key = heapq.heappop(self._due)
            self._are_due.discard(key)
            visits = self._objects.get(key)
            if visits is None or visits.last is None:
                continue
            if now - visits.last <= after:
                self._await(key, visits)
                continue
            del self._objects[key]
            yield from visits.leave(key)

    def _await(self, key: ObjectKey, visits: Visits) -> None:
        """Look at an object again when it may have been silent for too long, by the latest time of its events."""
        if self._followed.forget_after is not None and visits.last is not None and key not in self._are_due:
            self._are_due.add(key)
            heapq.heappush(self._due, (visits.last, next(self._awaited), key))

    # Files

    def save(self, path: str | Path) -> None:
        """Write what is followed, the rules and where every object is, as JSON lines; whole, or not at all."""
        with self._lock, told(path), aside(path) as beside, beside.open("w", encoding="utf-8") as file:
            head = {"tocsin fences": _VERSION, "followed": asdict(self._followed), "rules": asdict(self._rules)}
            file.write(json.dumps({**head, "objects": len(self._objects)}) + "\n")
            for key, visits in self._objects.items():
                stays = [[one, *asdict(stay).values()] for one, stay in visits.stays.items()]
                file.write(json.dumps([key, visits.last, stays, visits.at]) + "\n")

    @classmethod
    def load(cls, path: str | Path, engine: Matching) -> Fences:
        """Fences as they were saved, beside an engine with the same subscriptions; raises `SegmentError`."""
        try:
            with Path(path).open(encoding="utf-8") as file:
                head = json.loads(file.readline())
                if head["tocsin fences"] != _VERSION:
                    raise ValueError(f"version {head['tocsin fences']}")
                fences = cls(engine, **head["followed"], **head["rules"])
                for line in file:
                    key, last, stays, at = json.loads(line)
                    own = {one: Stay(*rest) for one, *rest in stays}
                    visits = fences._objects[key] = Visits(own, last, at and (float(at[0]), float(at[1])))
                    fences._await(key, visits)
        except OSError as error:
            raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise SegmentError(f"{path} holds no fences of this version: {error!r:.80}. Save them again.") from None
        if len(fences) != head.get("objects"):
            raise SegmentError(f"{path} holds {len(fences)} of {head.get('objects')} objects. Save them again.")
        return fences


def _without_key(row: int, key: str) -> Reject:
    return Reject(row, None, key, f"it has no value of {key!r}, by which objects are told apart")


def _seconds_of(moment: Any) -> float | None:
    """A time in seconds: a number as it is, an instant since 1970; None for what is neither."""
    if isinstance(moment, str):
        read = read_instant(moment)
        return None if read is None else read.microseconds / 1e6
    if isinstance(moment, date):
        return Instant.of(moment).microseconds / 1e6
    is_number = isinstance(moment, int | float) and not isinstance(moment, bool)
    return float(moment) if is_number and abs(moment) < float("inf") else None


def _column(keys: list[Any], kind: pa.DataType) -> pa.Array:
    """Keys as those of the events; as texts where objects of other types were lost meanwhile."""
    try:
        return pa.array(keys, kind)
    except (pa.ArrowException, TypeError):
        return pa.array([one if isinstance(one, str) else json.dumps(one) for one in keys])
