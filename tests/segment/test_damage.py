"""Damage to a segment's files is found when it is opened, before any kernel reads them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tocsin
from tests import fork_server
from tests.segment.samples import Damaged, asked, build
from tests.sizes import sized
from tests.waiting import HANG_S
from tocsin.errors import SegmentError
from tocsin.kernels import codes
from tocsin.segment import Snapshots, open_segment, write_index, write_segment

FLIPS = sized(200, 600)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return Damaged(tmp_path / "s")


@pytest.mark.parametrize("name", ["arrays.bin", "manifest.json"])
def test_a_flipped_bit_is_found_or_does_no_harm(name: str, tmp_path: Path) -> None:
    """Whichever bit of a file flips: it is refused, or the answers are what they were."""
    write_segment(build(), tmp_path / "s")
    expected = asked(Snapshots.of([build()]))
    path = tmp_path / "s" / name
    whole = path.read_bytes()
    places = random.Random(name).sample(range(len(whole) * 8), FLIPS)
    refused = 0

    for place in places:
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            answers = asked(Snapshots.of([open_segment(tmp_path / "s")]))
        except SegmentError:
            refused += 1
            continue

        assert answers == expected, f"bit {place} of {name}"
    assert refused > FLIPS / 2


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("name", ["arrays.bin", "manifest.json"])
def test_a_cut_file_is_refused(name: str, share: float, tmp_path: Path) -> None:
    """A file shorter than it was written is damaged."""
    write_segment(build(), tmp_path / "s")
    path = tmp_path / "s" / name
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])

    with pytest.raises(SegmentError, match="damaged"):
        open_segment(tmp_path / "s")


def test_a_longer_file_is_refused(tmp_path: Path) -> None:
    """So is one with something behind its end."""
    write_segment(build(), tmp_path / "s")
    with (tmp_path / "s" / "arrays.bin").open("ab") as file:
        file.write(b"\0")

    with pytest.raises(SegmentError, match="bytes, not"):
        open_segment(tmp_path / "s")


@pytest.mark.parametrize("name", ["arrays.bin", "manifest.json"])
def test_a_missing_file_is_refused(name: str, tmp_path: Path) -> None:
    """The message names the file."""
    write_segment(build(), tmp_path / "s")
    (tmp_path / "s" / name).unlink()

    with pytest.raises(SegmentError, match=name):
        open_segment(tmp_path / "s")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("version", 7, "version 7; this tocsin reads 9"),
        ("version", "7", "version 7"),
        ("format", "tocsin index", "is a tocsin index, not a tocsin segment"),
        ("index", "no such index", "files do not describe a segment"),
        ("ids", "int64", "files do not describe a segment"),
        ("options", {"segments": 4}, "files do not describe a segment"),
        ("size", 1, "bytes, not 1"),
    ],
)
def test_a_manifest_that_says_otherwise_is_refused(damaged: Damaged, key: str, value: Any, message: str) -> None:
    """Another version, format, index, option, kind of ids or size is refused, with what came."""
    damaged.manifest[key] = value
    damaged.seal()

    with pytest.raises(SegmentError, match=message):
        open_segment(damaged.folder)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((text, "that of another program") for text in ("[]", "null", "{}", "5", '{"crc32": 0}')),
        *((text, "damaged") for text in ("", '{"format": "tocsin segment"}', "\xff")),
    ],
)
def test_a_manifest_that_is_none_is_refused(text: str, told: str, tmp_path: Path) -> None:
    """Whatever else lies in the file is damage, or of another program."""
    write_segment(build(), tmp_path / "s")
    (tmp_path / "s" / "manifest.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(SegmentError, match=told):
        open_segment(tmp_path / "s")


@pytest.mark.parametrize("key", ["arrays", "index", "ids", "size", "reason"])
def test_a_manifest_that_lacks_something_is_refused(damaged: Damaged, key: str) -> None:
    """Every entry is needed."""
    del damaged.manifest[key]
    damaged.seal()

    with pytest.raises(SegmentError, match="do not describe a segment"):
        open_segment(damaged.folder)


def test_every_array_is_needed(damaged: Damaged) -> None:
    """A manifest without one of the arrays describes no segment."""
    arrays = damaged.manifest["arrays"]
    for name in list(arrays):
        entry = arrays.pop(name)
        damaged.seal()

        with pytest.raises(SegmentError):
            open_segment(damaged.folder)
        arrays[name] = entry


@pytest.mark.parametrize("offset", [64 * 10**9, 1, 2**62])
def test_an_array_outside_its_file_is_refused(damaged: Damaged, offset: int) -> None:
    """Offsets are aligned and within the file."""
    damaged.manifest["arrays"]["scores"]["offset"] = offset
    damaged.seal()

    with pytest.raises(SegmentError, match="outside its file"):
        open_segment(damaged.folder)


def first(value: Any) -> Callable[[np.ndarray], None]:
    return lambda array: array.__setitem__(0, value)


def last(value: Any) -> Callable[[np.ndarray], None]:
    return lambda array: array.__setitem__(-1, value)


def whole(value: Any) -> Callable[[np.ndarray], None]:
    return lambda array: array.fill(value)


def swapped(array: np.ndarray) -> None:
    array[[1, 2]] = array[[2, 1]]


E, LARGE = "index.expressions.", 10**6
OUT_OF_RANGE: dict[str, tuple[str, Callable[[np.ndarray], None]]] = {
    "leaf of a program": (E + "program", first(LARGE)),
    "leaf just beyond the last": (E + "program", first(-3)),
    "mark without a length": (E + "program", last(codes.OPEN_OR)),
    "marks all over": (E + "program", whole(codes.OPEN_AND)),
    "programs not monotone": (E + "program_starts", swapped),
    "programs from the middle": (E + "program_starts", first(1)),
    "programs beyond the end": (E + "program_starts", last(LARGE)),
    "kind of a leaf": (E + "leaf_kinds", last(200)),
    "lazy leaf among the eager": (E + "leaf_kinds", first(codes.IS_NULL)),
    "type of a leaf": (E + "leaf_types", first(9)),
    "attribute of an eager leaf": (E + "leaf_attributes", lambda array: array.__setitem__(0, array[0] + 1)),
    "attribute of a leaf": (E + "leaf_attributes", whole(LARGE)),
    "negative attribute": (E + "leaf_attributes", whole(-1)),
    "what leaves refer to": (E + "leaf_others", whole(LARGE)),
    "what leaves refer to, negative": (E + "leaf_others", whole(-1)),
    "transform of a leaf": (E + "leaf_transforms", first(99)),
    "eager leaves not monotone": (E + "eager_starts", first(5)),
    "sets not monotone": (E + "set_starts", last(0)),
    "sets beyond the end": (E + "set_starts", last(LARGE)),
    "patterns beyond the end": (E + "pattern_starts", last(LARGE)),
    "terms not monotone": (E + "term_starts", swapped),
    "step of a term": (E + "term_codes", first(99)),
    "term that takes more values than it has": (E + "term_codes", whole(codes.TERM_ADD)),
    "term that leaves two values": (E + "term_codes", whole(codes.TERM_NULL)),
    "argument of a term": (E + "term_arguments", whole(LARGE)),
    "negative argument of a term": (E + "term_arguments", whole(-1)),
    "transform of a term": (E + "term_transforms", whole(99)),
    "truth programs beyond the end": (E + "truth_starts", last(LARGE)),
    "step of a truth program": (E + "truth_codes", first(99)),
    "truth program that takes more values than it has": (E + "truth_codes", whole(codes.TRUTH_OR)),
    "truth program that leaves two values": (E + "truth_codes", last(codes.TRUTH_NOT)),
    "leaf of a truth program": (E + "truth_arguments", whole(LARGE)),
    "negative leaf of a truth program": (E + "truth_arguments", whole(-1)),
    "score": ("scores", first(np.nan)),
    "infinite score": ("scores", last(np.inf)),
    "ids not monotone": ("ids.starts", last(0)),
    "ids beyond the end": ("ids.starts", last(LARGE)),
    "sources not monotone": ("sources.starts", swapped),
    "sources beyond the end": ("sources.starts", last(LARGE)),
    "vocabulary beyond the end": ("index.vocabulary.starts", first(2**40)),
    "attributes beyond the end": ("index.attributes.starts", last(2**33)),
    "attributes that are not UTF-8": ("index.attributes.data", first(255)),
    "unknown transform": ("index.transforms.data", whole(ord("x"))),
}


@pytest.mark.parametrize("what", OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused_even_with_a_fitting_checksum(damaged: Damaged, what: str) -> None:
    """Kernels check nothing, so opening checks everything."""
    name, spoil = OUT_OF_RANGE[what]
    array = damaged.array(name)
    spoil(array)
    damaged.put(name, array)

    with pytest.raises(SegmentError):
        open_segment(damaged.folder)


def test_a_program_that_points_just_beyond_the_leaves_is_refused(damaged: Damaged) -> None:
    """The first leaf number that does not exist is out of range."""
    program, leaves = damaged.array(E + "program"), len(damaged.array(E + "leaf_kinds"))
    place = int(np.flatnonzero(program >= 0)[0])
    program[place] = 2 * leaves
    damaged.put(E + "program", program)

    with pytest.raises(SegmentError, match="program is not well formed"):
        open_segment(damaged.folder)


def test_unspoilt_numbers_written_again_are_accepted(damaged: Damaged) -> None:
    """What these tests do to a folder is no damage by itself."""
    for name in list(damaged.manifest["arrays"]):
        damaged.put(name, damaged.array(name))

    assert asked(Snapshots.of([open_segment(damaged.folder)])) == asked(Snapshots.of([build()]))


@pytest.mark.slow("a process opens and asks each damaged index")
@pytest.mark.parametrize(
    "load",
    [
        *("scan", "access", "dense", "regions"),
        # These save what `scan` does, and are built anew.
        *(pytest.param(one, marks=pytest.mark.long) for one in ("opindex", "k_index", "be_tree")),
    ],
)
def test_no_extreme_in_any_array_harms_the_process(load: str, tmp_path: Path) -> None:
    """Each array of each index: what opens can be matched, ranked, relaxed, merged and told of, or is refused."""
    command = [*fork_server.python(), "-m", "tests.segment.extremes", str(tmp_path / "s"), load, str(sized(30, 300))]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S, check=False)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""


def test_a_damaged_index_is_one_clear_line_for_match(tmp_path: Path) -> None:
    """`tocsin.match` refuses it and says what to do."""
    written = write_index(tmp_path, build([{"id": "a", "where": "n = 1"}]))
    manifest = tmp_path / f"version-{written.version}" / "part-00000" / "manifest.json"
    assert len(tocsin.match(tmp_path, [{"n": 1}])) == 1
    manifest.write_text(manifest.read_text().replace('"subscriptions": 1', '"subscriptions": 2'))

    with pytest.raises(SegmentError, match=r"checksum does not match\. Compile the index again\."):
        tocsin.match(tmp_path, [{"n": 1}])
