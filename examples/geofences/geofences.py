"""Report what vehicles enter, stay in, leave and drive through, by areas from a GeoJSON file."""

import json

import tocsin

with open("fences.geojson", encoding="utf-8") as file:
    features = json.load(file)["features"]
areas = []
for feature in features:
    inside = {"op": "s_intersects", "args": [{"property": "location"}, feature["geometry"]]}
    of_kind = {"op": "in", "args": [{"property": "kind"}, feature["properties"]["kinds"]]}
    areas.append({"id": feature["properties"]["name"], "where": {"op": "and", "args": [inside, of_kind]}})

engine = tocsin.Engine()
for error in engine.subscribe_many(areas).errors:
    print(f"not accepted: {error.id}: {error.reason}")

fences = tocsin.Fences(engine, key="vehicle", time="time", dwell=300, path="location")
answer = fences.push_batch("positions.csv", points={"location": ("lon", "lat")})
for change in answer:
    after = "" if change["seconds"] is None else f" after {change['seconds']:.0f} s"
    print(f"row {change['event']}: {change['object']} {change['change']} {change['subscription']}{after}")
for warning in answer.warnings:
    print(f"warning: {warning}")
print(f"now inside: {dict(fences.objects())}")
