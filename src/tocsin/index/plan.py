"""What is a plan? Which index holds a set of subscriptions, and why: a value that planner makes and segment obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tocsin.index.statistics import Statistics

RANKER: Final = "sopt_r_tree"
"""What is taken where none is asked for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The name of a registered index, the reason in words for the user, and what is known of the events to come.

    `options` are the index's own, where they differ from its defaults; `ranker` gives intervals in order of weight.
    """

    index: str
    reason: str
    statistics: Statistics | None = field(default=None, compare=False)
    options: Mapping[str, int] = field(default_factory=dict)
    ranker: str = RANKER
    ranker_options: Mapping[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> str:
        """The index as a user would ask for it, options included.

        >>> Plan("opindex", "", options={"segments": 4}).asked, Plan("scan", "").asked
        ('opindex(segments=4)', 'scan')
        """
        if self.ranker != RANKER or self.ranker_options:
            return _with_options(self.ranker, self.ranker_options)
        return _with_options(self.index, self.options)


def _with_options(name: str, options: Mapping[str, int]) -> str:
    given = ", ".join(f"{option}={value}" for option, value in options.items())
    return f"{name}({given})" if given else name
