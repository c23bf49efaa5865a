"""What setuptools needs to build tocsin: to compile its kernels into a wheel, all that tocsin itself needs."""

import contextlib
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """setuptools' own needs, and tocsin's: the kernels are loaded by the Numba that compiled them."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *project["dependencies"]]


def prepare_metadata_for_build_wheel(*given: Any, **named: Any) -> str:
    """setuptools' own, for a wheel: its kernels ask for the Numba that compiled them (setup.py)."""
    with _for_a_wheel():
        return build_meta.prepare_metadata_for_build_wheel(*given, **named)


def build_wheel(*given: Any, **named: Any) -> str:
    """setuptools' own, as above."""
    with _for_a_wheel():
        return build_meta.build_wheel(*given, **named)


@contextlib.contextmanager
def _for_a_wheel() -> Iterator[None]:
    os.environ["TOCSIN_BUILDS_A_WHEEL"] = "1"
    try:
        yield
    finally:
        del os.environ["TOCSIN_BUILDS_A_WHEEL"]
