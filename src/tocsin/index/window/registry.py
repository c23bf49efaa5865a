"""Which structures disseminate the messages of a window? One line each."""

from __future__ import annotations

from typing import Final

from tocsin.index.protocols import BEST_MESSAGES, PLACES_WITH_WORDS, Registration
from tocsin.index.window.blocks import BlocksIndex
from tocsin.index.window.ciq import OPTIONS as CIQ_OPTIONS
from tocsin.index.window.ciq import CiqIndex
from tocsin.index.window.inverted_file import InvertedFileIndex
from tocsin.index.window.pace import FIRST, LATE
from tocsin.index.window.skype import OPTIONS, SkypeIndex

DISSEMINATORS: Final = (
    Registration(
        "blocks",
        BEST_MESSAGES,
        PLACES_WITH_WORDS,
        "blocks of postings that are alike, in bytes (ours)",
        False,
        BlocksIndex,
        {"late": LATE, "first": FIRST},
    ),
    Registration(
        "skype",
        BEST_MESSAGES,
        PLACES_WITH_WORDS,
        "Skype (Wang et al. 2016, section 5): a quadtree with inverted files",
        False,
        SkypeIndex,
        OPTIONS,
    ),
    Registration(
        "ciq",
        BEST_MESSAGES,
        PLACES_WITH_WORDS,
        "CIQ (Chen et al. 2015), as section 2 of Wang et al. 2016 has it: cells with a bound for each subscription",
        True,
        CiqIndex,
        CIQ_OPTIONS,
    ),
    Registration(
        "inverted_file",
        BEST_MESSAGES,
        PLACES_WITH_WORDS,
        "everyone who shares a word is scored: the exact baseline of its family",
        True,
        InvertedFileIndex,
    ),
)
