"""Packed files are read as what is in them; one that is damaged is refused."""

from __future__ import annotations

import bz2
import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin

LINES = b"".join(b'{"price": %d}\n' % price for price in range(100_000))
CSV = b"price;name\n" + b"".join(b"%d;n%d\n" % (price, price) for price in range(100_000))
SUBSCRIPTIONS = [{"id": "s", "where": "price >= 99998"}]


def _arrow(codec: str) -> Callable[[bytes], bytes]:
    def packed(data: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(data)
        return sink.getvalue().to_pybytes()

    return packed


PACKERS = {".gz": gzip.compress, ".zst": _arrow("zstd"), ".bz2": bz2.compress, ".lz4": _arrow("lz4")}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_packed_events(ending: str, threads: int, tmp_path: Path) -> None:
    for inner, data in ((".jsonl", LINES), (".csv", CSV)):
        path = tmp_path / f"events{inner}{ending}"
        path.write_bytes(PACKERS[ending](data))
        shares: list[float] = []
        answer = tocsin.match(SUBSCRIPTIONS, path, threads=threads, progress=shares.append)

        assert answer.table["event"].to_pylist() == [99_998, 99_999]
        assert shares[1:] == sorted(shares[1:]) and shares[-1] == 1.0


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_subscriptions(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"subscriptions.jsonl{ending}"
    path.write_bytes(PACKERS[ending](b'{"id": 1, "where": "price > 5"}\n'))

    assert tocsin.match(path, [{"price": 6}]).table["subscription"].to_pylist() == [1]


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("inner", [".jsonl", ".csv"])
def test_what_cannot_be_unpacked(ending: str, inner: str, tmp_path: Path) -> None:
    path = tmp_path / f"events{inner}{ending}"
    whole = PACKERS[ending](LINES if inner == ".jsonl" else CSV)
    for damaged in (b"no such thing", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(tocsin.InvalidInput, match="cannot be read: "):
            tocsin.match(SUBSCRIPTIONS, path)


def test_what_packs_itself(tmp_path: Path) -> None:
    with pytest.raises(tocsin.InvalidInput, match="parquet files compress themselves"):
        tocsin.match(SUBSCRIPTIONS, tmp_path / "events.parquet.gz")


@pytest.mark.parametrize("header", [b'"', b'""\n1\n', b'"\n"\n'])
def test_a_header_that_is_none(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(header)
    try:
        tocsin.match(SUBSCRIPTIONS, path)
    except tocsin.InvalidInput as error:
        assert "odd.csv" in str(error)


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_files_are_known_by_their_first_bytes(ending: str, tmp_path: Path) -> None:
    """Whatever their ending, and as bytes."""
    for inner, data in ((".jsonl", LINES), (".csv", CSV), (".csv.gz", CSV)):
        path = tmp_path / f"events{inner}"
        path.write_bytes(PACKERS[ending](data))
        assert tocsin.match(SUBSCRIPTIONS, path).table["event"].to_pylist() == [99_998, 99_999]
    assert tocsin.match(SUBSCRIPTIONS, PACKERS[ending](LINES)).table["event"].to_pylist() == [99_998, 99_999]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_named_pipe_is_read(is_packed: bool, tmp_path: Path) -> None:
    """As a shell gives one for `<(command)`; its first bytes cannot be read twice."""
    path = tmp_path / "events.jsonl"
    os.mkfifo(path)
    data = gzip.compress(LINES) if is_packed else LINES
    writing = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writing.start()
    assert tocsin.match(SUBSCRIPTIONS, path).table["event"].to_pylist() == [99_998, 99_999]
    writing.join()


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("ending", ["jsonl", "csv", "geojson"])
def test_utf16_is_refused_by_name(coding: str, ending: str, tmp_path: Path) -> None:
    """PowerShell writes it, with a mark of the order of its bytes."""
    text = "\ufeff" if coding == "utf-16-be" else ""
    path = tmp_path / f"events.{ending}"
    path.write_bytes((text + '{"price": 1}\r\n{"price": 2}\r\n').encode(coding))
    for source in (path, path.read_bytes()) if ending == "jsonl" else (path,):
        with pytest.raises(tocsin.InvalidInput, match="iconv -f UTF-16 -t UTF-8"):
            tocsin.match(SUBSCRIPTIONS, source)
