"""The rows in which measurements are shown."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One measurement."""

    what: str
    load: str
    of: str
    value: float
    unit: str
    note: str = ""

    def text(self, calibration: float) -> str:
        """The row as text. Rates are also given per million steps of the calibration loop, to compare machines."""
        digits = 0 if self.value >= 1000 else 1 if self.value >= 10 else 2
        multiple = f"{self.value / calibration:9,.1f}" if self.unit.endswith("/s") else f"{'':9}"
        value = f"{self.value:12,.{digits}f} {self.unit:9} {multiple}"
        return f"{self.what:13} {self.load:5} {self.of:26} {value}  {self.note}"

    def json(self) -> str:
        """The row as one line of JSON."""
        return json.dumps(asdict(self))


HEADER = f"{'what':13} {'load':5} {'of':26} {'':>12} {'unit':9} {'x calib.':>9}  note"
