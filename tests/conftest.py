"""What every test shares: Hypothesis profiles, and one Spark session made when the first test asks for it."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Deadlines are off because the first example compiles kernels; `unit` is for between two edits, `thorough` for a night.
settings.register_profile("unit", deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
