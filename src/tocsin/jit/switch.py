"""Whether kernels are lowered by our passes (`lowering`), or by Numba's own: `TOCSIN_LOWERING=on` or `off`.

Without the variable, our passes are used under a Numba with which they were tried. They use Numba's inside, so another
Numba lowers kernels by itself: that takes about twice as long to compile, and answers are the same (decision 0088).
"""

from __future__ import annotations

import os
import re
import warnings
from typing import Final

import numba

VARIABLE: Final = "TOCSIN_LOWERING"
"""The environment variable that switches our passes on or off."""

TRIED: Final = ((0, 61), (0, 68))
"""The oldest and the newest Numba that our passes were tried with."""


def is_tried(version: str) -> bool:
    """Whether our passes were tried with a version of Numba."""
    numbers = re.findall(r"\d+", version)
    return TRIED[0] <= tuple(map(int, numbers[:2])) <= TRIED[1]


def is_on(given: str | None, version: str) -> bool:
    """Whether to use our passes, by the value of the variable and the version of Numba.

    Warns, in one line, where a Numba that was not tried decides, or the value is neither "on" nor "off".
    """
    if given in ("on", "off"):
        return given == "on"
    if given:
        warnings.warn(f"{VARIABLE} is {given!r}; it is on or off, and is taken as not set", stacklevel=2)
    if is_tried(version):
        return True
    first, last = (".".join(map(str, one)) for one in TRIED)
    warnings.warn(
        f"tocsin was tried with Numba {first} to {last}, and {version} is installed: kernels take twice as long to "
        f"compile, once; {VARIABLE}=off says that you know",
        stacklevel=2,
    )
    return False


LOWERING: Final = is_on(os.environ.get(VARIABLE), numba.__version__)
"""Whether this process uses our passes. What it compiles has stores of its own (`compiling.stores`)."""
