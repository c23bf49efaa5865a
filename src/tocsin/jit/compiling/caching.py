"""The kernel cache: finds compiled kernels by source digest and argument types, in any store.

Numba's own cache depends on a file's time of change, its place and the processor. This one depends on the source text,
so kernels that one machine compiled serve others (decision 0022). A process that finds nothing takes a lock and
compiles. Others that need the same kernel wait for the lock.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, IndexDataCacheFile, NullCache, _CacheLocator
from numba.core.serialize import dumps

from tocsin.jit.compiling import stores
from tocsin.jit.compiling.announcing import Announcement
from tocsin.jit.compiling.digests import digest_of, digest_of_layout
from tocsin.jit.compiling.interrupting import deferred
from tocsin.locks import Lock

_DAMAGED: Final = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ImportError,
    pickle.PickleError,
)
"""Errors from reading a file that is incomplete, or that another program wrote."""


REBUILDING: Final[dict[str, Callable[[Any, Any], Any]]] = {}
"""How to rebuild a compiled function, by the kind of its serialised form; Numba rebuilds all others."""


class KernelCache(NullCache):  # type: ignore[misc]
    """The compiled forms of a function by argument types, in the interface that a Numba dispatcher expects.

    A structure's own kernels are selected by the layout of its table (`packing.choose`), and their callers do not
    import them. So the key of a table includes the digest of its layout's folder.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._impl = _Serialized(function)
        self._begun: dict[Any, _Compilation] = {}

    def watched(self, compile_one: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Wraps a dispatcher's compile method, so that its lock and announcement end even if compiling fails."""

        def compiled(sig: Any) -> Any:
            with deferred():
                try:
                    return compile_one(sig)
                finally:
                    if self._begun:
                        self._end(self._key(sig))

        return compiled

    @property
    def cache_path(self) -> str:
        return str(stores.own() / self._digest)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None if this process must compile it."""
        target_context.refresh()
        key = self._key(sig)
        found = self._read(key, target_context, stores.readable())
        if found is not None:
            return found
        lock = Lock(self._file(stores.own(), "lock"))
        found = self._read(key, target_context, (stores.own(),)) if lock.waited else None
        if found is None:
            self._begun[key] = _Compilation(self._function, lock)
        else:
            lock.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function."""
        if self._impl.check_cachable(data):
            self._write(self._key(sig), self._impl.reduce(data))

    def _end(self, key: Any) -> None:
        compilation = self._begun.pop(key, None)
        if compilation is not None:
            compilation.end()

    def _read(self, key: Any, target_context: Any, folders: Iterable[Path]) -> Any:
        for folder in folders:
            with contextlib.suppress(*_DAMAGED):
                found = self._index(folder).load(key)
                if found is not None:
                    return self._impl.rebuild(target_context, found)
        return None

    def _write(self, key: Any, reduced: Any) -> None:
        """Save a compiled function. If there is no room, only this process has it."""
        with contextlib.suppress(OSError):
            index = self._index(stores.own())
            Path(self.cache_path).mkdir(parents=True, exist_ok=True)
            try:
                index.save(key, reduced)
            except _DAMAGED:
                index.flush()
                index.save(key, reduced)

    @functools.cached_property
    def _digest(self) -> str:
        return digest_of(Path(self._function.__code__.co_filename))

    def _file(self, store: Path, ending: str) -> Path:
        return store / self._digest / f"{self._impl.filename_base}.{ending}"

    def _index(self, store: Path) -> IndexDataCacheFile:
        return IndexDataCacheFile(str(store / self._digest), self._impl.filename_base, llvmlite.__version__)

    def _key(self, sig: Any) -> tuple[Any, ...]:
        types = sig if isinstance(sig, tuple) else sig.args
        return (sig, *self._own_key, *map(digest_of_layout, _layouts(types)))

    @functools.cached_property
    def _own_key(self) -> tuple[str, str]:
        """The code and closure of the function, which differ among functions made by the same source text."""
        closed = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        code = self._function.__code__.co_code
        return hashlib.sha256(code).hexdigest(), hashlib.sha256(dumps(closed) if closed else b"").hexdigest()


class _Compilation:
    """A compilation in progress: from the miss in all stores until the function is compiled or fails."""

    _outermost: _Compilation | None = None

    def __init__(self, function: Callable[..., Any], lock: Lock) -> None:
        self._lock = lock
        self._announcement: Announcement | None = None
        if _Compilation._outermost is None:
            _Compilation._outermost = self
            self._announcement = Announcement(function)

    def end(self) -> None:
        """Release the lock, for waiting processes, and end the announcement."""
        self._lock.release()
        if self._announcement is not None:
            _Compilation._outermost = None
            self._announcement.end()


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Numba's interface to distinguish functions of one name in one file. `KernelCache` handles everything else."""

    def __init__(self, line: int, file: str) -> None:
        self._line, self._py_file = line, file

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        return cls(function.__code__.co_firstlineno, file)

    def get_disambiguator(self) -> str:
        return str(self._line)

    def get_cache_path(self) -> str:
        raise NotImplementedError

    def get_source_stamp(self) -> str:
        raise NotImplementedError


class _Serialized(CompileResultCacheImpl):  # type: ignore[misc]
    """Serialises compiled functions."""

    _locator_classes: Final = (_Locator,)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        rebuilt = REBUILDING.get(payload[0][1])
        if rebuilt is not None:
            return rebuilt(target_context, payload)
        return super().rebuild(target_context, payload)


def _layouts(types: Iterable[Any]) -> Iterator[type]:
    """The layouts of tables among types, and of the tables in these."""
    for one in types:
        if isinstance(one, numba.types.BaseNamedTuple):
            yield one.instance_class
            yield from _layouts(one.types)


stores.warn_of_useless_kernels()  # once per process, because every user of a kernel imports this module
