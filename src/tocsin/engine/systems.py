"""In which coordinate reference system are the geometries of a table? What is not in longitude and latitude is told.

GeoParquet says it in the file's metadata, GeoArrow in those of the column. Coordinates are taken as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from tocsin.columns.events.batch import Wanted
from tocsin.language import name_text
from tocsin.model.notice import Notice

_DEGREES: Final = frozenset(("OGC:CRS84", "OGC:CRS84H", "EPSG:4326", "EPSG:4979"))
_OF_FILE: Final = b"geo"
_OF_COLUMN: Final = b"ARROW:extension:metadata"


def systems_of(schema: pa.Schema) -> dict[str, str]:
    """The columns that are in another system than longitude and latitude, and how that is called."""
    found = dict(_in_file((schema.metadata or {}).get(_OF_FILE, b"")))
    for field in schema:
        own = (field.metadata or {}).get(_OF_COLUMN)
        if own is not None and (name := _named(_object(own).get("crs"))):
            found[field.name] = name
    return {name: system for name, system in found.items() if system.upper() not in _DEGREES}


@lru_cache(64)
def _in_file(text: bytes) -> tuple[tuple[str, str], ...]:
    """What a file says of its columns, those of an unknown system left out."""
    columns = _object(text).get("columns")
    if not isinstance(columns, dict):
        return ()
    named = ((name, _named(own.get("crs"))) for name, own in columns.items() if isinstance(own, dict))
    return tuple((name, system) for name, system in named if system)


def _object(text: bytes) -> dict[str, Any]:
    """A JSON object, empty where a text is none."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _named(system: Any) -> str:
    """A system by its identifier, else by its name; empty where none is said."""
    if not isinstance(system, dict):
        return system if isinstance(system, str) else ""
    own = system.get("id")
    if isinstance(own, dict) and "authority" in own and "code" in own:
        return f"{own['authority']}:{own['code']}"
    return str(system.get("name", ""))


def in_other_systems(systems: Mapping[str, str], wanted: Wanted) -> Iterator[Notice]:
    """A notice for each column in another system that subscriptions ask about."""
    for name, system in systems.items():
        if wanted.holds(name):
            reason = (
                f"its coordinates are in {system:.60} and taken as they are; bring them to longitude and latitude "
                "(OGC:CRS84) unless subscriptions are in that system, too, and none asks for DISTANCE_M"
            )
            yield Notice(name, name_text(name), reason, 0, None)
