"""Which structures disseminate the messages of a window? One line each."""

from __future__ import annotations

from typing import Final

from tocsin.index.protocols import BEST_MESSAGES, PLACES_WITH_WORDS, Registration
from tocsin.index.window.inverted_file import InvertedFileIndex

DISSEMINATORS: Final = (
    Registration(
        "inverted_file",
        BEST_MESSAGES,
        PLACES_WITH_WORDS,
        "everyone who shares a word is scored: the exact baseline of its family",
        True,
        InvertedFileIndex,
    ),
)
