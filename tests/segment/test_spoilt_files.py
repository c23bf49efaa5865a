"""What no compile writes is refused even where the checksums fit, and no compile spoils the files of another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tocsin
from tests.segment.samples import Damaged, asked, build
from tocsin.columns.compressed import CompressedTexts
from tocsin.segment import open_index, open_segment, write_index, write_segment
from tocsin.segment.publishing import Publication
from tocsin.segment.storage import segment_manifest

GOOD = {"id": "good", "where": "n = 1"}


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return Damaged(tmp_path / "s")


SPOILT: dict[str, tuple[str, int | slice, Any]] = {  # the array, where in it, and what is put there
    "attributes.starts big": ("index.attributes.starts", 1, 2**40),
    "attributes.starts negative": ("index.attributes.starts", 1, -5),
    "transforms.starts big": ("index.transforms.starts", 1, 2**40),
    "regexes.starts big": ("index.regexes.starts", 1, 2**40),
    "transform of a regex": ("index.regexes.transforms", 0, 60_000),
    "regex that is none": ("index.regexes.data", 0, ord("(")),
    "ids not UTF-8": ("ids.data", 0, 255),
    "sources not UTF-8": ("sources.data", 0, 255),
    "ids out of order": ("ids.data", 0, ord("z")),
    "ids twice": ("ids.data", 0, ord("b")),
    "types in a set": ("index.expressions.set_types", 0, 200),
    "operation of a leaf": ("index.expressions.leaf_operations", slice(None), 99),
    "token of a pattern": ("index.expressions.pattern_tokens", slice(None), 30_000),
    "box of NaN": ("index.expressions.boxes", slice(None), np.nan),
    "constant of NaN": ("index.expressions.constants", slice(None), np.nan),
}


@pytest.mark.parametrize("what", SPOILT)
def test_spoilt_numbers_are_refused(damaged: Damaged, what: str) -> None:
    """A segment opens only when every number in it is one that matching can use."""
    name, at, value = SPOILT[what]
    array = damaged.array(name)
    array.reshape(-1)[at] = value
    damaged.put(name, array)

    with pytest.raises(tocsin.SegmentError):
        open_segment(damaged.folder)


BLOCKS: dict[str, tuple[str, int | slice, Any]] = {  # an array of compressed texts, where in it, and what
    "a size": ("sizes", 0, 3),
    "a size beyond memory": ("sizes", 0, 2**60),
    "a negative size": ("sizes", 0, -1),
    "an offset": ("starts", 1, 2**40),
    "bytes": ("data", slice(3, 9), 255),
}


@pytest.mark.parametrize("what", BLOCKS)
def test_spoilt_blocks_of_texts_are_refused_when_they_are_read(damaged: Damaged, what: str) -> None:
    name, at, value = BLOCKS[what]
    segment = build()
    write_segment(replace(segment, sources=CompressedTexts.of_arrow(segment.sources.arrow())), damaged.folder)
    damaged.manifest = segment_manifest(damaged.folder)
    array = damaged.array(f"sources.blocks.{name}")
    array[at] = value
    damaged.put(f"sources.blocks.{name}", array)

    with pytest.raises(tocsin.SegmentError, match="Compile the index again"):
        open_segment(damaged.folder).sources.text(0)


SHAPES: dict[str, tuple[str, dict[str, Any] | None]] = {  # the array, and its new entry; None adds a dimension
    "boxes of two": ("index.expressions.boxes", {"shape": [2, 2]}),
    "boxes in one row": ("index.expressions.boxes", {"shape": [4]}),
    "program of columns": ("index.expressions.program", None),
    "scores of another type": ("scores", {"dtype": "<i8"}),
    "offset infinite": ("scores", {"offset": float("inf")}),
}


@pytest.mark.parametrize("what", SHAPES)
def test_spoilt_shapes_and_types_are_refused(damaged: Damaged, what: str) -> None:
    """The types and shapes in the manifest are those that the kernels read, or the segment does not open."""
    name, change = SHAPES[what]
    entry = damaged.manifest["arrays"][name]
    entry.update(change or {"shape": [*entry["shape"], 1]})
    damaged.seal()

    with pytest.raises(tocsin.SegmentError):
        open_segment(damaged.folder)


@pytest.mark.parametrize(("key", "value"), [("arrays", []), ("subscriptions", 99)])
def test_manifests_that_contradict_themselves_are_refused(damaged: Damaged, key: str, value: Any) -> None:
    """A manifest lists its arrays by name and counts the subscriptions that they hold."""
    damaged.manifest[key] = value
    damaged.seal()

    with pytest.raises(tocsin.SegmentError):
        open_segment(damaged.folder)


def test_a_publication_keeps_the_parts_of_a_compile_that_is_still_writing(tmp_path: Path) -> None:
    """Of two compiles at once each may publish, and the index opens after the last."""
    with Publication(tmp_path) as slow:
        slow.write(0, build([GOOD]))
        write_index(tmp_path, build([GOOD]))
        slow.publish([slow.place(0)], 1, "string")

    assert asked(open_index(tmp_path), [{"n": 1}]) == [(0, "good", 1.0)]
