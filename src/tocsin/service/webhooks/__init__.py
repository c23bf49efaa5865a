"""Destinations of kind `webhook`: deliveries that the service posts to a URL.

`senders` has a `sender` for each destination, which reads the outbox after the cursor, posts through an `endpoint`, and
decides by `schedule` what follows. `changes` makes it durable, and `registry` is what memory has of it. `urls` and
`addresses` say where requests may go, and `signing` how they are signed.
"""
