"""Unknown fields of records: kept in the payload if the caller names them, else reported."""

from __future__ import annotations

import datetime as dt
import decimal
import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from tocsin.errors import InvalidInput, RecordError
from tocsin.language.advice import Advice
from tocsin.model.subscription import Notice
from tocsin.spelling import option


class Extras:
    """Collects the unknown fields of one source's records, and advice on their expressions."""

    def __init__(
        self,
        fields: Collection[str],
        payload_columns: Iterable[str] = (),
        what: str = "subscription",
        checks: Mapping[str, Callable[[Any], object]] | None = None,
    ) -> None:
        """Raises `InvalidInput` if `payload_columns` are not names, or are names of known fields.

        `checks` are fields of somebody else, such as the service, that are known and not used here: each raises
        `RecordError` for a wrong value.
        """
        if isinstance(payload_columns, str):
            raise InvalidInput(f"payload_columns is {payload_columns!r:.40}; it is a list of names")
        self.kept = dict.fromkeys(payload_columns)
        for name in self.kept:
            if not isinstance(name, str) or name in fields:
                raise InvalidInput(
                    f"{option('payload_columns')} has {name!r:.40}; it takes names of columns that are not already "
                    "fields of a subscription"
                )
        self.checks = checks or {}
        self._fields = frozenset((*fields, *self.checks))
        self._what = what
        self._ignored: dict[str, None] = {}
        self._seen: set[str] = set()
        self._advice: list[Notice] = []

    def chooses(self, name: str) -> bool:
        """Whether to read a column; a column that is not read is reported."""
        self.see((name,))
        return name in self._fields or name in self.kept

    def see(self, names: Iterable[object]) -> None:
        """Record the unknown fields of a record or a table."""
        for name in names:
            if name in self.kept:
                self._seen.add(str(name))
            elif name not in self._fields:
                self._ignored[str(name)] = None

    def payload_of(self, record: Mapping[str, Any]) -> Any:
        """The payload of a record with the kept columns added; raises `RecordError` if it is not an object.

        Raises it also for a wrong value of another field that is checked.
        """
        for name, check in self.checks.items():
            if record.get(name) is not None:
                check(record[name])
        payload = record.get("payload")
        beside = {name: _plain(record[name]) for name in self.kept if record.get(name) is not None}
        if not beside:
            return payload
        if payload is not None and not isinstance(payload, Mapping):
            reason = f"the payload is not an object, so {option('payload_columns')} cannot add to it"
            raise RecordError(reason, "payload")
        return {**(payload or {}), **beside}

    def advise(self, advice: Iterable[Advice]) -> None:
        """Record advice on expressions that are probably mistakes."""
        self._advice += [
            Notice(one.attribute, one.condition, one.reason, int(one.subscription is not None), one.subscription)
            for one in advice
        ]

    def warnings(self) -> list[Notice]:
        """Warnings about ignored fields, kept columns that no record has, and probable mistakes."""
        told = [Notice(name, f"{self._what} field {name}", self._reason(name), 0, None) for name in self._ignored]
        missing = [name for name in self.kept if name not in self._seen]
        reason = f"no {self._what} has it"
        told += [Notice(name, option("payload_columns", [name]), reason, 0, None) for name in missing]
        return told + self._advice

    def _reason(self, name: str) -> str:
        close = difflib.get_close_matches(name, list(self._fields), 1)
        kept = f"; {option('payload_columns', [name])} keeps it in the payload" if self._what == "subscription" else ""
        return f"ignored, because a {self._what} has no such field" + (f"; did you mean {close[0]}?" if close else kept)


def _plain(value: Any) -> Any:
    """A column's value as JSON has it: dates and times as texts, decimals as numbers."""
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return float(value) if isinstance(value, decimal.Decimal) else value
