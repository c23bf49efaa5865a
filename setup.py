"""What a wheel has that a checkout has not: kernels that are compiled already. All else is in pyproject.toml.

`TOCSIN_WHEEL_LEVELS` names the levels of processors that they are compiled for, with commas between; "none" leaves them
out, and a user's first answers compile them. See docs/decisions/0022-kernels-that-travel.md.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

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
            store = Path(self.build_lib).resolve() / "tocsin" / "kernels" / "compiled"
            chosen = [] if level == "own" else ["--level", level]
            print(f"compiling kernels for {level}: some minutes", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "tocsin", "warm", "--into", str(store), *chosen]
            found = [str(Path(self.build_lib).resolve()), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}
            subprocess.run(command, check=True, env=environment)


class Compiled(Distribution):
    """A distribution for one kind of machine, where it brings kernels."""

    def has_ext_modules(self) -> bool:
        return bool(LEVELS)


setup(cmdclass={"build_py": WithKernels}, distclass=Compiled)
