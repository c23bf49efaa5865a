"""Rules of Sigma run by SQLite, from the SQL that pySigma's backend for it writes: another engine, by other people."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sigma.backends.sqlite import sqliteBackend
from sigma.collection import SigmaCollection


class Table:
    """Events as rows of a table, whose columns compare texts without case."""

    def __init__(self, events: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.create_function("regexp", 2, _regexp, deterministic=True)
        named = ", ".join(f'"{column}" COLLATE NOCASE' for column in columns)
        self._connection.execute(f"CREATE TABLE logs (number INTEGER PRIMARY KEY, {named})")
        holes = ", ".join("?" for _ in range(len(columns) + 1))
        rows = ([number, *map(event.get, columns)] for number, event in enumerate(events))
        self._connection.executemany(f"INSERT INTO logs VALUES ({holes})", rows)

    def matching(self, rule: Mapping[str, Any]) -> set[int]:
        """The numbers of the events that a rule matches."""
        (statement,) = sqliteBackend().convert(SigmaCollection.from_dicts([{"logsource": {"category": "any"}, **rule}]))
        where = statement.partition(" WHERE ")[2]
        return {number for (number,) in self._connection.execute(f"SELECT number FROM logs WHERE {where}")}

    def correlated(self, documents: Sequence[Mapping[str, Any]], time: str) -> set[tuple[tuple[Any, ...], float]]:
        """The values of `group-by`, and the second in the column `time`, of each event at which a correlation holds.

        The correlation is the first of the documents.
        """
        backend = sqliteBackend(timestamp_field=time, timestamp_format="unix", event_id_field="number")
        rules = [{"title": "t", "logsource": {"category": "any"}, **document} for document in documents]
        statements = backend.convert(SigmaCollection.from_dicts(rules))
        (statement,) = (one for one in statements if one.startswith("WITH "))  # the others are of rules
        names = documents[0]["correlation"]["group-by"]
        found = self._connection.execute(f"SELECT group_keys, occurrence_time FROM ({statement})")
        return {(tuple(map(json.loads(keys).get, names)), second) for keys, second in found}

    def close(self) -> None:
        self._connection.close()


def _regexp(expression: str, value: object) -> bool:
    return isinstance(value, str) and re.search(expression, value) is not None
