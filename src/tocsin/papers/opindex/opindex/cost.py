"""The paper's cost model of OpIndex: sizes and times for a uniform workload, lemma by lemma.

The model (section 4.4): subscriptions have 1 to gamma_max predicates, on distinct attributes chosen uniformly from d.
Operands and values are uniform in 1 to sigma. A third of the predicates each are =, <= and >=. Every attribute is the
pivot of equally many. The paper takes gamma_max / 2 for the average size; it is (gamma_max + 1) / 2.

Paper: Zhang, Chan, Tan 2014, sections 4.4 and 5.1. Times are in steps: the paper's O() terms without the O().
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Final

OPERATORS: Final = 3

BYTES_OF_ENTRY: Final = 12  # key, pointer
BYTES_OF_COUNTER: Final = 8  # required count, owner
BYTES_OF_SEGMENT: Final = 12  # start, signature


@dataclass(frozen=True, slots=True)
class Uniform:
    """A uniform workload and an index over it, in the paper's symbols (Table 2)."""

    subscriptions: int  # N
    attributes: int  # d
    average_size: float  # gamma_avg, predicates a subscription
    values: int  # sigma
    event_size: int  # m
    segments: int = 32  # b
    signature_bits: int = 64  # w; 0 for none

    def segment_size(self) -> float:
        """eta, the predicates in a segment. Lemma 3."""
        return self.subscriptions * self.average_size / (OPERATORS * self.segments * self.attributes)

    def space(self) -> float:
        """Bytes of lists, counters and directories. Without the directories it is linear in predicates. Lemma 4."""
        predicates = self.subscriptions * self.average_size
        directories = OPERATORS * self.segments * self.attributes
        return BYTES_OF_ENTRY * predicates + BYTES_OF_COUNTER * self.subscriptions + BYTES_OF_SEGMENT * directories

    def insertion(self) -> float:
        """Comparisons to insert a subscription: one binary search in a segment for each predicate. Lemma 5."""
        return self.average_size * _searching(self.segment_size())

    def matching_probability(self) -> float:
        """kappa, the probability that a value of its attribute satisfies a predicate. Lemma 6."""
        return (1 + 2 / self.values) / 3

    def matching_predicates(self) -> float:
        """psi, the predicates under an event's pivots that it satisfies. Lemma 7."""
        per_pivot = self.subscriptions / self.attributes
        others = (self.event_size - 1) * (self.average_size - 1) / self.attributes
        return self.event_size * per_pivot * self.matching_probability() * (1 + others)

    def searched_share(self) -> float:
        """The probability that a segment is searched: its signature has the bit of an event's value. From Lemma 8."""
        if self.signature_bits == 0:
            return 1.0
        return float(1 - (1 - 1 / self.signature_bits) ** self.segment_size())

    def query(self) -> float:
        """Steps to match an event: m^2 lists for each operator, searched or not, and the counting. Lemma 8."""
        lists = OPERATORS * self.event_size**2
        return lists * _searching(self.segment_size()) * self.searched_share() + self.matching_predicates()


def _searching(length: float) -> float:
    """Comparisons of a binary search among length + 1 places; the paper's log(eta) is negative for eta < 1."""
    return log2(length + 1)
