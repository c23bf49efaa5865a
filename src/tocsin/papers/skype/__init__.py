"""Skype (Wang et al. 2016), CIQ and a plain inverted file. See docs/papers/skype.md."""

from typing import Final

from tocsin.index.window.registry import for_windows
from tocsin.papers.skype.ciq import OPTIONS as CIQ_OPTIONS
from tocsin.papers.skype.ciq import CiqIndex
from tocsin.papers.skype.inverted_file import InvertedFileIndex
from tocsin.papers.skype.skype import OPTIONS, SkypeIndex

SKYPE: Final = for_windows(
    "skype", "Skype (Wang et al. 2016, section 5): a quadtree with inverted files", SkypeIndex, OPTIONS
)
CIQ: Final = for_windows(
    "ciq",
    "CIQ (Chen et al. 2015), as described by Wang et al. 2016, section 2: cells with a bound for each subscription",
    CiqIndex,
    CIQ_OPTIONS,
    is_baseline=True,
)
INVERTED_FILE: Final = for_windows(
    "inverted_file",
    "scores every subscription that shares a word: the exact baseline",
    InvertedFileIndex,
    {},
    is_baseline=True,
)
