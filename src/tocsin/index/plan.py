"""Plans: the index chosen for each question of some subscriptions, and the reason (`registry.choose`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.index.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Chosen:
    """The name of a registered index, and those of its options that differ from its defaults."""

    name: str
    options: Mapping[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> str:
        """The name and options as a user would write them.

        >>> Chosen("opindex", {"segments": 4}).asked, Chosen("scan").asked
        ('opindex(segments=4)', 'scan')
        """
        given = ", ".join(f"{option}={value}" for option, value in self.options.items())
        return f"{self.name}({given})" if given else self.name


@dataclass(frozen=True, slots=True)
class Plan:
    """The index that finds all matches, the reason in words for the user, and statistics of the events to come.

    `others` gives the indexes for other questions, by the question's name, if they are not the question's default.
    """

    index: str
    reason: str
    statistics: Statistics | None = field(default=None, compare=False)
    options: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, Chosen] = field(default_factory=dict)

    @property
    def asked(self) -> str:
        """The index as a user would name it to get this plan.

        >>> Plan("access", "", others={"the best first": Chosen("ir_tree")}).asked, Plan("scan", "").asked
        ('ir_tree', 'scan')
        """
        return next(iter(self.others.values()), Chosen(self.index, self.options)).asked
