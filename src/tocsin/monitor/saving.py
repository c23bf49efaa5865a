"""What a monitor knows, as a file has it, and the inverse: nothing of a file becomes an index unchecked."""

from __future__ import annotations

import json
import math
from dataclasses import astuple
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.language import to_text
from tocsin.model.change import Identity
from tocsin.model.subscription import SubscriptionId
from tocsin.monitor.files import SavedMonitor, SavedTerm
from tocsin.monitor.objects import LONG_AGO
from tocsin.monitor.processing import Processing
from tocsin.monitor.reordering import BufferedVisit
from tocsin.monitor.saved_events import event_as_json, event_of_json, reading_as_json, reading_of_json
from tocsin.monitor.terms.columns import Codes
from tocsin.monitor.terms.memory.layouts import PREVIOUS, WIDTHS, Cells
from tocsin.monitor.terms.memory.saved_cells import FARTHEST, code_places, only_of, require_sound
from tocsin.monitor.terms.registry import TermRegistry
from tocsin.monitor.turns import State
from tocsin.monitor.visiting import Reading

_CODED: Final = 4
"""The types of values that have codes are smaller."""


def saved_of(processing: Processing) -> SavedMonitor:
    """All that a monitor knows. Cost: linear in it."""
    processing.require_whole()
    matcher, holding, objects = processing.matcher, processing.buffer, processing.objects
    numbers = objects.numbers()
    places = np.full(objects.count, -1, np.int64)
    places[numbers] = np.arange(len(numbers))
    readings = _Readings()
    codes, cells = _with_few_codes(
        [memory.cells() for memory, _ in matcher.memories()], _kinds(matcher.registry), matcher.codes
    )
    held = [] if holding is None else holding.held
    return SavedMonitor(
        processing.options.as_json(),
        list(matcher.registry.keys),
        [SavedTerm(to_text(row.node), row.key, WIDTHS[row.kind]) for row in matcher.registry.rows],
        codes,
        readings.saved,
        None if holding is None else holding.clock,
        processing.floor,
        processing.events,
        [_object_row(processing, number, readings) for number in numbers],
        [
            [one.instant, one.arrival, int(places[one.object]), readings.number(one.how), event_as_json(one.record)]
            for one in held
        ],
        [one._replace(owners=places[one.owners].astype(np.int32)) for one in cells],
    )


def _object_row(processing: Processing, number: int, readings: _Readings) -> list[Any]:
    """The key, identity, latest instant, states and latest event of an object."""
    key, identity = processing.objects.identity(number)
    states = processing.states.by_object.get(number, {})
    latest = processing.matcher.latest.records.get(number)
    event = [] if latest is None else [readings.number(latest[1]), event_as_json(latest[0])]
    rows = [[id, *astuple(state)] for id, state in states.items()]
    return [key, identity, int(processing.objects.latest[number]), rows, *event]


class _Readings:
    """Ways of reading by number, equal ones once."""

    def __init__(self) -> None:
        self.saved: list[Any] = []
        self._numbers: dict[str, int] = {}
        self._last: tuple[Reading, int] | None = None

    def number(self, how: Reading) -> int:
        """The number of a way of reading."""
        if self._last is not None and self._last[0] is how:
            return self._last[1]
        plain = reading_as_json(how)
        number = self._numbers.setdefault(json.dumps(plain), len(self.saved))
        if number == len(self.saved):
            self.saved.append(plain)
        self._last = how, number
        return number


def _kinds(registry: TermRegistry) -> NDArray[np.int64]:
    return np.array([row.kind for row in registry.rows], np.int64)


def _with_few_codes(
    memories: list[Cells], kinds: NDArray[np.int64], known: Codes
) -> tuple[list[tuple[int, str | int]], list[Cells]]:
    """The values that cells have codes of, and the cells with these values' places as codes."""
    places = [code_places(cells, kinds) for cells in memories]
    words = [cells.words[own] for cells, own in zip(memories, places, strict=True)]
    used = np.unique(np.concatenate([np.empty(0, np.int64), *words]))
    for cells, own in zip(memories, places, strict=True):
        cells.words[own] = np.searchsorted(used, cells.words[own])
    return [known.pair(code) for code in used.tolist()], memories


# ---- back


def restore(processing: Processing, saved: SavedMonitor) -> None:
    """Give a new monitor what a file says. Raises what the content of a damaged file raises."""
    keys = [processing.matcher.registry.key_number(names) for names in saved.keys]
    readings = [reading_of_json(one) for one in saved.readings]
    processing.floor, processing.events = _instant(saved.floor), saved.events
    states = {}
    for number, (key, identity, latest, rows, *event) in enumerate(saved.objects):
        own = _identity(identity, len(_at(saved.keys, key)))
        if processing.objects.number_of(keys[key], own) != number:
            raise ValueError
        processing.objects.latest[number] = _instant(latest)
        if rows:
            states[number] = dict(_state(row) for row in rows)
        if event:
            how, record = event
            processing.matcher.latest.records[number] = event_of_json(record), _at(readings, how)
    processing.states.restore(states)
    if processing.buffer is not None:
        clock = None if saved.clock is None else _instant(saved.clock)
        processing.buffer.restore(clock, [_held(row, saved, readings) for row in saved.held])
    _restore_cells(processing, saved)


def _restore_cells(processing: Processing, saved: SavedMonitor) -> None:
    matcher, count = processing.matcher, len(saved.objects)
    codes = np.array([_code(matcher.codes, *pair) for pair in saved.codes], np.int64)
    kinds = _kinds(matcher.registry)
    for (memory, terms), cells in zip(matcher.memories(), saved.cells, strict=False):
        sound = _known_cells(cells, terms, matcher.registry, saved)
        require_sound(sound, kinds, len(codes))
        places = code_places(sound, kinds)
        sound.words[places] = codes[sound.words[places]]
        memory.restore(sound, count)
        if memory is matcher.memory:
            waiting = sound.owners[kinds[sound.terms] < PREVIOUS].tolist()
            if not matcher.latest.records.keys() >= set(waiting):
                raise ValueError  # time will change something, and no event stands
    matcher.attend(processing.passed())


def _known_cells(cells: Cells, asked: set[int], registry: TermRegistry, saved: SavedMonitor) -> Cells:
    """The cells of terms that are asked for, by their numbers of today."""
    numbers, widths = np.full(len(saved.terms), -1, np.int64), np.ones(len(saved.terms), np.int64)
    for place, (text, key, width) in enumerate(saved.terms):
        widths[place] = width
        number = registry.find_text(text, registry.keys[saved.keys[key]])
        if number is not None and number in asked:
            if WIDTHS[registry.rows[number].kind] != width:
                raise ValueError
            numbers[place] = number
    return only_of(cells, numbers, np.arange(len(saved.objects)), widths)


def _instant(value: Any) -> int:
    if type(value) is not int or not (value == LONG_AGO or -FARTHEST < value < FARTHEST):
        raise ValueError
    return value


def _at(items: list[Any], place: Any) -> Any:
    if type(place) is not int or place < 0:
        raise ValueError
    return items[place]


def _identity(value: Any, parts: int) -> Identity:
    """An identity of so many parts."""
    values = value if isinstance(value, list) else [value]
    is_sound = all(type(one) in (str, int, float) and one == one for one in values)
    if not is_sound or isinstance(value, list) != (parts > 1) or len(values) != parts:
        raise ValueError
    return tuple(values) if isinstance(value, list) else values[0]


def _state(row: Any) -> tuple[SubscriptionId, State]:
    id, truth, since, steps, latest, begun, entered, dwelt = row
    counts = type(steps) is int and 0 <= steps < math.inf
    if not (type(id) in (str, int) and type(truth) is type(dwelt) is bool and counts):
        raise ValueError
    entry = None if begun is None else _instant(begun)
    return id, State(truth, _instant(since), steps, _instant(latest), entry, _instant(entered), dwelt)


def _held(row: Any, saved: SavedMonitor, readings: list[Reading]) -> BufferedVisit:
    instant, arrival, object, how, record = row
    if not (type(arrival) is type(object) is int and arrival < saved.events and 0 <= object < len(saved.objects)):
        raise ValueError
    return BufferedVisit(_instant(instant), arrival, object, event_of_json(record), _at(readings, how))


def _code(known: Codes, kind: Any, value: Any) -> int:
    if kind not in range(_CODED) or type(value) is not (str if kind == 1 else int):
        raise ValueError
    return known.code_of(kind, value)
