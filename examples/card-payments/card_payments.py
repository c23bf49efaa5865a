"""Report customers who spend much in a day, pay with many cards, or pay far more than the last time."""

import tocsin

engine = tocsin.Engine()
engine.subscribe("spender", "SUM(amount, TRUE, 'P1D') > 10000")
engine.subscribe("many cards", "COUNT_DISTINCT(card, TRUE, 'P1D') >= 4")
engine.subscribe("jump", "amount > 20 * PREVIOUS(amount)")

monitor = tocsin.Monitor(engine, key="customer", time="time")
for change in monitor.push_batch("payments.csv"):
    print(f"{change['time']:%d %H:%M} {change['object']} {change['change']} {change['subscription']}")
print(monitor.explain("spender", "c-1"))

print("with a limit of 8000:")
print(monitor.dry_run("SUM(amount, TRUE, 'P1D') > 8000", "payments.csv"))
