"""What is a plan? Which index holds a set of subscriptions, and why: a value that planner makes and segment obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.index.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Plan:
    """The name of a registered index, the reason in words for the user, and what is known of the events to come.

    `options` are the index's own, where they differ from its defaults.
    """

    index: str
    reason: str
    statistics: Statistics | None = field(default=None, compare=False)
    options: Mapping[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> str:
        """The index as a user would ask for it, options included.

        >>> Plan("opindex", "", options={"segments": 4}).asked, Plan("scan", "").asked
        ('opindex(segments=4)', 'scan')
        """
        given = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.index}({given})" if given else self.index
