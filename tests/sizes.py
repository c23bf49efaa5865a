"""How much of a law a run tries: `make test` a part that finds most faults, `make thorough` all of it."""

from __future__ import annotations

import os
from typing import Final, TypeVar

Size = TypeVar("Size")

IS_THOROUGH: Final = os.environ.get("HYPOTHESIS_PROFILE") in ("thorough", "night")


def sized(ordinary: Size, thorough: Size) -> Size:
    """The size of a load, a number of steps, or the values of a parameter, for the run that this is."""
    return thorough if IS_THOROUGH else ordinary
