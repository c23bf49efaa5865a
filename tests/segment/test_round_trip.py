"""A segment read from disk answers like the one in memory that was written."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.segment.samples import EVENTS, SUBSCRIPTIONS, asked, build
from tests.sizes import sized
from tocsin.columns.compressed import CompressedTexts
from tocsin.errors import InvalidInput
from tocsin.index import Plan, choose
from tocsin.model.subscription import Subscription
from tocsin.segment import Snapshots, build_segment, merged, open_segment, write_segment
from tocsin.segment.storage import ARRAYS, MANIFEST, write_manifest

trees = st.lists(own.expressions(max_depth=5), min_size=1, max_size=8)
string_ids = st.lists(st.text(st.characters(codec="utf-8"), max_size=4), unique=True, min_size=8, max_size=8)
integer_ids = st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=8, max_size=8)


@settings(max_examples=sized(25, 80))
@given(
    names=st.one_of(string_ids, integer_ids),
    expressions=trees,
    events=st.lists(own.python_events(), max_size=6),
    scores=st.lists(st.sampled_from([1.0, -0.0, 1e308, 5e-324, -3.0]), min_size=8, max_size=8),
)
def test_a_written_segment_answers_like_the_one_in_memory(names, expressions, events, scores):
    """Matches, ids, scores and sources come back from the file."""
    segment = build_segment(
        [
            Subscription(name, tree, tocsin.to_text(tree), score)
            for name, tree, score in zip(names, expressions, scores, strict=False)
        ],
        Plan("scan", "tested"),
    )
    with tempfile.TemporaryDirectory() as folder:
        write_segment(segment, Path(folder) / "s")
        opened = open_segment(Path(folder) / "s")

        assert asked(Snapshots.of([opened]), events) == asked(Snapshots.of([segment]), events)
        assert asked(Snapshots.of([opened]), events, k=2) == asked(Snapshots.of([segment]), events, k=2)
        assert opened.sources.to_list() == segment.sources.to_list()
        assert opened.plan == segment.plan
        mine, other = opened.matcher.arrays(), segment.matcher.arrays()
        assert mine.keys() == other.keys()
        for name, array in mine.items():
            assert array.dtype == other[name].dtype
            assert np.array_equal(array, other[name])


@pytest.mark.parametrize("count", [1, 256, 600])
def test_compressed_texts_are_saved_as_they_are_held(tmp_path: Path, count: int) -> None:
    """They are not decompressed on the way to the file, nor when it is opened; a merge reads them all."""
    built = build([{"id": number, "where": f"n = {number} AND s = 'text {number}'"} for number in range(count)])
    segment = replace(built, sources=CompressedTexts.of_arrow(built.sources.arrow()))
    write_segment(segment, tmp_path / "s")
    opened = open_segment(tmp_path / "s")

    assert isinstance(opened.sources, CompressedTexts)
    assert opened.sources.data.tobytes() == segment.sources.data.tobytes()
    assert opened.sources.arrow() == built.sources.arrow()
    assert asked(Snapshots.of([opened]), EVENTS) == asked(Snapshots.of([built]), EVENTS)
    assert merged(Snapshots.of([opened]), choose("auto"))[0].sources.arrow() == built.sources.arrow()


def test_a_segment_of_the_version_before_is_read(tmp_path: Path) -> None:
    """Version 9 had no compressed texts, and is like version 10 in all else."""
    segment = build(SUBSCRIPTIONS)
    write_segment(segment, tmp_path / "s")
    for version in (9, 8, 11):
        manifest = json.loads((tmp_path / "s" / MANIFEST).read_text())
        del manifest["crc32"]
        write_manifest(tmp_path / "s" / MANIFEST, manifest | {"version": version})
        if version == 9:
            assert asked(Snapshots.of([open_segment(tmp_path / "s")]), EVENTS) == asked(Snapshots.of([segment]), EVENTS)
        else:
            with pytest.raises(tocsin.SegmentError, match=f"has version {version}; this tocsin reads 9 and 10"):
                open_segment(tmp_path / "s")


def test_every_kind_of_predicate_survives(tmp_path: Path) -> None:
    """Patterns, regular expressions, sets, boxes, terms and conditions as scalars answer from disk, and do match."""
    write_segment(build(), tmp_path / "s")

    answers = asked(Snapshots.of([open_segment(tmp_path / "s")]))

    assert answers == asked(Snapshots.of([build()]))
    assert {name for _, name, _ in answers} == {record["id"] for record in SUBSCRIPTIONS}
    assert len(answers) < len(EVENTS) * len(SUBSCRIPTIONS)


def test_arrays_are_mapped_and_frozen(tmp_path: Path) -> None:
    """What is read from disk is neither copied nor writable, as are the arrays in memory."""
    write_segment(build(), tmp_path / "s")

    opened = open_segment(tmp_path / "s")

    for segment in (opened, build()):
        assert not any(array.flags.writeable for array in segment.matcher.expressions().arrays)
        assert not segment.scores.flags.writeable
    assert not opened.matcher.expressions().arrays.program.flags.owndata


@pytest.mark.parametrize("records", [[], [{"id": 5, "where": "TRUE"}], [{"id": "", "where": "n IS NULL"}]])
def test_small_segments(records: list[dict[str, Any]], tmp_path: Path) -> None:
    """No subscription, or one without any attribute or with an empty id, is a segment like any other."""
    write_segment(build(records), tmp_path / "s")

    opened = Snapshots.of([open_segment(tmp_path / "s")])

    assert len(opened) == len(records)
    assert asked(opened) == asked(Snapshots.of([build(records)]))


@pytest.mark.parametrize(
    "index", ["opindex(segments=4, signature_bits=8)", "k_index(lowest=1, highest=9)", "be_tree(max_cap=1)"]
)
def test_an_index_is_built_anew_with_its_options(index: str, tmp_path: Path) -> None:
    """Where only the expressions are saved, what is opened is as large, and does as much, as what was written."""
    records = [{"id": f"s{n}", "where": f"n BETWEEN {n % 5} AND 9 AND m <> {n % 3} OR s = 'a'"} for n in range(40)]
    segment = build(records, index)
    write_segment(segment, tmp_path / "s")

    opened = open_segment(tmp_path / "s")

    assert opened.plan == segment.plan
    assert opened.matcher.sizes() == segment.matcher.sizes()
    assert asked(Snapshots.of([opened])) == asked(Snapshots.of([segment]))


def test_the_same_subscriptions_make_the_same_bytes(tmp_path: Path) -> None:
    """What is written depends on the subscriptions alone, not on their order."""
    write_segment(build(), tmp_path / "one")
    write_segment(build(SUBSCRIPTIONS[::-1]), tmp_path / "two")

    one, two = (asked(Snapshots.of([open_segment(tmp_path / name)])) for name in ("one", "two"))
    assert one == two
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == sorted([ARRAYS, MANIFEST])


def test_mixed_ids_cannot_be_built() -> None:
    """A segment has ids of one kind."""
    tree = tocsin.parse("n = 1")

    with pytest.raises(InvalidInput, match="use one kind"):
        build_segment([Subscription("1", tree, ""), Subscription(1, tree, "")], Plan("scan", ""))
