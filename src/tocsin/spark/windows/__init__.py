"""Windows on a cluster: one task numbers the messages, and each partition keeps a window for its subscriptions."""
