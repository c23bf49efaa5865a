"""The question behind `Similar`: subscriptions that an event resembles enough."""

from __future__ import annotations

from typing import Any, ClassVar

from tocsin.columns.events.batch import EventBatch
from tocsin.index.found import Found
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import SIMILAR_ENOUGH, Arrays
from tocsin.index.question import Part, Subscriptions, top
from tocsin.index.spatial_text.alike import SLACK, AlikeIndex
from tocsin.model.ranking import Similar


class Resembling:
    """Answers `Similar`, with an `AlikeIndex` for each source."""

    name: ClassVar[str] = SIMILAR_ENOUGH
    purpose: ClassVar[str] = "rankings by similarity"
    key: ClassVar[str] = "similar"
    default: ClassVar[Chosen | None] = Chosen("token_grid")
    counts_parts: ClassVar[bool] = True

    def structure(self, part: Part, builder: Any, plan: Plan) -> AlikeIndex:
        """Cost: linear in the subscriptions; the structure for the search is made on first use."""
        return AlikeIndex(part.compiled, builder)

    def arrays(self, structure: AlikeIndex) -> Arrays:
        """Nothing: the structure for the search has tokens of its own, and is made on first use."""
        return {}

    def restored(self, arrays: Arrays, part: Part, builder: Any, plan: Plan) -> AlikeIndex:
        """Rebuild it; nothing was saved."""
        return self.structure(part, builder, plan)

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Similar) -> Found:
        """The matches of all sources, best first."""
        found = subscriptions.answers(self, batch, ranking)
        assert found.scores is not None
        return top(found, found.scores, max(len(found.scores), 1))

    def needs_a_key(self, ranking: Similar, alike: float) -> bool:
        """Whether an event must have a key to be similar enough, because none without a key can reach the threshold.

        Proof. A subscription that answers has a region and a list of keywords, and anything else it asks for must hold.
        Its cover is one conjunct. If that is neither the region nor the list, it holds, and the event has a key of it.
        The region is not a cover if `alike` is below 1. If it is the list, an event without its keys has at most the
        share `alike` of the keywords, which weigh the same. Spatial similarity is at most 1, so the score is at most
        `alpha + (1 - alpha) * alike`. If `alike` is 0 the event has none of the keywords, whatever they weigh, and the
        bound is `alpha`. Scores are rounded, so the bound is loosened.
        """
        if alike > 0 and ranking.weights is not None:
            return False
        return ranking.threshold > ranking.alpha + (1 - ranking.alpha) * alike + SLACK
