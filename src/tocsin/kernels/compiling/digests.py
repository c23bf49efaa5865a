"""By what is a kernel's text known? By a digest of its file and of all that it imports, wherever they lie.

Whoever calls a function compiles it in: a kernel is stale when anything that it calls has changed, not only its file.
How kernels are kept (this folder) is no part of what they are.
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
    """What the text of a file, and of all of tocsin and of its own package that it imports, is known by."""
    digest = hashlib.sha256()
    for name, one in sorted((_name_of(one), one) for one in _reached(file)):
        digest.update(name.encode() + b"\0" + one.read_bytes())
    digest.update(_name_of(file).encode())
    return digest.hexdigest()[:16]


@functools.cache
def digest_beside(file: Path) -> str:
    """The same of a file and of the kernels in its folder."""
    beside = [one for one in sorted(file.parent.glob("*.py")) if one == file or _has_kernels(one)]
    return hashlib.sha256("".join(map(digest_of, beside)).encode()).hexdigest()[:16]


@functools.cache
def digest_of_all(package: Path | None = None) -> str:
    """What the text of all kernels of a package, and of what compiles them ahead, is known by; None: of the product.

    That is tocsin without its papers, which are a package by themselves.
    """
    files = sorted((package or _TOCSIN).rglob("*.py"))
    known = [digest_of(one) for one in files if _has_kernels(one) and (package or _PAPERS not in one.parents)]
    known.append(hashlib.sha256((_TOCSIN / "warming" / "samples.py").read_bytes()).hexdigest())
    return hashlib.sha256("".join(known).encode()).hexdigest()[:16]


def digest_of_layout(layout: type) -> str:
    """What a layout is known by, and the kernels beside it, which are chosen by it and imported by nobody."""
    file = getattr(sys.modules.get(layout.__module__), "__file__", None)
    return digest_beside(Path(file)) if file else ""


def _has_kernels(file: Path) -> bool:
    return b"from tocsin.kernels.jit import" in file.read_bytes()


def _reached(file: Path) -> set[Path]:
    """A file and every file of tocsin, and of its own package, that its imports lead to."""
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
    """The files of tocsin, and of its own package, that a file imports from: modules, or what is in them."""
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
    """A file's place from its outermost package on."""
    return file.relative_to(_package_of(file).parent).as_posix()
