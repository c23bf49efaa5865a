"""How is every kernel compiled? The whole Numba configuration."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

# nogil: kernels run under thread pools and beside other Python threads. The "numpy" error model: no check for a
# zero divisor, which the terms make themselves. No `parallel` (it aborts or kills under threads and forks) and no
# `fastmath` (answers are exact).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}
_NO_WAY_IN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

INLINED: Final[Mapping[str, Any]] = {"forceinline": True, **_OPTIONS, **_NO_WAY_IN}
"""What `inlined` gives Numba."""


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, with the cache on disk where a cache folder is writable, else without."""
    return _compiled(function, cache=True, **_OPTIONS, no_cfunc_wrapper=True)


def inner(function: Function) -> Function:
    """Compile a function that only kernels call: a way in from Python is a fifth of what it takes to compile."""
    return _closed(_compiled(function, cache=True, **_OPTIONS, **_NO_WAY_IN))


def inlined(function: Function) -> Function:
    """Like `inner`, but made part of the machine code of whatever calls it."""
    return _closed(_compiled(function, **INLINED))


def pasted(function: Function) -> Function:
    """Like `inner`, but as if its text stood where it is called: for one straight line without branches and loops.

    It takes no compilation of its own. With branches or loops Numba was seen to go wrong (decision 0020).
    """
    return _closed(_compiled(function, inline="always", **_OPTIONS, **_NO_WAY_IN))


def _closed(compiled: Any) -> Any:
    """A compiled function that refuses calls from Python, where it has no way in: Numba would end the process."""

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"only kernels call {compiled.py_func.__name__}; call one that is a kernel, or its py_func")

    compiled._insert = lambda *_, **__: None
    compiled._compile_for_args = refuse
    return compiled


def _compiled(function: Function, *, cache: bool = False, **options: Any) -> Function:
    if not cache:
        return numba.njit(**options)(function)
    compiled: Any = numba.njit(**options)(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _cache_folder(before, Path(function.__code__.co_filename))
    try:
        compiled._cache = _Cache(function)  # what `cache=True` does
    except RuntimeError:  # Numba found no folder to keep its cache in
        pass
    finally:
        numba.config.CACHE_DIR = before
    return cast(Function, compiled)


class _Cache(FunctionCache):  # type: ignore[misc]
    """What a function was compiled to, by the types of its arguments.

    A structure's own kernels are chosen by the layout of its table (`choosing`), and nobody who calls them imports
    them: so a table counts with all that the folder of its layout holds.
    """

    def _index_key(self, types: tuple[Any, ...], codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(types, codegen), *map(digest_of_layout, _layouts(types)))


def _layouts(types: Iterable[Any]) -> Iterator[type]:
    """The layouts of tables among types, and of the tables in these."""
    for one in types:
        if isinstance(one, numba.types.BaseNamedTuple):
            yield one.instance_class
            yield from _layouts(one.types)


def _cache_folder(chosen: str, file: Path) -> str:
    """A folder named for a file of kernels and all that it calls, below the one that the user chose or the user's own.

    Numba looks only at the file of the function itself when it asks whether its cache is stale, and would go on
    calling what a kernel in another file was before it changed.
    """
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tocsin"
    folder = base / f"kernels-{digest_of(file)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return chosen
    return str(folder)


@functools.cache
def digest_of(file: Path) -> str:
    """What the text of a file, and of all of tocsin and of its own package that it imports, is known by."""
    digest = hashlib.sha256()
    for one in sorted(_reached(file)):
        digest.update(one.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def digest_of_folder(folder: Path) -> str:
    """The same of all files of a folder."""
    texts = "".join(digest_of(file) for file in sorted(folder.glob("*.py")))
    return hashlib.sha256(texts.encode()).hexdigest()[:16]


def digest_of_layout(layout: type) -> str:
    """What the folder is known by that a layout is in, beside the kernels that are its own."""
    file = getattr(sys.modules.get(layout.__module__), "__file__", None)
    return digest_of_folder(Path(file).parent) if file else ""


def _reached(file: Path) -> set[Path]:
    """A file and every file of tocsin, and of its own package, that its imports lead to."""
    reached, waiting = {file}, [file]
    while waiting:
        new = _imported(waiting.pop()) - reached
        reached |= new
        waiting.extend(new)
    return reached


_TOCSIN = Path(__file__).parents[1]
_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


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
    return frozenset(found)


def _package_of(file: Path) -> Path:
    """The folder of the outermost package that a file is in."""
    folder = file.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


@intrinsic
def float_of_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 with these 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba.types.float64(numba.types.int64), generate


@intrinsic
def bits_of_float(typing_context: Any, number: Any) -> Any:
    """The 64 bits of a float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@intrinsic
def count_bits(typing_context: Any, mask: Any) -> Any:
    """How many bits of a uint64 are set, as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of an array's element; it may lie beyond the array's end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte_pointer)
        to_read, keep, data = (ir.Constant(word, n) for n in (0, 3, 1))
        builder.call(function, [address, to_read, keep, data])
        return context.get_dummy_value()

    return numba.types.void(array, index), generate


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the lowest set bit of a uint64; 64 when none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return numba.types.int64(numba.types.uint64), generate


@intrinsic
def highest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the highest set bit of a uint64; -1 when none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return numba.types.int64(numba.types.uint64), generate
