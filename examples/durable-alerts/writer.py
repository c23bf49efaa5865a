"""Adds an alert, deletes another, and dies before it can save anything."""

import os

import tocsin

engine = tocsin.Engine.open("alerts")
engine.subscribe("bikes", "kind = 'bike'", payload={"mail": "di@example.org"})
engine.unsubscribe("near")
print(f"change {engine.sequence} is durable", flush=True)
os._exit(1)  # nothing is closed, as in a crash
