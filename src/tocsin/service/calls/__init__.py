"""The calls of the HTTP interface, a module for each resource. `api` describes what a call is, and serves it."""
