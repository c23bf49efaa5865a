"""Report machines that fell silent, and those that go down and up again and again."""

import tocsin

engine = tocsin.Engine()
engine.subscribe("silent", "SINCE(TRUE) >= DURATION('PT5M')")
engine.subscribe("down", "state = 'down'")
engine.subscribe("flapping", "COUNT(state = 'down' AND PREVIOUS(state) = 'up', 'PT30M') >= 3")

monitor = tocsin.Monitor(engine, key="machine", time="time", lateness="1 min")
for change in monitor.push_batch("checks.jsonl"):
    print(f"{change['time']:%H:%M} {change['object']} {change['change']} {change['subscription']}")

for id in ("silent", "flapping"):
    for machine, since in monitor.firing(id).items():
        print(f"{machine} is {id} since {since:%H:%M}")
print(monitor.explain("silent", "web-1"))
