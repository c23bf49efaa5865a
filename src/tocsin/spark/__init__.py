"""Matching on Spark: compile DataFrames of subscriptions into an index, and match DataFrames of events in the workers.

    from tocsin import spark
    spark.compile(subscriptions_df, "index/", partitions=8)
    matched_df = spark.match(events_df, "index/")

The public names are imported on first use, so that tasks can import modules from here without PySpark.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocsin.spark.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """A public name or a module, imported on first use."""
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    public = importlib.import_module("tocsin.spark.public")
    if name != "__all__" and name not in public.__all__:
        raise AttributeError(f"module 'tocsin.spark' has no attribute {name!r}")
    value = globals()[name] = getattr(public, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
