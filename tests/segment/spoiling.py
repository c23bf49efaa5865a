"""A process that spoils numbers of an access segment, opens and asks it, and tells which damage got through.

    python -m tests.segment.spoiling FOLDER GROUP TRIALS

Trials run in a fork, so that one which crashes is one line of output. A line is the damage and what it did: a signal,
memory that was written beyond its end, or matches that do not exist. No line: all is well.
"""

from __future__ import annotations

import copy
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.segment.samples import EVENTS, SUBSCRIPTIONS, Damaged, build
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import SegmentError
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.access.kernels.layouts import ANY, AT_LEAST
from tocsin.index.fields.kernels.layouts import ELEMENT
from tocsin.segment import Segment, open_segment, storage, write_segment
from tocsin.segment.storage import segment_manifest

COUNT: Final = 60  # more than a short list has
ARRAY: Final = [*range(-1, COUNT), *(f"w{k}" for k in range(COUNT)), True, "W1", "w1\u0301"]
RECORDS: Final = (
    *SUBSCRIPTIONS,
    *({"id": f"h{k:03}", "where": f"n = {k}"} for k in range(COUNT)),
    *({"id": f"i{k:03}", "where": f"n >= {k}"} for k in range(COUNT)),
    *({"id": f"j{k:03}", "where": f"n BETWEEN {k} AND {2 * k} AND m <> {k}"} for k in range(COUNT)),
    *({"id": f"k{k:03}", "where": f"NOT (o = {k})"} for k in range(COUNT)),
    *({"id": f"l{k:03}", "where": f"A_OVERLAPS(l, ('w{k}', {k}))"} for k in range(COUNT)),
    *({"id": f"m{k:03}", "where": f"s > 'w{k}' AND m >= {k} AND t IS NOT NULL"} for k in range(COUNT)),
    *({"id": f"n{k:03}", "where": f"CASEI(s) = 'w{k}' AND k > {k}"} for k in range(COUNT)),
    {"id": "o", "where": "n IS NULL"},
    {"id": "p", "where": "TRUE"},
    *({"id": f"q{k:03}", "where": f"NOT (z = {k})"} for k in range(COUNT)),  # the last predicates of all
)
ASKED: Final = (
    *EVENTS,
    *({"n": n, "m": n % 7, "o": n, "l": [n, f"w{n}"], "s": f"W{n}", "k": n + 1} for n in range(-1, COUNT, 5)),
    dict.fromkeys(("n", "m", "o", "l", "s", "k", "t"), ARRAY),
    {"n": 1, "o": 1, "m": 1, "s": "w1", "k": 9, "t": "x", "z": 7},
)
GUARD: Final = 4_096
PATTERN: Final = 0x6D  # as an index it leads far out of any array

Spoil = Callable[[Damaged], None]
Harm = Callable[[Damaged], str]


class AccessDamaged(Damaged):
    """A segment under `access` whose numbers can be changed."""

    built: Segment = build(RECORDS, "access")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_segment(self.built, folder)
        self.manifest = segment_manifest(folder)


def batch(segment: Segment = AccessDamaged.built) -> EventBatch:
    return encode_objects(enumerate(ASKED), Wanted(segment.matcher.attributes))


def all_of(name: str, value: Any) -> Spoil:
    def spoil(damaged: Damaged) -> None:
        array = damaged.array(name)
        array[:] = value
        damaged.put(name, array)

    return spoil


def one_of(name: str, place: int | slice, value: Any) -> Spoil:
    def spoil(damaged: Damaged) -> None:
        array = damaged.array(name)
        array.reshape(-1)[place] = value
        damaged.put(name, array)

    return spoil


CRAFTED: Final[dict[str, Spoil]] = {
    "every field is one of numbers in lists": all_of("index.fields.kinds", ELEMENT),
    "every field is one of strings in lists": all_of("index.fields.kinds", ELEMENT + 1),
    "every field is one of presence": all_of("index.fields.kinds", 7),
    "every field is one of numbers": all_of("index.fields.kinds", 0),
    "every field is folded": all_of("index.fields.transforms", 1),
    "every single holds for everything": all_of("index.singles.highs", 2**31 - 1),
    "every posting begins low": all_of("index.program_postings.lows", -(2**31)),
    "every posting ends high": all_of("index.program_postings.highs", 2**31 - 1),
    "every run of conjunctions is sure": all_of("index.conjunction_runs.run_widths", AT_LEAST),
    "every run of conjunctions is an equality": all_of("index.conjunction_runs.run_widths", 0),
    "every run of conjunctions is wide": all_of("index.conjunction_runs.run_widths", 2**31 - 1),
    "every run of singles is without ends": all_of("index.single_runs.run_widths", ANY),
    "every run of programs has a width below all": all_of("index.program_runs.run_widths", -(2**31)),
    "every bound is high": all_of("index.conjunctions.bounds", 2**31 - 1),
    "every filter is high": all_of("index.conjunctions.filters", 2**16 - 1),
    "operands all equal": all_of("index.fields.operands", 5),
    "one owner of all singles": all_of("index.singles.owners", 0),
    "one program in all postings": all_of("index.program_postings.owners", 0),
}


def random_spoils(damaged: Damaged, prefixes: tuple[str, ...], trials: int) -> Iterator[tuple[str, Spoil]]:
    """Single values, at random places of random arrays."""
    rng = random.Random(" ".join(prefixes))
    names = [name for name in damaged.manifest["arrays"] if name.startswith(prefixes) and damaged.array(name).size]
    for _ in range(trials):
        name = rng.choice(names)
        array = damaged.array(name).reshape(-1)
        place = rng.randrange(len(array))
        value = _another(rng, array, place)
        yield f"{name}[{place}] = {value} (was {array[place]})", one_of(name, place, value)


def _another(rng: random.Random, array: np.ndarray, place: int) -> Any:
    if array.dtype.kind == "f":
        return rng.choice([float("nan"), float("inf"), -1e308, 0.0, 0.5])
    limits, old = np.iinfo(array.dtype), int(array[place])
    near = [0, 1, -1, -2, -3, ELEMENT, old + 1, old - 1, len(array), len(array) - 1, 2 * len(array), 2**15, old ^ 256]
    far = [limits.min, limits.max, limits.max - 1, old ^ 1 << rng.randrange(limits.bits - 1), rng.randrange(200)]
    fitting = [value for value in near + far if limits.min <= value <= limits.max and value != old]
    return rng.choice(fitting)


def guard_memory() -> None:
    """Lay what an index reads and what it writes between guards, so that a step beyond an array's end is seen."""
    make, load = Access._new_scratch, storage._array
    Access._new_scratch = lambda self, pairs: _all_guarded(make(self, pairs))  # type: ignore[method-assign]
    storage._array = lambda *arguments: _guarded_for_reading(load(*arguments))  # type: ignore[assignment]


def _all_guarded(table: Any) -> Any:
    """A table, and the tables within it."""
    return type(table)(
        *(_all_guarded(part) if isinstance(part, tuple) else _guarded_for_writing(part) for part in table)
    )


_WRITTEN: list[np.ndarray] = []


def _between_guards(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of an array between guards, and the array within them."""
    size = array.nbytes
    whole = np.full(size + 2 * GUARD, PATTERN, np.uint8)
    within = whole[GUARD : GUARD + size].view(array.dtype).reshape(array.shape)
    within[...] = array
    return whole, within


def _guarded_for_writing(array: np.ndarray) -> np.ndarray:
    whole, within = _between_guards(array)
    _WRITTEN.append(whole)
    return within


def _guarded_for_reading(array: np.ndarray) -> np.ndarray:
    _, within = _between_guards(array)
    within.flags.writeable = False
    return within


def guards_hold() -> bool:
    return all((whole[:GUARD] == PATTERN).all() and (whole[-GUARD:] == PATTERN).all() for whole in _WRITTEN)


def harm(damaged: Damaged) -> str:
    """What opening and asking a spoilt segment does beyond refusing it; empty for nothing."""
    _WRITTEN.clear()
    try:
        segment = open_segment(damaged.folder)
    except SegmentError:
        return ""
    given = batch(segment)
    found = segment.matcher.match(given)
    if not guards_hold():
        return "wrote beyond its memory"
    numbers = found.subscriptions.astype(np.int64)
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(segment)):
        return "found subscriptions that do not exist"
    steps = found.events * len(segment) + numbers
    return "" if (steps[1:] > steps[:-1]).all() else "found subscriptions out of order"


def report(damaged: Damaged, spoils: Sequence[tuple[str, Spoil]], harm: Harm) -> None:
    """Try every damage and print those that do harm."""
    whole = (damaged.folder / "arrays.bin").read_bytes()
    for (what, _), outcome in zip(spoils, outcomes(damaged, [spoil for _, spoil in spoils], harm), strict=True):
        if outcome:
            print(f"{what}: {outcome}", flush=True)
        if outcome.startswith("killed"):
            (damaged.folder / "arrays.bin").write_bytes(whole)


def outcomes(damaged: Damaged, spoils: Sequence[Spoil], harm: Harm) -> Iterator[str]:
    """The harm that each damage does: all are tried in one fork, until one does harm, and the rest in the next."""
    done = 0
    while done < len(spoils):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _try_until_harm(damaged, spoils[done:], harm, writing)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as lines:
            for line in lines:
                done += 1
                yield line.rstrip()
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            done += 1
            yield f"killed by {signal.Signals(os.WTERMSIG(status)).name}"


def _try_until_harm(damaged: Damaged, spoils: Sequence[Spoil], harm: Harm, writing: int) -> None:
    """Write a line for each; what was harmed may crash later, so nothing else is tried after it."""
    for spoil in spoils:
        outcome = _tried(damaged, spoil, harm)
        os.write(writing, f"{outcome}\n".encode())
        if outcome:
            return


def _tried(damaged: Damaged, spoil: Spoil, harm: Harm) -> str:
    whole = (damaged.folder / "arrays.bin").read_bytes()
    entries = copy.deepcopy(damaged.manifest)
    try:
        spoil(damaged)
        return harm(damaged)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent is to hear of it
        return f"raised {error!r:.200}"
    finally:
        (damaged.folder / "arrays.bin").write_bytes(whole)
        damaged.manifest = entries


def main(folder: Path, group: str, trials: int) -> None:
    guard_memory()
    damaged = AccessDamaged(folder)
    assert harm(damaged) == ""  # compiles every kernel before the forks
    crafted = CRAFTED.items() if group == "crafted" else random_spoils(damaged, tuple(group.split(",")), trials)
    report(damaged, list(crafted), harm)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
