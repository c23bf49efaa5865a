"""Stores of compiled kernels: folders by processor level, then by source digest.

tocsin writes only to the user's own store, whose kernels are compiled for the user's own processor. The other stores
are read-only: the one in an installed wheel, and those in `TOCSIN_KERNELS`, such as an archive shipped with a Spark
job. Their kernels are compiled for a level and run on every processor that reaches it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm
import numba
from numba.core import config
from numba.core.codegen import get_host_cpu_features

from tocsin.jit.compiling.digests import digest_of_all
from tocsin.jit.switch import LOWERING

SHIPPED: Final = Path(__file__).parents[1] / "compiled"
"""The store of an installed wheel; a checkout has none."""

VARIABLE: Final = "TOCSIN_KERNELS"
"""The environment variable that lists further stores, with the separator of PATH."""

CHECKED: Final = os.environ.get("TOCSIN_CHECKED") == "1"
"""Whether kernels check every index, as `jit.checking` describes. Their machine code has a store of its own."""

NONE: Final = "none"
"""The variable's value that turns off all stores but the user's own, even that of a wheel."""

_V3: Final = "sse4.2 avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
LEVELS: Final[Mapping[str, frozenset[str]]] = {
    "x86-64-v4": frozenset(f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl".split()),
    "x86-64-v3": frozenset(_V3.split()),
}
"""Levels of x86-64, highest first, and the features that they require. The names are LLVM's."""


@functools.cache
def target() -> str:
    """The target of this process: the level that Numba was configured for, or this processor."""
    if config.CPU_NAME in LEVELS and config.CPU_FEATURES == "":
        return str(config.CPU_NAME)
    name = config.CPU_NAME or llvm.get_host_cpu_name()
    features = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    known_by = hashlib.sha256(f"{llvm.get_process_triple()} {name} {features}".encode()).hexdigest()[:16]
    return f"{platform.machine()}-{name}-{known_by}"


@functools.cache
def levels() -> tuple[str, ...]:
    """The targets that this process can run: its own, then the levels that its processor reaches, highest first."""
    if target() in LEVELS:
        return (target(),)
    features = set(get_host_cpu_features().split(","))
    return (target(), *(name for name, needed in LEVELS.items() if {f"+{one}" for one in needed} <= features))


def compiles_for(level: str) -> bool:
    """Whether code that this process compiles may use all features of a level."""
    if target() in LEVELS:
        return LEVELS[level] <= LEVELS[target()]
    features = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return {f"+{one}" for one in LEVELS[level]} <= set(features.split(","))


def environment_of(level: str) -> dict[str, str]:
    """The environment variables with which a process compiles for a level."""
    return {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""} if level in LEVELS else {}


@functools.cache
def readable() -> tuple[Path, ...]:
    """The folders to search for a kernel, in this order: one for each store and level."""
    given = os.environ.get(VARIABLE, "")
    if given == NONE or CHECKED:
        return (_users(),)
    stores = [*(Path(one) for one in given.split(os.pathsep) if one), SHIPPED]
    others = [store / folder_of(level) for store in stores for level in levels()]
    return (_users(), *(folder for folder in others if folder.is_dir()))


def folder_of(level: str) -> str:
    """The name of a target's folder in a store. It says how kernels were lowered and whether they check indices."""
    return f"{level}{'' if LOWERING else '-plain'}{'-checked' if CHECKED else ''}"


def _users() -> Path:
    """The user's store: below `NUMBA_CACHE_DIR`, or in the user's cache folder."""
    name = folder_of(target())
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR, "kernels", name)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tocsin" / "kernels" / name


@functools.cache
def own() -> Path:
    """The folder that this process writes to: the user's store.

    If it is not writable, this warns and returns a temporary folder that lasts as long as the process.
    """
    folder = _users()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        warnings.warn(
            f"tocsin cannot keep compiled kernels in {folder} ({error.strerror}): every process compiles them again; "
            "set XDG_CACHE_HOME to a writable folder",
            stacklevel=2,
        )
        return _temporary()
    return folder


def has_all(package: Path | None = None) -> bool:
    """Whether every kernel of a package (None: of tocsin) was compiled ahead.

    A marker file in a folder says so for the current source text.
    """
    return any((folder / _mark(package)).is_file() for folder in readable())


def mark_all(folder: Path, package: Path | None = None) -> None:
    """Mark a folder as holding every kernel of a package."""
    (folder / _mark(package)).touch()


def _mark(package: Path | None) -> str:
    return f"all-{digest_of_all(package)}-{numba.__version__}-{sys.version_info[0]}.{sys.version_info[1]}"


def warn_of_useless_kernels(shipped: Path = SHIPPED) -> None:
    """Warn if a wheel's kernels were compiled by another version of Numba, because only that version loads them."""
    compilers = {mark.name.split("-")[2] for mark in shipped.glob("*/all-*-*-*")}
    if compilers and numba.__version__ not in compilers:
        wanted = max(compilers)
        warnings.warn(
            f"tocsin's compiled kernels need Numba {wanted}, but Numba {numba.__version__} is installed. tocsin "
            "compiles "
            f"them again, once. To use them: pip install numba=={wanted}",
            stacklevel=2,
        )


def _temporary() -> Path:
    kept = tempfile.TemporaryDirectory(prefix="tocsin-kernels-", ignore_cleanup_errors=True)
    _KEPT.append(kept)  # removed when the process ends
    return Path(kept.name)


_KEPT: Final[list[tempfile.TemporaryDirectory[str]]] = []
