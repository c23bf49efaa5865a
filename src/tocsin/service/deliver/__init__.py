"""Deliveries on their way: the kinds of destinations, and what is the same for all to which the service sends.

`kinds` has the table of kinds, and each kind has a folder. `senders` has a `sender` for each destination to which the
service sends (its *outlet*). It reads the outbox after the cursor, and decides by `schedule` what follows from a
request. `changes` makes it durable, and `registry` is what memory has of it. `addresses` says where requests may go.
"""
