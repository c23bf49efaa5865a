"""One local Spark for the demo's tests, and a small piece of the year's flights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tocsin.demo import flights
from tocsin.spark.session import local_session


@pytest.fixture(scope="session")
def spark() -> Any:
    """A session with two cores; it lives as long as the test process, which may share it with other tests."""
    return local_session("local[2]", app="tocsin tests")


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> flights.Sources:
    """The packages' tables as Parquet."""
    return flights.write_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="session")
def flown(spark: Any, sources: flights.Sources, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 flights of the year, joined, as Parquet."""
    path = tmp_path_factory.mktemp("flown") / "events.parquet"
    flights.events(spark, sources, 2000).coalesce(2).write.parquet(str(path))
    return path
