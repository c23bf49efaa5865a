"""How does a cluster keep a window? Messages are numbered in one place, and each partition keeps its subscriptions'."""
