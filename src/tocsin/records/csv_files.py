"""Reader of CSV files. Column types come from the schema, else from the first values; later misfits have no type.

An empty field is absent, and `""` is an empty string. In columns that are not text, `NA`, `null` and the like are
absent, too. The delimiter is given or recognised. A row with the wrong number of fields is a reject. A kernel finds the
records, so each keeps its row and line number whatever other records hold. Arrow splits and converts the valid ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.kernels.reading.csv_records import split_records
from tocsin.language import name_text
from tocsin.language.nearest import nearest
from tocsin.model.subscription import Reject
from tocsin.model.texts import Text, named_types, text_type
from tocsin.records.chunks import TableChunk
from tocsin.records.csv_types import checked_delimiter, inferred, recognised_delimiter, undecided
from tocsin.records.csv_values import ARROW_TYPES, convert_column
from tocsin.records.files import NOT_UTF8, Opened
from tocsin.records.tables import Chooser

ColumnType: TypeAlias = (
    Literal[
        "number",
        "string",
        "boolean",
        "instant",
        "instant(s)",
        "instant(ms)",
        "instant(us)",
        "instant(ns)",
        "geometry",
        "text",
    ]
    | str
    | Text
)
"""The type of an attribute in a schema; a text may have its settings behind it, as in `text english stem`."""

COLUMN_TYPES: Final = (*ARROW_TYPES, "geometry", "text")
_BLOCK_BYTES: Final = 1 << 20
_MOST_SHOWN: Final = 200
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class _Block(NamedTuple):
    """Complete records of a file. R records."""

    text: bytes
    places: NDArray[np.int64]  # (R, 4) start, stop, fields, line from 0
    done: float
    delimiter: str


def read_csv(
    path: str | Path,
    schema: Mapping[str, ColumnType] | None = None,
    *,
    delimiter: str | None = None,
    as_text: bool = False,
    names: list[str] | None = None,
    choose: Chooser = lambda _: True,
) -> Iterator[TableChunk]:
    """Read the rows of a CSV file in blocks of about a megabyte; with `as_text` every column is text.

    The first record is a header, unless `names` gives the columns' names. Only the columns of `choose` and those of
    the schema are converted, or one, if these are none.
    """
    delimiter = checked_delimiter(delimiter)
    with Opened(path) as opened:
        blocks = _blocks(opened, delimiter)
        first = next(blocks, None)
        if first is None:
            return
        has_header = names is None
        names = _header(path, first) if names is None else names
        schema = _checked_schema(path, names, schema or {})
        chosen = [name for name in names if choose(name) or name in schema] or names[:1]
        others = tuple(set(names).difference(chosen))
        kinds: dict[str, str] = dict.fromkeys(names, "string") if as_text else _as_columns(schema)
        if undecided(chosen, kinds) and Path(path).is_file():
            kinds |= _foreseen(path, (names, chosen), kinds, delimiter, int(has_header))
        row = 0
        for block in chain([first._replace(places=first.places[int(has_header) :])], blocks):
            good, rejects = _without_bad_rows(block, row, len(names), "header" if has_header else "schema")
            raw = _split(path, block, good, names, chosen)
            kinds |= inferred(raw, undecided(chosen, kinds))
            yield replace(_converted(raw, kinds, schema, row + good, rejects, block.done), others=others)
            row += len(block.places)


def _as_columns(schema: Mapping[str, ColumnType]) -> dict[str, str]:
    """The types in which columns are read. Geometries and words are read as strings, and converted when encoded."""
    return {name: str(kind) if kind in ARROW_TYPES else "string" for name, kind in schema.items()}


def _foreseen(
    path: str | Path,
    columns: tuple[list[str], list[str]],
    kinds: Mapping[str, str],
    delimiter: str | None,
    first: int,
) -> dict[str, str]:
    """The types of the chosen of all columns by the first block of the file with values; text if there is none."""
    names, chosen = columns
    found = dict(kinds)
    with Opened(path) as opened:
        blocks = _blocks(opened, delimiter)
        for number, block in enumerate(blocks):
            own = block._replace(places=block.places[first:]) if number == 0 else block
            good, _ = _without_bad_rows(own, 0, len(names))
            left = undecided(chosen, found)
            found |= inferred(_split(path, own, good, names, left), left)
            if not undecided(chosen, found):
                break
    return {**dict.fromkeys(chosen, "string"), **found}


def _blocks(opened: Opened, delimiter: str | None) -> Iterator[_Block]:
    """Yield complete records, about a megabyte at a time; a longer record makes its block longer."""
    rest = bytearray()
    line = 0
    is_first = True
    while True:
        part = opened.read(max(_BLOCK_BYTES, len(rest)))  # doubling bounds how often a huge record is scanned again
        if is_first and part.startswith(_BYTE_ORDER_MARK):
            part = part[3:]
        is_first = False
        rest += part
        text = bytes(rest)
        delimiter = delimiter or recognised_delimiter(text)
        places = np.empty((text.count(b"\n") + text.count(b"\r") + 1, 4), np.int64)
        count, end, lines = split_records(np.frombuffer(text, np.uint8), not part, ord(delimiter), places)
        if count:
            places = places[:count]
            places[:, 3] += line
            line += lines
            yield _Block(text, places, opened.share() or 1.0, delimiter)
            rest = bytearray(text[end:])
        if not part:
            return


def _header(path: str | Path, block: _Block) -> list[str]:
    """The names of the columns; raises `InvalidInput`."""
    start, stop = block.places[0, :2]
    if b"\0" in block.text[start:stop]:
        told = "its header holds zero bytes; if it is UTF-16, convert it with iconv -f UTF-16 -t UTF-8"
        raise InvalidInput(f"{path} is not a CSV file in UTF-8: {told}")
    try:
        line = block.text[start:stop].decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not a CSV file in UTF-8: its header cannot be decoded; {NOT_UTF8}") from None
    try:
        header = arrow_csv.read_csv(pa.BufferReader((line + "\n").encode()), parse_options=_parsing(block.delimiter))
    except pa.ArrowInvalid:
        raise InvalidInput(f"{path} is not a CSV file: its header {line[:60]!r} does not name columns") from None
    names: list[str] = header.column_names
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InvalidInput(f"{path} has the column {name!r} twice")
    return names


def _parsing(delimiter: str) -> arrow_csv.ParseOptions:
    return arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)


def _checked_schema(path: str | Path, names: list[str], schema: Mapping[str, ColumnType]) -> Mapping[str, ColumnType]:
    for name in schema:
        if name not in names:
            near = nearest(name, names)
            told = f"did you mean {name_text(near)}?" if near else f"it has {', '.join(map(name_text, names))}"
            raise InvalidInput(f"{path} has no column {name_text(name)}, which the schema names; {told}")
    return checked_types(schema)


def checked_types(schema: Mapping[str, ColumnType] | None) -> Mapping[str, ColumnType]:
    """Check the types in a schema; the result is empty if there is none. Raises `InvalidInput`."""
    types = named_types(schema)
    for name, kind in types.items():
        if text_type(kind) is None and kind not in COLUMN_TYPES:
            raise InvalidInput(f"the schema gives {name!r} the type {kind!r}; the types are {', '.join(COLUMN_TYPES)}")
    return types


def _without_bad_rows(
    block: _Block, row: int, width: int, of: str = "header"
) -> tuple[NDArray[np.int64], list[Reject]]:
    """The places of records with the right number of fields, and a reject for each other record."""
    fits = block.places[:, 2] == width
    rejects = [
        Reject(row + i, None, "", f"line {line + 1}: {_misfit(fields, width, of)}: {_shown(block.text[start:stop])}")
        for i in np.flatnonzero(~fits).tolist()
        for start, stop, fields, line in [block.places[i].tolist()]
    ]
    return np.flatnonzero(fits), rejects


def _misfit(fields: int, width: int, of: str) -> str:
    if fields < 0:
        return "a quote is never closed, so that everything after it is one record; close the quote, or double it"
    return f"{fields} fields; the {of} has {width}"


def _shown(record: bytes) -> str:
    text = record[:_MOST_SHOWN].decode(errors="backslashreplace").rstrip()
    return text if len(record) <= _MOST_SHOWN else f"{text}..."


def _split(path: str | Path, block: _Block, good: NDArray[np.int64], names: list[str], chosen: list[str]) -> pa.Table:
    """The fields of a block's valid records as columns of bytes: the chosen columns."""
    places = block.places[good]
    firsts = np.flatnonzero(
        np.diff(good, prepend=-2) != 1
    )  # starts of runs of valid records, which bad records separate
    lasts = np.append(firsts[1:], len(good)) - 1
    runs = zip(places[firsts, 0].tolist(), places[lasts, 1].tolist(), strict=True) if len(good) else ()
    records = b"".join(block.text[start:stop] + b"\n" for start, stop in runs)
    if not records:
        return pa.table({name: pa.array([], pa.binary()) for name in chosen})
    options = arrow_csv.ReadOptions(use_threads=False, block_size=len(records) + 1, column_names=names)
    converting = arrow_csv.ConvertOptions(
        check_utf8=False,
        column_types=dict.fromkeys(chosen, pa.binary()),
        include_columns=chosen,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        table = arrow_csv.read_csv(pa.BufferReader(records), options, _parsing(block.delimiter), converting)
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"{path} cannot be read as CSV: {error}") from None
    if table.num_rows != len(places):
        raise InvalidInput(f"{path} cannot be read as CSV: {len(places)} records gave {table.num_rows} rows")
    return table.combine_chunks()


def _converted(
    raw: pa.Table,
    kinds: Mapping[str, str],
    schema: Container[str],
    rows: NDArray[np.int64],
    rejects: list[Reject],
    done: float,
) -> TableChunk:
    """The block with typed columns; each value that does not fit is a misfit and a reject.

    `schema` has the columns whose types were given; the other types come from the values.
    """
    columns: list[pa.Array] = []
    misfits: dict[str, NDArray[np.bool_]] = {}
    rejects = list(rejects)
    for name, column in zip(raw.column_names, raw.columns, strict=True):
        array, problems = convert_column(column.combine_chunks(), kinds.get(name), None if name in schema else name)
        columns.append(array)
        if problems:
            misfits[name] = np.zeros(len(rows), bool)
            misfits[name][[place for place, _ in problems]] = True
            rejects += [Reject(int(rows[place]), None, name, reason) for place, reason in problems]
    table = pa.Table.from_arrays(columns, names=raw.column_names)
    return TableChunk(table, rows, misfits, sorted(rejects, key=lambda reject: reject.row), done)
