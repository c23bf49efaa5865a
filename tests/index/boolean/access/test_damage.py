"""Damage to the numbers of an access index is refused when it is opened, and none harms the process that reads it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.segment.samples import Damaged, asked
from tests.segment.spoiling import ASKED, AccessDamaged, Spoil, all_of, one_of
from tests.sizes import sized
from tests.waiting import HANG_S
from tocsin.errors import SegmentError
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.access.kernels.layouts import NARROW, WIDE
from tocsin.segment import Snapshots, open_segment
from tocsin.segment.storage import ARRAYS

ROOT = Path(__file__).parents[4]
LARGE = 10**6
TABLES = ("fields", "single_runs", "singles", "conjunction_runs", "conjunctions", "program_runs", "program_postings")
CLASSES = "index.fields.kinds,index.conjunction_runs.run_widths,index.program_runs.run_widths"
LISTS = "index.single,index.conjunction,index.program,index.subscriptions"
REST = "index.expressions,index.attributes,index.vocabulary,index.transforms,index.regexes"


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return AccessDamaged(tmp_path / "s")


def own_arrays() -> dict[str, np.ndarray]:
    return dict(AccessDamaged.built.matcher.arrays())


def swapped(name: str) -> Spoil:
    def spoil(damaged: Damaged) -> None:
        array = damaged.array(name)
        place = int(np.flatnonzero(np.diff(array))[0])
        array[[place, place + 1]] = array[[place + 1, place]]
        damaged.put(name, array)

    return spoil


def more_than_all(name: str, of: str) -> Spoil:
    """One number that is just beyond the last of another array."""
    return lambda damaged: one_of(name, -1, len(damaged.array(of)))(damaged)


def in_predicates(column: int, change: Callable[[np.ndarray], object]) -> Spoil:
    def spoil(damaged: Damaged) -> None:
        rows = damaged.array("index.conjunctions.predicates").reshape(-1, NARROW)
        rows[:, column] = change(rows[:, column])
        damaged.put("index.conjunctions.predicates", rows.reshape(-1))

    return spoil


I = "index."  # noqa: E741
STARTS = (
    "fields.starts",
    "fields.operand_starts",
    "single_runs.starts",
    "conjunction_runs.starts",
    "program_runs.starts",
)
RUN_STARTS = ("single_runs.run_starts", "conjunction_runs.run_starts", "program_runs.run_starts")
RUN_STOPS = ("single_runs.run_stops", "conjunction_runs.run_stops", "program_runs.run_stops")
OWNERS = ("singles.owners", "conjunctions.owners", "programs.owners", "programs.uncovered", "program_postings.owners")
OUT_OF_RANGE: dict[str, Spoil] = {
    **{f"{name} not monotone": swapped(I + name) for name in (*STARTS, *RUN_STARTS, *RUN_STOPS, "conjunctions.tails")},
    **{f"{name} from the middle": one_of(I + name, 0, 1) for name in (*STARTS, *RUN_STARTS, "conjunctions.tails")},
    **{f"{name} beyond the end": one_of(I + name, -1, LARGE) for name in (*STARTS, *RUN_STARTS, *RUN_STOPS)},
    **{f"{name} short of the end": one_of(I + name, -1, 0) for name in (*STARTS, *RUN_STARTS, *RUN_STOPS)},
    **{f"{name} negative": one_of(I + name, 1, -1) for name in (*STARTS, *RUN_STARTS, *RUN_STOPS, *OWNERS)},
    **{f"{name} too large": one_of(I + name, 0, LARGE) for name in OWNERS},
    **{f"{name} all too large": all_of(I + name, 2**31 - 1) for name in OWNERS},
    "owner of a single just beyond": lambda damaged: one_of(I + "singles.owners", 0, len(AccessDamaged.built))(damaged),
    "program just beyond": more_than_all(I + "program_postings.owners", I + "programs.owners"),
    "uncovered just beyond": more_than_all(I + "programs.uncovered", I + "programs.owners"),
    "programs out of order": swapped(I + "programs.owners"),
    "one program twice": lambda damaged: one_of(I + "programs.owners", 1, int(damaged.array(I + "programs.owners")[0]))(
        damaged
    ),
    "kind of a field": one_of(I + "fields.kinds", 0, 13),
    "kinds of all fields": all_of(I + "fields.kinds", 255),
    "transform of a field": one_of(I + "fields.transforms", 0, 60_000),
    "transform just beyond": one_of(I + "fields.transforms", 0, 2),
    "tail beyond the end": one_of(I + "conjunctions.tails", 0, 2**32 - 1),
    "tails all alike": all_of(I + "conjunctions.tails", 0),
    "fields of predicates": in_predicates(0, lambda column: column | 1 << 30),
    "negative fields of predicates": in_predicates(0, lambda column: column | np.int32(-(2**31))),
    "predicates without an end": in_predicates(0, lambda column: column & ~2),
    "predicates that all end": in_predicates(0, lambda column: column | 2),
    "predicates of no width": one_of(I + "conjunctions.stride", 0, 0),
    "predicates of another width": one_of(I + "conjunctions.stride", 0, WIDE),
    "number of subscriptions": one_of(I + "subscriptions", 0, 3),
    "negative number of subscriptions": one_of(I + "subscriptions", 0, -1),
    "one subscription more": one_of(I + "subscriptions", 0, len(AccessDamaged.built) + 1),
    "subscriptions beyond 32 bits": one_of(I + "subscriptions", 0, 2**40),
    "leaf of a program": one_of(I + "expressions.program", 0, LARGE),
    "attributes beyond the end": one_of(I + "attributes.starts", -1, LARGE),
}


@pytest.mark.parametrize("what", OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused_even_with_a_fitting_checksum(damaged: Damaged, what: str) -> None:
    """Kernels check nothing, so opening checks every offset and number of the lists."""
    OUT_OF_RANGE[what](damaged)

    with pytest.raises(SegmentError):
        open_segment(damaged.folder)


def kind_of_lists(table: str) -> Spoil:
    """The fields that have such lists become fields of list elements, of which an event may have many."""

    def spoil(damaged: Damaged) -> None:
        kinds = damaged.array(I + "fields.kinds")
        used = np.diff(damaged.array(f"{I}{table}.starts")) > 0
        kinds[used & (kinds < 4)] += 8
        damaged.put(I + "fields.kinds", kinds)

    return spoil


UNSOUND: dict[str, Spoil] = {  # what is in range, but would lead a kernel out of its arrays
    "singles on elements of lists": kind_of_lists("single_runs"),
    "conjunctions on elements of lists": kind_of_lists("conjunction_runs"),
    "ranges on elements of lists": all_of(I + "program_postings.highs", 2**31 - 1),
    "ranges from the lowest on elements of lists": all_of(I + "program_postings.lows", 0),
    "elements of lists through a transform": all_of(I + "fields.transforms", 1),
    "no run tests the first predicate": all_of(I + "conjunction_runs.run_widths", -1),
    "no run of programs tests a key": all_of(I + "program_runs.run_widths", -3),
}


@pytest.mark.parametrize("what", UNSOUND)
def test_numbers_that_would_lead_kernels_astray_are_refused(damaged: Damaged, what: str) -> None:
    """A list fits the kind of its field: what an event may have many of has keys of one code, and no ranges."""
    UNSOUND[what](damaged)

    with pytest.raises(SegmentError):
        open_segment(damaged.folder)


ENDS: dict[str, Spoil] = {
    "low end of a single": all_of(I + "singles.lows", LARGE),
    "high end of a single": all_of(I + "singles.highs", LARGE),
    "low end of a predicate": in_predicates(1, lambda ends: ends | 0x7FFF),
    "high end of a predicate": in_predicates(1, lambda ends: ends & 0xFFFF | 0x7FFF << 16),
}


@pytest.mark.parametrize("what", ENDS)
def test_ends_that_are_no_operands_codes_are_refused(damaged: Damaged, what: str) -> None:
    """Every end of a range is an operand's code or none: `expressions` looks operands up by them."""
    ENDS[what](damaged)

    with pytest.raises(SegmentError):
        open_segment(damaged.folder)


@pytest.mark.parametrize("name", sorted(own_arrays()))
def test_arrays_that_are_missing_or_not_what_kernels_read_are_refused(name: str) -> None:
    """`load` takes no array of another type or more dimensions, and does without none."""
    arrays = own_arrays()
    array = arrays.pop(name)

    for other in (array.astype(np.float32), array.reshape(*array.shape, 1)):
        with pytest.raises(ValueError):
            Access.load(arrays | {name: other})
    with pytest.raises((KeyError, ValueError)):
        Access.load(arrays)


COUNTED = sorted(
    name for name in own_arrays() if name.split(".")[0] in TABLES or "leaf_" in name or name == "programs.owners"
)


@pytest.mark.parametrize("name", COUNTED)
def test_arrays_of_another_length_are_refused(name: str) -> None:
    """`load` takes no array that is shorter or longer than the others ask for."""
    arrays = own_arrays()
    array = arrays[name]

    for other in (array[:-1], array[:0], np.concatenate([array, array[-1:]])):
        with pytest.raises(ValueError):
            Access.load(arrays | {name: other})


def test_a_program_is_verified_on_every_event_once() -> None:
    """The programs without a cover are each named once: more of them than programs would fill more than the room."""
    arrays = own_arrays()
    uncovered = arrays["programs.uncovered"]

    with pytest.raises(ValueError):
        Access.load(arrays | {"programs.uncovered": np.repeat(uncovered, 2)})


def test_every_table_of_the_index_is_spoilt_here(damaged: Damaged) -> None:
    """The sample has something in every array of the index but what its subscriptions cannot need."""
    names = [name for name in damaged.manifest["arrays"] if name.split(".")[:2][-1] in (*TABLES, "programs")]

    assert len(names) == 31
    assert all(damaged.array(name).size for name in names)
    assert np.diff(damaged.array(I + "conjunction_runs.starts")).max() > 48


def test_unspoilt_numbers_written_again_are_accepted(damaged: Damaged) -> None:
    """What these tests do to a folder is no damage by itself, and the file answers like memory."""
    for name in list(damaged.manifest["arrays"]):
        damaged.put(name, damaged.array(name))

    found = asked(Snapshots.of([open_segment(damaged.folder)]), ASKED)
    assert found == asked(Snapshots.of([AccessDamaged.built]), ASKED)
    assert len(found) > 500


def test_a_flipped_bit_is_found_or_does_no_harm(damaged: Damaged) -> None:
    """Whichever bit of the arrays flips, without a checksum that fits: it is refused, or lies between the arrays."""
    path = damaged.folder / ARRAYS
    whole = path.read_bytes()
    expected = asked(Snapshots.of([AccessDamaged.built]), ASKED)
    rng = np.random.default_rng(1)

    for place in rng.integers(0, 8 * len(whole), 100).tolist():
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            answers = asked(Snapshots.of([open_segment(damaged.folder)]), ASKED)
        except SegmentError:
            continue

        assert answers == expected, f"bit {place}"


@pytest.mark.parametrize(
    ("group", "trials"),
    [
        ("crafted", 0),
        *(
            (group, sized(count // 4, count))
            for group, count in ((CLASSES, 150), ("index.fields", 250), (LISTS, 350), (REST, 150))
        ),
    ],
    ids=lambda v: str(v)[:20],
)
def test_no_spoilt_number_harms_the_process(group: str, trials: int, tmp_path: Path) -> None:
    """Whatever is spoilt, it is refused, or else asking does not crash, stays in its memory and finds what exists."""
    command = [
        sys.executable,
        "-m",
        "tests.segment.spoiling",
        str(tmp_path / "s"),
        group,
        str(sized(trials // 4, trials)),
    ]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S, check=False)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""
