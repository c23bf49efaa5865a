"""The saved form of a token_grid: regions, tokens and lists as they are in memory, so that loading only maps them.

Kernels check nothing. So loading checks that no number leads outside an array, and that nothing can be found twice.
Other damage could only give wrong answers; checksums guard against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.checks import check_below, check_starts, require, require_type
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.spatial_text.kernels.layouts import ABSENT, TYPES, Regions
from tocsin.index.spatial_text.regions import NO_ROWS, Held, keywords_of
from tocsin.index.spatial_text.token_grid.kernels.lists import ABOVE, BLOCK, Grid, Lists
from tocsin.index.tables import named_arrays, restored_table
from tocsin.kernels import codes

PREFIX: Final = "grid."
ROWS: Final = f"{PREFIX}rows"
"""The subscription of each row; saved only if some subscription is decomposed."""


class Stored(NamedTuple):
    """The tables saved beside the expressions.

    The first three are those of `Keywords`, whose others follow from them.
    """

    fields: Annotated[NDArray[np.int32], 2]
    operand_starts: NDArray[np.int64]
    operands: NDArray[np.int64]
    regions: Regions
    asks_more: NDArray[np.uint8]  # (S,)
    found: Grid


def is_stored(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether more than expressions was saved; earlier versions saved nothing else."""
    return any(name.startswith(PREFIX) for name in arrays)


def stored_grid(held: Held, grid: Grid) -> dict[str, NDArray[Any]]:
    """All arrays by name."""
    fields, starts, operands, *_ = held.keywords
    stored = Stored(fields, starts, operands, held.regions, frozen(held.asks_more, np.uint8), grid)
    return dict(named_arrays(stored, PREFIX)) | ({ROWS: held.rows} if len(held.rows) else {})


def restored_grid(compiled: CompiledExpressions, arrays: Mapping[str, NDArray[Any]]) -> tuple[Held, Grid]:
    """Restore from arrays; raises `ValueError` or `KeyError` if they are not sound. Cost: some passes over them."""
    stored = restored_table(Stored, arrays, PREFIX)
    rows = arrays.get(ROWS, NO_ROWS)
    _check_keywords(stored, compiled)
    _check_regions(stored, compiled)
    _check_rows(rows, stored, compiled)
    regions, keywords = stored.regions, len(stored.operands)
    places = int(regions.places.max(initial=ABSENT)) + 1
    for lists in stored.found:
        _check_lists(lists, places, keywords, len(regions.owners))
    check_below("keyword of an entry", stored.found.everyone.packed >> ABOVE, max(keywords, 1))
    words = keywords_of(stored.fields, stored.operand_starts, stored.operands, len(compiled.vocabulary))
    asks_more = frozen(stored.asks_more.view(np.bool_), np.bool_)
    held = Held.of_tables(compiled, words, regions, asks_more)
    return replace(held, rows=rows), stored.found


def _check_keywords(stored: Stored, compiled: CompiledExpressions) -> None:
    fields, starts, operands = stored.fields, stored.operand_starts, stored.operands
    require(fields.shape == (len(compiled.attributes), TYPES), "its fields do not fit the attributes")
    check_starts("keywords", starts, len(operands))
    named = fields[fields != ABSENT]
    check_below("field of keywords", named, len(starts) - 1)
    require(len(np.unique(named)) == len(named), "a field of keywords comes twice")
    for field in fields[fields[:, codes.STRING] != ABSENT, codes.STRING].tolist():
        own = operands[starts[field] : starts[field + 1]]
        require((own & 1 == 1).all() and (own[1:] > own[:-1]).all(), "keywords are out of order")
        check_below("keyword", own >> 1, len(compiled.vocabulary))


def _check_regions(stored: Stored, compiled: CompiledExpressions) -> None:
    regions = stored.regions
    count = len(regions.owners)
    require(len(regions.places) == len(compiled.attributes), "its places do not fit the attributes")
    places = regions.places[regions.places != ABSENT]
    require((np.sort(places) == np.arange(len(places))).all(), "its places are not numbered")
    require(len(regions.boxes) == count, "regions differ in length")
    require(len(stored.asks_more) == len(compiled), "marks of further conditions do not fit the subscriptions")
    require(regions.boxes.shape[1] == 4, "a region does not have four edges")
    check_below("attribute of a region", regions.owners + 1, len(places) + 1)
    check_below("marks of further conditions", stored.asks_more, 2)
    require(len(regions.token_starts) == count + 1, "keywords do not fit the subscriptions")
    check_starts("keywords of subscriptions", regions.token_starts, len(regions.tokens))
    check_below("keyword of a subscription", regions.tokens, len(stored.operands))
    rises = np.append(regions.tokens[1:] > regions.tokens[:-1], True)
    rises[regions.token_starts[1:-1] - 1] = True
    require(rises[: len(regions.tokens)].all(), "the keywords of a subscription are out of order")


def _check_rows(rows: NDArray[Any], stored: Stored, compiled: CompiledExpressions) -> None:
    require_type(ROWS, rows, np.dtype(np.int32), 1)
    count = len(rows) if len(rows) else len(compiled)
    require(len(stored.regions.owners) == count, "regions do not fit the subscriptions")
    check_below("subscription of a row", rows, len(compiled))
    require((rows[1:] >= rows[:-1]).all(), "its rows are out of order")


def _check_lists(lists: Lists, places: int, keywords: int, subscriptions: int) -> None:
    require(lists.tokens.tolist() == [keywords + 1], "its lists are not those of its keywords")
    require(len(lists.starts) == places * (keywords + 1) + 1, "its lists do not fit its places")
    check_starts("blocks", lists.starts, len(lists.entry_starts) - 1)
    require(lists.blocks.shape == (len(lists.entry_starts) - 1, 8), "its blocks do not have eight columns")
    check_starts("entries", lists.entry_starts, len(lists.owners))
    require(np.diff(lists.entry_starts).max(initial=0) <= BLOCK, "a block is too long")
    require(len(lists.packed) == len(lists.owners), "its entries differ in length")
    check_below("subscription of an entry", lists.owners, subscriptions)
    require(np.bincount(lists.owners).max(initial=0) <= 1, "a subscription lies in two lists")
