"""Which subscriptions does an event resemble enough? The question `Similar`."""

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
    """Answers `Similar` by an `AlikeIndex` of each source."""

    name: ClassVar[str] = SIMILAR_ENOUGH
    purpose: ClassVar[str] = "rankings by similarity"
    key: ClassVar[str] = "similar"
    default: ClassVar[Chosen | None] = Chosen("token_grid")

    def structure(self, part: Part, builder: Any, plan: Plan) -> AlikeIndex:
        """Cost: linear in the subscriptions; what finds them is made when it is first asked."""
        return AlikeIndex(part.compiled, builder)

    def arrays(self, structure: AlikeIndex) -> Arrays:
        """Nothing: what finds them has tokens of its own, made when it is first asked."""
        return {}

    def restored(self, arrays: Arrays, part: Part, builder: Any, plan: Plan) -> AlikeIndex:
        """Nothing was saved of it."""
        return self.structure(part, builder, plan)

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Similar) -> Found:
        """All of all sources, best first."""
        found = subscriptions.answers(self, batch, ranking)
        assert found.scores is not None
        return top(found, found.scores, max(len(found.scores), 1))

    def needs_a_key(self, ranking: Similar, alike: float) -> bool:
        """Whether all that are similar enough have a key: where the threshold is above what one without can reach.

        Proof. Who answers has a region and a list of keywords, and whatever else it asks for must hold. Its cover is
        of one conjunct. If that is neither region nor list, it holds, and the event has a key of it. A region is no
        cover where `alike` is below 1. If it is the list, an event without its keys has at most the share `alike` of
        the keywords, each of one weight, and spatial similarity is at most 1: so the score is at most
        `alpha + (1 - alpha) * alike`. With `alike` 0 it has no keyword at all, whatever they weigh, and the bound is
        `alpha`. Scores are rounded, so the bound is loosened.
        """
        if alike > 0 and ranking.weights is not None:
            return False
        return ranking.threshold > ranking.alpha + (1 - ranking.alpha) * alike + SLACK
