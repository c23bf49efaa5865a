"""GeoJSON features as records: in a collection, one a line, and in sequences (RFC 8142)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SEPARATOR: Final = 0x1E
"""The byte before each record of a GeoJSON text sequence."""

_OWN: Final = frozenset(("type", "bbox", "id", "geometry", "properties"))


def is_collection(document: object) -> bool:
    """Whether a JSON document is a feature collection."""
    return (
        isinstance(document, Mapping)
        and document.get("type") == "FeatureCollection"
        and isinstance(document.get("features"), list)
    )


def in_one_system(collection: Mapping[str, Any]) -> list[Any]:
    """The features of a collection. If it names a reference system, their geometries name it too (GeoJSON of 2008)."""
    features: list[Any] = collection["features"]
    if (system := collection.get("crs")) is not None:
        for feature in features:
            geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
            if isinstance(geometry, dict):
                geometry.setdefault("crs", system)
    return features


def is_area(record: object) -> bool:
    """Whether a record, made from a feature, has a geometry and nothing that a subscription is about."""
    return isinstance(record, Mapping) and isinstance(record.get("geometry"), Mapping) and "where" not in record


def as_record(document: Any) -> Any:
    """Convert a feature to a record of its foreign members, `id`, `geometry` and properties; properties win.

    Anything else is returned as it is.

    >>> as_record({"type": "Feature", "id": 7, "geometry": None, "properties": {"name": "Oslo"}, "seen": 3})
    {'seen': 3, 'id': 7, 'name': 'Oslo'}
    """
    if not (isinstance(document, Mapping) and document.get("type") == "Feature" and "properties" in document):
        return document
    properties = document["properties"]
    foreign = {name: value for name, value in document.items() if name not in _OWN}
    own = {name: document[name] for name in ("id", "geometry") if document.get(name) is not None}
    return {**foreign, **own, **(properties if isinstance(properties, Mapping) else {})}
