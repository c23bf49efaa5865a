"""The HTTP service on a durable engine: subscribe, publish, and be told.

`serving` runs the process and `app` has all calls. `service` holds the parts: `publishing` (one thread that matches),
`outbox` (one transaction for events and deliveries), `hub` and `streaming` (who waits), `readers` and `retention`.
Only this package imports the web stack.
"""
