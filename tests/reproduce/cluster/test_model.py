"""The model of a cluster keeps to its own words: what more cores, copies, visits and parts cost, and what they save."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from reproduce.cluster.__main__ import load_of
from reproduce.cluster.lying import lies_of
from reproduce.cluster.model import Cluster, Costs, Lies, Load, taken
from reproduce.messages import GROUPS, ZIPF

import tocsin
from tests.placement.test_placements import MAP, WORDS, batch_of, part_of

COSTS = Costs(2e-5, 5e-6, 1e-6, 1e-12, 1e-7, 1e-5, 1e-9, 0.01, job=1.0, shuffle=0.5)
LOAD = Load(1_000_000, 10_000_000, 7.0, 200.0, 400.0)
SPREAD = Lies(8, 8.0, 1.0, 1.0)


def test_a_local_match_is_events_visits_candidates_matches_and_tasks() -> None:
    found = taken(LOAD, SPREAD, Cluster(1), COSTS)

    assert found.routing == "local"
    assert found.index_bytes == 4e9
    work = 1e6 * (2e-5 + 8e-6 + 1e-5 + 70 * 1e-7)
    assert found.cpu == pytest.approx(work + 4 * 0.01)
    assert found.seconds == pytest.approx(1.0 + work + 4 * 0.01)


def test_cores_share_the_work_and_not_what_a_job_begins_with() -> None:
    one, ten = (taken(LOAD, SPREAD, Cluster(executors), COSTS) for executors in (1, 10))

    assert ten.seconds - 1.0 < (one.seconds - 1.0) / 9
    assert ten.cpu == pytest.approx(one.cpu + 36 * 0.01)


def test_what_fits_no_machine_is_shuffled() -> None:
    """By copies, too; and it costs what is sent, there and back."""
    small = Cluster(4, memory=10e9)
    fits, copied = taken(LOAD, SPREAD, small, COSTS), taken(LOAD, replace_copies(2.0), small, COSTS)

    assert (fits.routing, copied.routing) == ("local", "shuffle")
    sent = 1e6 * 8 * (5e-6 + 2 * 1e-5 + 200 * 1e-9)
    begun = 2 * 0.5 + (16 + 8 + 16 - 16) * 0.01
    assert copied.cpu - fits.cpu == pytest.approx(sent + 1e6 * 70 * 1e-7 + begun)


def replace_copies(copies: float) -> Lies:
    return SPREAD._replace(copies=copies)


def test_parts_bound_who_can_share_the_middle_of_a_shuffle() -> None:
    """And the busiest of them is waited for."""
    many = Cluster(100)
    few, more = (taken(LOAD, SPREAD._replace(parts=parts), many, COSTS, "shuffle") for parts in (8, 100))
    skewed = taken(LOAD, SPREAD._replace(parts=100, balance=3.0), many, COSTS, "shuffle")

    assert few.seconds > 2 * more.seconds
    assert skewed.seconds > more.seconds
    assert skewed.cpu == more.cpu
    cheap = replace(COSTS, sent=0.0, byte=0.0)
    assert taken(LOAD, SPREAD, many, cheap, "shuffle").cpu < few.cpu


def test_how_subscriptions_lie_is_told_of_a_sample(tmp_path: Path) -> None:
    part = part_of(MAP)
    events = [{"place": [n % 19 + 0.7, n % 17 + 0.3], "words": WORDS[n % 40 : n % 40 + 1]} for n in range(60)]
    batches = [batch_of(part, events)]

    hashed, placed = (lies_of(part, name, 4, tocsin.sample(events), batches) for name in ("hash", "location"))

    assert (hashed.visits, hashed.copies) == (4.0, 1.0)
    assert hashed.balance < 1.5
    assert placed.visits < 2
    pq.write_table(ZIPF.messages(GROUPS[0], 50), tmp_path / "events.parquet")
    assert load_of(tmp_path, 5, 7.0, 400.0).subscriptions == 5
