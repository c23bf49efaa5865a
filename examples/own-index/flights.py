"""Use the index by its name, as any other, and keep it on disk."""

import tocsin

alerts = [
    {"id": "ann", "where": "origin = 'EWR' AND delay > 60"},
    {"id": "bob", "where": "delay BETWEEN 15 AND 30 OR carrier = 'UA'"},
    {"id": "cem", "where": "delay > 90 AND NOT carrier IN ('AA', 'UA')"},
]
flights = [
    {"origin": "EWR", "carrier": "UA", "delay": 75},
    {"origin": "JFK", "carrier": "B6", "delay": 20},
    {"origin": "EWR", "carrier": "DL", "delay": 120},
]
answer = tocsin.match(alerts, flights, index="narrowest")
for row in answer.table.to_pylist():
    print(row["event"], row["subscription"])
print(answer.stats.candidates_examined, "candidates of", len(alerts) * len(flights))

engine = tocsin.Engine("narrowest")
engine.subscribe_many(alerts)
engine.save("alerts")
print([match.subscription for match in tocsin.Engine.load("alerts").match(flights[0])])
