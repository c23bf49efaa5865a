"""A segment in a folder: `arrays.bin` holds every array, `manifest.json` describes them.

docs/format.md has the byte layout. The manifest is written last; a folder without one is not a segment.
"""

from __future__ import annotations

import json
import math
import mmap
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.compressed import CompressedTexts
from tocsin.columns.expressions.checks import ascending, require, require_type
from tocsin.columns.expressions.stored import restored_pieces, restored_texts, stored_texts
from tocsin.errors import SegmentError
from tocsin.index import Chosen, Plan, Question, index_builder, matcher_builder, questions
from tocsin.index.protocols import ALL_MATCHES
from tocsin.segment.ids import Ids
from tocsin.segment.segment import Segment
from tocsin.writing import aside

FORMAT: Final = "tocsin segment"
VERSION: Final = 10
_OLDER: Final = 9
"""The earlier version that is still read. It has no compressed texts."""
MANIFEST: Final = "manifest.json"
ARRAYS: Final = "arrays.bin"
VERSION_MANIFEST: Final = "version.json"
"""The manifest of a version of an index folder."""
_HOW: Final = {"tocsin index": "; `tocsin compile SUBSCRIPTIONS FOLDER` or Engine.save makes one"}
_ALIGNMENT: Final = 64
_KINDS: Final = "iufb"
_MOST_DIMENSIONS: Final = 4


def write_segment(segment: Segment, folder: Path) -> None:
    """Write a segment into an empty or missing folder, without syncing: an index can be compiled again."""
    folder.mkdir(parents=True, exist_ok=True)
    entries: dict[str, dict[str, Any]] = {}
    with (folder / ARRAYS).open("wb") as file:
        for name, array in _arrays_of(segment).items():
            file.write(bytes(-file.tell() % _ALIGNMENT))
            data = np.ascontiguousarray(array).data.cast("B") if array.size else b""
            entries[name] = {
                "dtype": array.dtype.str,
                "shape": list(array.shape),
                "offset": file.tell(),
                "crc32": zlib.crc32(data),
            }
            file.write(data)
        size = file.tell()
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "index": segment.plan.index,
        "reason": segment.plan.reason,
        "options": dict(segment.plan.options),
        **_chosen_entries(segment.plan),
        "folding": segment.folding,
        "ids": "string" if isinstance(segment.ids, Texts) else "int64",
        "subscriptions": len(segment),
        "size": size,
        "arrays": entries,
    }
    write_manifest(folder / MANIFEST, manifest)


def stored_bytes(segment: Segment) -> int:
    """The bytes of a segment's arrays on disk, without padding."""
    return sum(array.nbytes for array in _arrays_of(segment).values())


def open_segment(folder: Path) -> Segment:
    """Memory-map a segment's files; raises `SegmentError` if they are missing, damaged or of another version.

    All checksums and offsets are checked first, because kernels check nothing. Cost: one read of the files.
    """
    manifest = segment_manifest(folder)
    try:
        data = _map(folder / ARRAYS, whole_number(manifest["size"]))
        arrays = {name: _array(folder, name, entry, data) for name, entry in manifest["arrays"].items()}
        segment = _assemble(manifest, arrays)
        _require_count(folder, segment, manifest["subscriptions"])
        _check_segment(segment)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError, pa.ArrowInvalid) as error:
        what = f"its files do not describe a segment ({error!r})"
        raise SegmentError(f"{folder} is damaged: {what}. Compile the index again.") from None
    return segment


def segment_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a segment; raises `SegmentError` as `read_manifest` does."""
    return read_manifest(folder / MANIFEST, FORMAT, VERSION, _OLDER)


def _check_segment(segment: Segment) -> None:
    """Raise `ValueError` unless ids, scores, texts and index have the same subscriptions."""
    count = len(segment.scores)
    require(len(segment.matcher) == count == len(segment.sources) == len(segment.ids), "its parts differ in length")
    require(segment.payloads is None or len(segment.payloads) == count, "its payloads are too many or too few")
    require(segment.weights is None or len(segment.weights) == count, "its weights are too many or too few")
    require(
        segment.alive is None or len(segment.alive) == count // 64 + 1,
        "the marks of live subscriptions do not fit their number",
    )
    require(np.isfinite(segment.scores).all(), "a score is not finite")
    require(ascending(segment.ids), "its ids are not in order")


def _require_count(folder: Path, segment: Segment, count: int) -> None:
    if len(segment) != whole_number(count):
        raise SegmentError(f"{folder} is damaged: it holds {len(segment)} subscriptions, not {count}")


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest with its checksum, atomically."""
    body = dict(manifest)
    body["crc32"] = _checksum(body)
    with aside(path) as beside:
        beside.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_manifest(path: Path, form: str, version: int, older: int | None = None) -> dict[str, Any]:
    """Read a manifest; checks its format, its version (`version`, or `older` if given) and its checksum."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not path.parent.exists():
            raise SegmentError(f"there is no folder {path.parent}") from None
        raise SegmentError(f"{path.parent} is not a {form}: it has no {path.name}{_HOW.get(form, '')}") from None
    except NotADirectoryError:
        raise SegmentError(f"{path.parent} is not a {form}: it is a file, not a folder{_HOW.get(form, '')}") from None
    except (OSError, ValueError) as error:
        raise SegmentError(f"{path} is damaged: {error}. Compile the index again.") from None
    return parsed_manifest(text, str(path.parent), path.name, form, version, older)


def parsed_manifest(
    text: str, folder: str, name: str, form: str, version: int, older: int | None = None
) -> dict[str, Any]:
    """Parse the text of a manifest, with the checks of `read_manifest`; `folder` and `name` are for messages."""
    try:
        manifest = json.loads(text)
        if _is_foreign(manifest):
            raise SegmentError(f"{folder} is not a {form}: its {name} is that of another program")
        claimed = manifest.pop("crc32")
        found_form, found_version = manifest["format"], manifest["version"]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise SegmentError(f"{folder}/{name} is damaged: {reason}. Compile the index again.") from None
    if found_form != form:
        raise SegmentError(f"{folder} is a {found_form}, not a {form}")
    if found_version not in (version, older):
        reads = version if older is None else f"{older} and {version}"
        raise SegmentError(f"{folder} has version {found_version}; this tocsin reads {reads}. Compile it again.")
    if claimed != _checksum(manifest):
        raise SegmentError(f"{folder}/{name} is damaged: its checksum does not match. Compile the index again.")
    return dict(manifest)


def refuse_other_manifest(path: Path, form: str) -> None:
    """Raise `SegmentError` if a manifest belongs to something else, which a new one must not replace.

    A manifest that cannot be read may be replaced: compiling a damaged index again needs that.
    """
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    if _is_foreign(manifest):
        raise SegmentError(f"{path.parent} has a {path.name} of another program; name another folder")
    if manifest["format"] != form:
        raise SegmentError(f"{path.parent} is a {manifest['format']}, not a {form}; name another folder")


def _is_foreign(manifest: object) -> bool:
    """Whether a readable manifest is not one that tocsin wrote."""
    return not (isinstance(manifest, dict) and str(manifest.get("format", "")).startswith("tocsin "))


def _checksum(manifest: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(manifest, sort_keys=True).encode())


def _map(path: Path, size: int) -> NDArray[np.uint8]:
    """The file as read-only bytes; several processes share its pages."""
    try:
        with path.open("rb") as file:
            found = path.stat().st_size
            if found != size:
                raise SegmentError(f"{path} is damaged: it has {found} bytes, not {size}. Compile the index again.")
            if size == 0:
                return np.empty(0, np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as error:
        raise SegmentError(f"{path} cannot be read: {error}") from None


def _array(folder: Path, name: str, entry: Mapping[str, Any], data: NDArray[np.uint8]) -> NDArray[Any]:
    dtype = np.dtype(entry["dtype"])
    shape = tuple(whole_number(n) for n in entry["shape"])
    start = whole_number(entry["offset"])
    length = math.prod(shape) * dtype.itemsize
    if dtype.kind not in _KINDS or not dtype.itemsize or len(shape) > _MOST_DIMENSIONS:
        raise SegmentError(
            f"{folder} is damaged: array {name} is of {dtype} and shape {shape}. Compile the index again."
        )
    if start % _ALIGNMENT or start + length > len(data) or max(shape, default=0) > max(len(data), 1):
        raise SegmentError(f"{folder} is damaged: array {name} lies outside its file. Compile the index again.")
    part = data[start : start + length]
    if zlib.crc32(part.data) != entry["crc32"]:
        raise SegmentError(
            f"{folder} is damaged: the checksum of array {name} does not match. Compile the index again."
        )
    return part.view(dtype).reshape(shape) if length else frozen(np.empty(shape, dtype), dtype)


def _arrays_of(segment: Segment) -> dict[str, NDArray[Any]]:
    """Every array of a segment, under its name in the file."""
    arrays: dict[str, NDArray[Any]] = {"scores": segment.scores}
    arrays |= _stored_sources(segment.sources)
    arrays |= stored_texts("ids", segment.ids) if isinstance(segment.ids, Texts) else {"ids": segment.ids}
    arrays |= {} if segment.payloads is None else stored_texts("payloads", segment.payloads)
    arrays |= {} if segment.weights is None else stored_texts("weights", segment.weights)
    arrays |= {} if segment.alive is None else {"alive": segment.alive}
    arrays |= {"index." + name: array for name, array in segment.matcher.arrays().items()}
    for question in _others():
        own = segment.to_save(question)
        arrays |= {f"{question.key}.{name}": array for name, array in own.items()}
    return arrays


def _others() -> list[Question]:
    """The questions other than all matches, which the matcher itself answers."""
    return [question for question in questions() if question.name != ALL_MATCHES]


def _assemble(manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Segment:
    """Build a segment from its checked arrays."""
    require_type("scores", arrays["scores"], np.dtype(np.float64), 1)
    if manifest["ids"] == "string":
        ids: Ids = restored_texts("ids", arrays)
    else:
        ids = arrays["ids"]
        require_type("ids", ids, np.dtype(np.int64), 1)
    plan = Plan(manifest["index"], manifest["reason"], options=_options(manifest["options"]), others=_chosen(manifest))
    matcher = matcher_builder(plan.index, plan.options).load(_under("index", arrays))
    saved = {question.name: _under(question.key, arrays) for question in _others()}
    payloads = restored_texts("payloads", arrays) if "payloads.starts" in arrays else None
    weights = restored_texts("weights", arrays) if "weights.starts" in arrays else None
    if "alive" in arrays:
        require_type("alive", arrays["alive"], np.dtype(np.uint64), 1)
    sources = _restored_sources(arrays, len(ids))
    alive = arrays.get("alive")
    folding = manifest.get("folding")
    return Segment(ids, arrays["scores"], sources, plan, matcher, payloads, weights, alive, folding, saved)


def _stored_sources(sources: Texts | CompressedTexts) -> dict[str, NDArray[Any]]:
    """Texts as they are held: compressed ones are not decompressed."""
    if isinstance(sources, Texts):
        return stored_texts("sources", sources)
    blocks = Texts(sources.starts, sources.data)
    return {**stored_texts("sources.blocks", blocks), "sources.blocks.sizes": sources.sizes}


def _restored_sources(arrays: Mapping[str, NDArray[Any]], count: int) -> Texts | CompressedTexts:
    """The texts of `count` subscriptions; compressed ones are checked when they are read."""
    sizes = arrays.get("sources.blocks.sizes")
    if sizes is None:
        return restored_texts("sources", arrays)
    require_type("sources.blocks.sizes", sizes, np.dtype(np.int64), 1)
    blocks = restored_pieces("sources.blocks", arrays)
    return CompressedTexts(count, sizes, blocks.starts, blocks.data)


def _under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of one part, under their names there."""
    return {name.removeprefix(f"{prefix}."): one for name, one in arrays.items() if name.startswith(f"{prefix}.")}


def _chosen_entries(plan: Plan) -> dict[str, Any]:
    """The manifest entries of the indexes for questions other than all matches."""
    chosen = {question.key: plan.others.get(question.name, question.default) for question in questions()}
    entries = {key: {key: one.name, f"{key}_options": dict(one.options)} for key, one in chosen.items() if one}
    return {name: value for own in entries.values() for name, value in own.items()}


def _chosen(manifest: Mapping[str, Any]) -> dict[str, Chosen]:
    """The same entries read back, without defaults; raises an error for an unknown index."""
    others = {}
    for question in questions():
        if question.default is not None and question.key in manifest:
            chosen = Chosen(str(manifest[question.key]), _options(manifest[f"{question.key}_options"]))
            index_builder(question, chosen)
            if chosen != question.default:
                others[question.name] = chosen
    return others


def _options(given: Mapping[str, Any]) -> dict[str, int]:
    return {str(name): int(value) for name, value in given.items()}


def whole_number(value: Any) -> int:
    """A count or an offset from a manifest; raises `ValueError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r:.40} is not a count")
    return value
