"""What a wheel has that a checkout has not: compiled kernels, and a pin of the Numba that compiled them.

`TOCSIN_WHEEL_LEVELS` names the levels of processors that they are compiled for, with commas between; "none" leaves them
out, and first answers compile them. All else is in pyproject.toml: docs/decisions/0022-kernels-that-travel.md.
"""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

DEFAULT = "x86-64-v3" if platform.machine() in ("x86_64", "AMD64") else "own"
LEVELS = [one for one in os.environ.get("TOCSIN_WHEEL_LEVELS", DEFAULT).split(",") if one and one != "none"]


class WithKernels(build_py):
    """The files of the package, and what its kernels become."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for level in LEVELS:
            store = Path(self.build_lib).resolve() / "tocsin" / "jit" / "compiled"
            chosen = [] if level == "own" else ["--level", level]
            print(f"compiling kernels for {level}: some minutes", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "tocsin", "warm", "--into", str(store), *chosen]
            found = [str(Path(self.build_lib).resolve()), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}
            subprocess.run(command, check=True, env=environment)


class Compiled(Distribution):
    """A distribution for one kind of machine, where it brings kernels.

    Only the minor version of Numba that compiled kernels loads them, so a wheel asks for it.
    """

    def parse_config_files(self, *given: object, **named: object) -> None:
        super().parse_config_files(*given, **named)
        if LEVELS and "TOCSIN_BUILDS_A_WHEEL" in os.environ:
            minor = ".".join(version("numba").split(".")[:2])
            self.install_requires = [
                f"numba=={minor}.*" if Requirement(one).name == "numba" else one for one in self.install_requires
            ]
            self.metadata.install_requires = self.install_requires

    def has_ext_modules(self) -> bool:
        return bool(LEVELS)


setup(cmdclass={"build_py": WithKernels}, distclass=Compiled)
