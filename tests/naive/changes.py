"""What do subscriptions become by changes that may come late, or twice? One at a time, in a dictionary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Changing:
    """Subscriptions by id, and for each id that was ever changed the version of its last change."""

    def __init__(self, records: Iterable[dict[str, Any]] = ()) -> None:
        self.subscriptions = {record["id"]: (record["where"], record.get("score", 1.0)) for record in records}
        self.versions: dict[Any, int] = {}

    def take(self, changes: Iterable[dict[str, Any]], is_expression: Any) -> None:
        """Take a batch: of each id by version. `is_expression` says whether a text is one."""
        for change in sorted(changes, key=lambda one: one["version"]):
            self._take_one(change, is_expression)

    def _take_one(self, change: dict[str, Any], is_expression: Any) -> None:
        name, version, kind = change["id"], change["version"], change["change"]
        if name in self.versions and version <= self.versions[name]:
            return
        if kind in ("insert", "update"):
            if not is_expression(change["where"]):
                return
            score = change.get("score")
            self.subscriptions[name] = (change["where"], 1.0 if score is None else score)
        elif kind == "delete":
            self.subscriptions.pop(name, None)
        elif kind == "rescore":
            if name not in self.subscriptions:
                return
            self.subscriptions[name] = (self.subscriptions[name][0], change["score"])
        else:
            return
        self.versions[name] = version
