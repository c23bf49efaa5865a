"""Everything compiled ahead: what is used leads to every kernel, and is done once."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

import tocsin
from tocsin import InvalidInput
from tocsin.cli.main import main
from tocsin.jit.compiling import stores
from tocsin.warming import is_warm, warm
from tocsin.warming.samples import published_uses, uses

REACHED_BY_RESEARCH_ALONE = {"best_places", "begin_cursor", "move_cursor", "find", "find_each"}
"""A structure of intervals by itself, and a growing R-tree: `reproduce/` asks them, and no index does."""

WITHIN = {
    "signed",
    "segment_of",
    "signature_bit",
    "fill_slots",
    "new_bitmap",
    "merge_two",
    "holds",
    "find_literals",
    "has_piece",
    "decompose",
}
"""Kernels that only kernels call here, and tests call by themselves."""


def kernels() -> Iterator[Any]:
    """What Python can call of tocsin's compiled functions."""
    for module in pkgutil.walk_packages(tocsin.__path__, "tocsin."):
        if not module.name.startswith(("tocsin.demo", "tocsin.spark")) and "__main__" not in module.name:
            for one in vars(importlib.import_module(module.name)).values():
                if isinstance(one, Dispatcher) and not one.targetoptions.get("no_cpython_wrapper"):
                    yield one


@pytest.mark.slow("it goes through all uses of tocsin")
def test_the_uses_lead_to_every_kernel() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for use in chain(uses().values(), *(own.values() for own in published_uses().values())):
            use()

    names = {
        one.py_func.__name__
        for one in kernels()
        if not one.overloads
        and not one.py_func.__module__.startswith(("tocsin.kernels.reading", "tocsin.kernels.text"))
    }
    assert names <= REACHED_BY_RESEARCH_ALONE | WITHIN


@pytest.mark.slow("it goes through all uses of tocsin")
def test_what_was_compiled_ahead_is_not_compiled_again() -> None:
    """Here, and where a folder has it all; the product by itself, and with the papers."""
    warm(papers=True)

    (papers,) = published_uses()
    assert papers.name == "papers"
    assert stores.has_all()
    assert stores.has_all(papers)
    assert is_warm(papers=True)
    assert warm(papers=True) == warm() == 0


def test_a_level_that_there_is_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInput, match="level is 'x86-64-v9'; it must be one of x86-64-v4, x86-64-v3"):
        warm(tmp_path, level="x86-64-v9")
    with pytest.raises(InvalidInput, match="need the option into"):
        warm(level=next(one for one in stores.levels() if one in stores.LEVELS))

    with pytest.raises(InvalidInput, match="processes is 0; it must be an integer of at least 1"):
        warm(tmp_path, processes=0)

    assert main(["warm", "--level", "nonsense", "--into", str(tmp_path)]) == 2
    assert "level is 'nonsense'" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert main(["warm", "--into", str(tmp_path / "file")]) == 2
    assert "it is a file; give a folder" in capfd.readouterr().err
