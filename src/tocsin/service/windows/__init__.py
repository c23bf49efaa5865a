"""Windows that are served: each is a durable window in a folder of its own, with a thread for its calls.

`hosted` has one window, `registry` all of a tenant and the changes that make and delete them, and `batches` what a
window's transactions hand over to the outbox.
"""
