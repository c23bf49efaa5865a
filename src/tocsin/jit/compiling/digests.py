"""Content digests that key the kernel cache: of a file and all that it imports.

A kernel's machine code includes the functions that it calls. So it is stale if any of these has changed, not only its
own file. The modules of this folder do not count, because they do not change what is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from pathlib import Path
from typing import Final


@functools.cache
def digest_of(file: Path) -> str:
    """The digest of a file and of everything that it imports from tocsin or from its own package."""
    digest = hashlib.sha256()
    for name, one in sorted((_name_of(one), one) for one in _reached(file)):
        digest.update(name.encode() + b"\0" + one.read_bytes())
    digest.update(_name_of(file).encode())
    return digest.hexdigest()[:16]


@functools.cache
def digest_beside(file: Path) -> str:
    """The combined digest of a file and of all modules with kernels in its folder."""
    beside = [one for one in sorted(file.parent.glob("*.py")) if one == file or _has_kernels(one)]
    return hashlib.sha256("".join(map(digest_of, beside)).encode()).hexdigest()[:16]


@functools.cache
def digest_of_all(package: Path | None = None) -> str:
    """The digest of all kernels of a package, and of the samples that compile them ahead; None: of tocsin.

    tocsin's papers are excluded, because they count as a package of their own.
    """
    files = sorted((package or _TOCSIN).rglob("*.py"))
    known = [digest_of(one) for one in files if _has_kernels(one) and (package or _PAPERS not in one.parents)]
    known.append(hashlib.sha256((_TOCSIN / "warming" / "samples.py").read_bytes()).hexdigest())
    return hashlib.sha256("".join(known).encode()).hexdigest()[:16]


def digest_of_layout(layout: type) -> str:
    """The digest of a layout and of the kernels beside it. Its callers do not import these; `choose` selects them."""
    file = getattr(sys.modules.get(layout.__module__), "__file__", None)
    return digest_beside(Path(file)) if file else ""


def _has_kernels(file: Path) -> bool:
    return b"from tocsin.jit.decorators import" in file.read_bytes()


def _reached(file: Path) -> set[Path]:
    """A file and all files of tocsin, or of its own package, that it imports directly or indirectly."""
    reached, waiting = {file}, [file]
    while waiting:
        new = _imported(waiting.pop()) - reached
        reached |= new
        waiting.extend(new)
    return reached


_KEEPING: Final = Path(__file__).parent
_TOCSIN: Final = Path(__file__).parents[2]
_PAPERS: Final = _TOCSIN / "papers"
_IMPORT: Final = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


@functools.cache
def _imported(file: Path) -> frozenset[Path]:
    """The files of tocsin, or of its own package, that a file imports directly."""
    packages = {package.name: package.parent for package in (_package_of(file), _TOCSIN)}
    found: set[Path] = set()
    for module, names in _IMPORT.findall(file.read_text(encoding="utf-8")):
        first, *rest = module.split(".")
        if first in packages:
            place = packages[first].joinpath(first, *rest)
            modules = [place / f"{name}.py" for name in ("__init__", *re.findall(r"\w+", names))]
            found.update(path for path in (place.with_suffix(".py"), *modules) if path.is_file())
    return frozenset(path for path in found if path.parent != _KEEPING)


def _package_of(file: Path) -> Path:
    """The folder of the outermost package that a file is in."""
    folder = file.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _name_of(file: Path) -> str:
    """A file's path relative to the parent of its outermost package."""
    return file.relative_to(_package_of(file).parent).as_posix()
