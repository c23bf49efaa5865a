"""What setuptools needs to build tocsin: to compile its kernels into a wheel, all that tocsin itself needs."""

import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """setuptools' own needs, and tocsin's: the kernels are loaded by the Numba that compiled them."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *project["dependencies"]]
