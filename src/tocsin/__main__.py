"""`python -m tocsin`: the command line."""

from tocsin.cli.main import run

run()
