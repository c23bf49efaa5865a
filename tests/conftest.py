"""What every test shares: Hypothesis profiles, and one Spark session made when the first test asks for it."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Deadlines are off because the first example compiles kernels; `unit` is for between two edits, `thorough` for a night.
settings.register_profile("unit", deadline=None, max_examples=5, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--first", action="store_true", help="of each test the first of its parameters alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--first`, what is quick to run between two edits."""
    if not config.getoption("--first"):
        return
    first: dict[str, pytest.Item] = {}
    for item in items:
        first.setdefault(item.nodeid.partition("[")[0], item)
    kept = set(map(id, first.values()))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = first.values()


@pytest.fixture(scope="session")
def spark() -> Any:
    """A session that starts when the first test asks for it and lives as long as the test process.

    Two cores, since two workers at once are what tests need to see; other sessions of the process share it.
    """
    from tocsin.spark.session import local_session

    return local_session(
        "local[2]",
        app="tocsin tests",
        **{
            # A shuffle of a few rows need not be eight tasks.
            "spark.sql.shuffle.partitions": 2,
            # Small batches, so that tests of a few hundred rows cross their edges.
            "spark.sql.execution.arrow.maxRecordsPerBatch": 100,
        },
    )
