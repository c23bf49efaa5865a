"""Report vehicles that stand at the depot for ten minutes, and those that brake hard."""

import tocsin

engine = tocsin.Engine()
engine.subscribe("stands at depot", "S_INTERSECTS(location, BBOX(13.39, 52.49, 13.41, 52.51)) AND speed < 5")
engine.subscribe("brakes", "PREVIOUS(speed) - speed > 50")

monitor = tocsin.Monitor(engine, key="vehicle", time="time", dwell="10 min")
for change in monitor.push_batch("positions.csv", points={"location": ("lon", "lat")}):
    after = f" after {change['seconds'] / 60:.0f} min" if change["change"] in ("dwell", "exit") else ""
    print(f"{change['time']:%H:%M} {change['object']} {change['change']} {change['subscription']}{after}")
print(f"now: {dict(monitor.objects())}")
print(monitor.explain("stands at depot", "v-3"))
