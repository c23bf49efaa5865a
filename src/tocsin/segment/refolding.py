"""Refolding of saved segments: texts that were folded by other rules are compiled again when the segment is opened.

CASEI, ACCENTI and TEXT fold the constants of subscriptions at compilation, and events on arrival. A segment that was
compiled with other rules or other Unicode tables would miss matches.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tocsin.columns.expressions.forgetting import without_the_unused
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.language.stored import stored_expression
from tocsin.language.strings import FOLDING
from tocsin.segment.assembling import assemble, laid
from tocsin.segment.segment import Segment

_FOLDED: Final = re.compile(r"CASEI|ACCENTI|TEXT", re.IGNORECASE)
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]|\\u")


def folded_otherwise(segment: Segment) -> list[int]:
    """The subscriptions that this version may fold differently. Cost: a scan of all texts, if the rules differ."""
    if segment.folding == FOLDING:
        return []
    texts = segment.sources.arrow().to_pylist()
    return [at for at, text in enumerate(texts) if _FOLDED.search(text) and _BEYOND_ASCII.search(text)]


def refolded(segment: Segment, folder: Path) -> Segment:
    """The segment from a folder, folded like events; unchanged if nothing differs.

    ASCII letters are always folded in the same way. Raises `SegmentError` for a text that is not an expression any
    more. Cost: a scan of all texts and, if one of them is affected, building the index again.
    """
    others = folded_otherwise(segment)
    if not others:
        return segment
    texts = segment.sources.arrow().to_pylist()
    earlier = segment.folding or "an older tocsin"
    warnings.warn(
        f"{folder}: {len(others):,} of {len(texts):,} subscriptions fold text as {earlier} did. tocsin compiled them "
        f"again for {FOLDING}; compile the index again to open it faster",
        stacklevel=2,
    )
    whole = segment.part()
    again = replace(
        laid([whole], np.array(others)), compiled=compile_expressions([stored_expression(texts[at]) for at in others])
    )
    order = np.arange(len(texts))
    order[others] = len(texts) + np.arange(len(others))
    part = laid([whole, again], order)
    fresh = assemble(replace(part, compiled=without_the_unused(part.compiled)), segment.plan)
    return replace(fresh, alive=segment.alive)
