"""Windows on disk: an Arrow file of messages, one of subscriptions, and a manifest.

The manifest names the files and is written last, so saving again replaces the earlier window atomically. The best
messages are searched for again on loading.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import InvalidInput, SegmentError, TocsinError
from tocsin.index.window.kernels.layouts import ALPHA, TIME, X, Y
from tocsin.index.window.stored import records_of_messages, words_of_messages
from tocsin.segment.folder import STORE
from tocsin.segment.storage import read_manifest, refuse_other_manifest, whole_number, write_manifest
from tocsin.window.frequencies import BOOLEAN, counts_of
from tocsin.writing import raising_invalid_input

if TYPE_CHECKING:
    from tocsin.window.subscription_set import WindowSubscriptions
    from tocsin.window.window import Window

FORMAT: Final = "tocsin window"
VERSION: Final = 2
_BOOLEAN_VERSION: Final = 1
"""The version of windows without term frequencies, which older versions of tocsin read, too."""
MANIFEST: Final = "manifest.json"


def save_window(window: WindowSubscriptions, folder: str | Path) -> None:
    """Write a window.

    `InvalidInput` says which file could not be written, `SegmentError` that the folder holds something else.
    """
    folder = Path(folder)
    _refuse_store(folder)
    refuse_other_manifest(folder / MANIFEST, FORMAT)
    part = uuid.uuid4().hex[:8]
    names = {"messages": f"messages-{part}.arrow", "subscriptions": f"subscriptions-{part}.arrow"}
    with raising_invalid_input(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / names["messages"], _messages_of(window))
        _write(folder / names["subscriptions"], _subscriptions_of(window))
        latest = window._reader.latest
        manifest = {
            "format": FORMAT,
            "version": _BOOLEAN_VERSION if window.term_frequency == BOOLEAN else VERSION,
            **names,
            **options_of(window),
            "taken": window._sliding.taken,
            "latest": None if math.isinf(latest) else latest,
        }
        write_manifest(folder / MANIFEST, manifest)
        for old in [*folder.glob("messages-*.arrow"), *folder.glob("subscriptions-*.arrow")]:
            if old.name not in names.values():
                with suppress(OSError):
                    old.unlink()


def load_window(kind: type[Window], folder: str | Path, index: str | None, threads: int | None) -> Window:
    """Load a saved window; raises `SegmentError`."""
    folder = Path(folder)
    _refuse_store(folder)
    manifest = with_defaults(read_manifest(folder / MANIFEST, FORMAT, VERSION, _BOOLEAN_VERSION))
    try:
        window = kind(
            manifest["size"],
            bounds=manifest["bounds"],
            time=manifest["time"],
            weights=manifest["weights"],
            text=manifest["text"],
            term_frequency=manifest["term_frequency"],
            index=index or manifest["index"],
            threads=threads,
        )
        messages, subscriptions = (_read(folder / manifest[name]) for name in ("messages", "subscriptions"))
        first = whole_number(manifest["taken"]) - messages.num_rows
        window._restore([messages], [subscriptions], first, manifest["latest"])
    except (KeyError, TypeError, ValueError, OSError, pa.ArrowException, TocsinError) as error:
        if isinstance(error, InvalidInput) and (index is not None or threads != 1):
            raise
        raise SegmentError(f"{folder} is damaged: {error!r:.200}. Save the window again.") from None
    return window


def options_of(window: WindowSubscriptions) -> dict[str, Any]:
    """The options of a window as JSON has them. `Window` takes them by these names."""
    return {
        "size": window.size,
        "time": window.span,
        "bounds": list(window.bounds),
        "weights": dict(window.weights),
        "text": str(window.text),
        "term_frequency": window.term_frequency,
        "index": window.index,
    }


def with_defaults(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored options, with those that an older version of tocsin did not know."""
    return {"term_frequency": BOOLEAN, **stored}


def message_words(window: WindowSubscriptions, since: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where the words of each message from number `since` on begin, and all these words, as often as they occur."""
    starts, words, factors = words_of_messages(window._sliding.messages, since)
    if len(factors) == 0:
        return starts, words
    counts = counts_of(window.term_frequency, factors)
    return np.concatenate([[0], np.cumsum(counts)])[starts], np.repeat(words, counts)


def _refuse_store(folder: Path) -> None:
    if (folder / STORE).exists():
        raise SegmentError(
            f"{folder} has the store of a durable window or engine ({STORE}); open it with Window.open or Engine.open, "
            "or name another folder"
        )


def _write(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as file:
        return pa.ipc.open_file(file).read_all()


def _messages_of(window: WindowSubscriptions) -> pa.Table:
    messages = window._sliding.messages
    numbers, records = records_of_messages(messages)
    columns = {"words": _lists(window, *message_words(window)), "location": _pairs(records[:, [X, Y]])}
    columns["time"] = pa.array(records[:, TIME])
    keys = window._keys.column(numbers)
    if window._keys.kind is not None:
        columns["key"] = keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys
    return pa.table(columns)


def _subscriptions_of(window: WindowSubscriptions) -> pa.Table:
    alive = np.array([window._names.slot(name) for name in window._names], np.int32)
    held = window._sliding.held_at(alive)
    ids = window._names.column(alive)
    return pa.table(
        {
            "id": ids.dictionary_decode() if pa.types.is_dictionary(ids.type) else ids,
            "words": _lists(window, held.starts, held.words),
            "location": _pairs(held.records[:, [X, Y]]),
            "k": pa.array(held.ks),
            "alpha": pa.array(held.records[:, ALPHA]),
        }
    )


def _lists(window: WindowSubscriptions, starts: NDArray[np.int64], numbers: NDArray[np.int32]) -> pa.Array:
    words = pa.array(window._vocabulary.words_of(numbers.tolist()), pa.string())
    return pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), words)


def _pairs(places: NDArray[np.float64]) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(places.reshape(-1)), 2)
