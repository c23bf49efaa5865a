"""`tocsin`, or `python -m tocsin`: the command line. What it needs is imported where an interruption is understood."""

import sys

INTERRUPTED = 130


def run() -> None:
    """The entry point of the installed command. An interruption, whenever it comes, is one line and status 130."""
    try:
        from tocsin.cli.main import main

        status = main()
    except KeyboardInterrupt:
        print("tocsin: interrupted", file=sys.stderr)
        status = INTERRUPTED
    sys.exit(status)


if __name__ == "__main__":
    run()
