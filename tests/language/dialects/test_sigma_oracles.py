"""Generated rules of Sigma: tocsin answers as a naive reading of the specification does, and as SQLite does."""

from __future__ import annotations

from contextlib import closing
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.dialects.agreeing import disagreements
from tests.language.dialects.sigma_rules import COLUMNS, event, row, rule
from tests.naive.sigma_reading import matches

pytest.importorskip("sigma", reason="pySigma reads the rules; pip install 'tocsin[sigma]'")
sqlite = pytest.importorskip("tests.naive.sigma_in_sqlite", reason="SQLite's backend; pip install 'tocsin[dev]'")


@given(st.randoms(use_true_random=True))
def test_generated_rules_agree_with_the_naive_reading(random: Random) -> None:
    """Each rule is read, and matches the events that the naive reading says."""
    rules, events = [rule(random) for _ in range(25)], [event(random) for _ in range(20)]

    differences, refused = disagreements(
        rules, "sigma", events, lambda one: {number for number, this in enumerate(events) if matches(one, this)}
    )

    assert not differences[:3]
    assert not refused


@given(st.randoms(use_true_random=True))
def test_generated_rules_agree_with_sqlite(random: Random) -> None:
    """Each rule matches the rows that SQLite finds with the SQL of pySigma's backend."""
    rules, events = [rule(random, rows=True) for _ in range(25)], [row(random) for _ in range(20)]

    with closing(sqlite.Table(events, COLUMNS)) as table:
        differences, refused = disagreements(rules, "sigma", events, table.matching)

    assert not differences[:3]
    assert not refused


@given(st.randoms(use_true_random=True))
def test_naive_reading_agrees_with_sqlite(random: Random) -> None:
    """The naive reading of a rule finds the rows that SQLite finds."""
    rules, events = [rule(random, rows=True) for _ in range(10)], [row(random) for _ in range(20)]

    with closing(sqlite.Table(events, COLUMNS)) as table:
        for one in rules:
            assert {number for number, this in enumerate(events) if matches(one, this)} == table.matching(one), one
