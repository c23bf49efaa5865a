"""The data of B6: the demo's flights as one table, and its alerts. pandas joins them, so Spark is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pandas as pd
import pyarrow as pa

from tocsin.demo.alerts import WEEKDAYS, Alert, Catalogue, Route, draw
from tocsin.demo.flights import flight_table
from tocsin.demo.pipeline import ATTRIBUTES, SEED

_HOUR = ["origin", "month", "day", "hour"]
_WEATHER = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
_PLANES = 500


@cache
def flights() -> pa.Table:
    """All flights of the year, shuffled: their columns, `weekday`, `weather` (a struct) and `dest_location`."""
    import airportsdata

    airports = airportsdata.load("IATA")
    table = flight_table("flights")
    weather = flight_table("weather").sort_values("time_hour").drop_duplicates(_HOUR)[_HOUR + _WEATHER]
    joined = table.merge(weather, how="left", on=_HOUR).sample(frac=1, random_state=SEED)
    days = pd.to_datetime(joined[["year", "month", "day"]]).dt.dayofweek
    columns = {name: pa.array(joined[name], from_pandas=True) for name in table.columns}
    columns["dep_time"] = columns["dep_time"].cast(pa.int64())
    columns["arr_time"] = columns["arr_time"].cast(pa.int64())
    columns["weekday"] = pa.array([WEEKDAYS[day] for day in days])
    readings = [pa.array(joined[name], from_pandas=True) for name in _WEATHER]
    columns["weather"] = pa.StructArray.from_arrays(readings, _WEATHER, mask=pa.array(joined["temp"].isna()))
    columns["dest_location"] = pa.array(
        [[airports[code]["lon"], airports[code]["lat"]] for code in joined["dest"]], pa.list_(pa.float64())
    )
    return pa.table(columns)


def asked_for(count: int | None = None) -> pa.Table:
    """The columns that alerts may use, of the first `count` flights."""
    return flights().select(ATTRIBUTES).slice(0, count)


@cache
def alerts(count: int) -> Sequence[Alert]:
    """Alerts, drawn as in the demo."""
    table = flights().select(["origin", "dest", "carrier", "tailnum", "dest_location"]).to_pandas()
    table["longitude"], table["latitude"] = table["dest_location"].str[0], table["dest_location"].str[1]
    keys = ["origin", "dest", "carrier"]
    grouped = table.groupby(keys).agg(flights=("dest", "size"), lon=("longitude", "max"), lat=("latitude", "max"))
    tails = table["tailnum"].value_counts().sort_index().sort_values(ascending=False, kind="stable")
    routes = [Route(*key, int(n), lon, lat) for key, (n, lon, lat) in zip(grouped.index, grouped.values, strict=True)]
    return draw(Catalogue(routes, list(tails.index[:_PLANES])), count, SEED)
