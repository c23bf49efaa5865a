"""Report guessed passwords: many failures of a user, a success after them, and an address that tries many users."""

import tocsin

engine = tocsin.Engine()
engine.subscribe("guessing", "COUNT(ok = FALSE, 'PT10M') >= 5")
engine.subscribe("guessed", "ok = TRUE AND COUNT(ok = FALSE, 'PT10M') >= 5")
engine.subscribe("spraying", "COUNT_DISTINCT(user, ok = FALSE, 'PT10M') >= 4", by="ip")

monitor = tocsin.Monitor(engine, key="user", time="time")
for change in monitor.push_batch("logins.jsonl"):
    print(f"{change['time']:%H:%M:%S} {change['object']} {change['change']} {change['subscription']}")

print(monitor.explain("guessing", "bob"))
for change in monitor.advance("2026-05-04T09:00:00Z"):
    print(f"{change.time:%H:%M:%S} {change.object} {change.change} {change.subscription} after {change.seconds:.0f} s")
