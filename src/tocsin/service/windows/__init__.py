"""Windows that are served: each is a durable window in a folder of its own, with a thread for its calls.

`hosted` has one window, and `registry` all of a tenant, with the changes that make and delete them. `interests` says
where the changes of subscriptions go. `batches` has what a window's transactions hand over to the outbox.
"""
