"""Packages that import their modules and public names on first use, so that importing the package takes no time."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tocsin.errors import needing


def lazy_names(
    package: str, namespace: dict[str, Any], extra: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package, from its name, its globals and the extra that it needs.

    An attribute is a module of the package, or a name that its module `public` exports. Modules come first: they can be
    imported where a library that `public` needs is not installed. Where one is missing, the error is `MissingExtra`.
    """

    def module(name: str) -> Any:
        with nullcontext() if extra is None else needing(extra):
            return importlib.import_module(f"{package}.{name}")

    def get(name: str) -> Any:
        is_special = name.startswith("__")
        if not is_special and importlib.util.find_spec(f"{package}.{name}") is not None:
            return module(name)
        public = None if is_special and name != "__all__" else module("public")
        if public is None or name not in ("__all__", *public.__all__):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(public, name)
        return value

    def names() -> list[str]:
        return sorted({*namespace, *get("__all__")})

    return get, names
