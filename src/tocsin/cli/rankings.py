"""What do the options of commands say of rankings?"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.model.ranking import Similar


def similar(text: str) -> Similar:
    """`0.5:0.6` as a ranking."""
    alpha, _, threshold = text.partition(":")
    try:
        numbers = float(alpha), float(threshold)
    except ValueError:
        raise InvalidInput(f"--similar: {text!r} is no ALPHA:THRESHOLD; write two numbers, such as 0.5:0.6") from None
    return Similar(*numbers)
