"""`tocsin`, or `python -m tocsin`: the command line. What it needs is imported where an interruption is understood."""

import signal
import sys
import warnings
from typing import Any

from tocsin.cli import INTERRUPTED, TERMINATED
from tocsin.cli.stopping import Terminated, ending_at_once, terminating
from tocsin.garbage import setting_aside

_SPARK_RUNS_IN = {"pipeline", "demo"}
_INTERRUPTED = "tocsin: interrupted", INTERRUPTED
_TERMINATED = "tocsin: terminated", TERMINATED


class _NoPandas:
    """Finds no pandas, and leaves every other module to others."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("no command needs pandas", name=name)


def run() -> None:
    """The entry point of the installed command. A signal, whenever it comes, is one line and status 130 or 143."""
    warnings.showwarning = _show
    try:
        with terminating():
            with ending_at_once({signal.SIGINT: _INTERRUPTED, signal.SIGTERM: _TERMINATED}):
                if not _SPARK_RUNS_IN & set(sys.argv[1:2]):
                    _keep_pandas_out()
                with setting_aside():
                    from tocsin.cli.main import main
            status = main()
    except KeyboardInterrupt as ended:
        how, status = _TERMINATED if isinstance(ended, Terminated) else _INTERRUPTED
        print(how, file=sys.stderr)
    sys.exit(status)


_show_in_python = warnings.showwarning


def _show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a warning as a line of its own, without the line of code that gave it."""
    if category is UserWarning:
        print(f"tocsin: warning: {message}", file=sys.stderr)
    else:
        _show_in_python(message, category, *where, **more)


def _keep_pandas_out() -> None:
    """pyarrow imports pandas with a process's first array, where it is installed: a fifth of a command's start."""
    sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow as pa

        pa.array([None])  # looks for pandas now, and never again
    finally:
        sys.meta_path.remove(_NoPandas)


if __name__ == "__main__":
    run()
