"""Which subscriptions does an event resemble enough? The question `Similar`."""

from __future__ import annotations

from typing import Any, ClassVar

from tocsin.columns.events.batch import EventBatch
from tocsin.index.found import Found
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import SIMILAR_ENOUGH
from tocsin.index.question import Part, Subscriptions, top
from tocsin.index.spatial_text.alike import AlikeIndex
from tocsin.model.ranking import Similar


class Resembling:
    """Answers `Similar` by an `AlikeIndex` of each source."""

    name: ClassVar[str] = SIMILAR_ENOUGH
    rankings: ClassVar[tuple[type, ...]] = (Similar,)
    purpose: ClassVar[str] = "rankings by similarity"
    key: ClassVar[str] = "similar"
    default: ClassVar[Chosen | None] = Chosen("token_grid")

    def structure(self, part: Part, builder: Any, plan: Plan) -> AlikeIndex:
        """Cost: linear in the subscriptions; what finds them is made when it is first asked."""
        return AlikeIndex(part.compiled, builder)

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Similar) -> Found:
        """All of all sources, best first."""
        found = subscriptions.answers(self, batch, ranking)
        assert found.scores is not None
        return top(found, found.scores, max(len(found.scores), 1))
