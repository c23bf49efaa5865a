"""Each bound that leaves a subscription out: no pair that it leaves out has the score that is needed.

Paper: Wang et al. 2016, Lemmas 1 to 6 and Theorems 5.1 to 5.4, over random subscriptions and messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.window import Message as Given
from tests.naive.window import NaiveWindow, Wanted

RANKED = [f"w{n}" for n in range(8)]
"""Rarest first."""
CLOSE = 1e-9
SIDE = 1.0
DIAGONAL = math.sqrt(2.0)

weights = st.dictionaries(st.sampled_from(RANKED), st.floats(0.01, 10.0))
word_sets = st.sets(st.sampled_from(RANKED), min_size=1)
numbers = st.floats(0.0, 1.0)
places = st.tuples(numbers, numbers)
wanteds = st.builds(Wanted, word_sets.map(frozenset), places, st.just(1), st.floats(0.0, 0.99))
counted = st.dictionaries(st.sampled_from(RANKED), st.floats(1.0, 9.0), min_size=1)
messages = st.builds(Given, st.just(0), st.just(0), counted, places, st.just(0.0))


class Pair:
    """Weights of unit length, rarest first, and what they come to."""

    def __init__(self, wanted: Wanted, message: Given, weights: dict[str, float]) -> None:
        window = NaiveWindow((0.0, 0.0, SIDE, SIDE), size=1, weights=weights)
        self.s, self.m = self._unit(dict.fromkeys(wanted.words, 1.0), weights), self._unit(message.words, weights)
        self.common = [word for word in RANKED if word in self.s and word in self.m]
        self.textual = sum(self.s[word] * self.m[word] for word in self.common)
        self.spatial = 1.0 - math.dist(wanted.location, message.location) / DIAGONAL
        self.score = window.score(wanted, message)

    @staticmethod
    def _unit(factors: Mapping[str, float], weights: dict[str, float]) -> dict[str, float]:
        own = {word: weights.get(word, 1.0) * factors[word] for word in RANKED if word in factors}
        norm = math.sqrt(sum(weight * weight for weight in own.values()))
        return {word: weight / norm for word, weight in own.items()}


def behind(own: dict[str, float], word: str, itself: bool = False) -> list[float]:
    """The weights of the words after one."""
    first = RANKED.index(word) + (not itself)
    return [own[other] for other in RANKED[first:] if other in own]


@given(wanted=wanteds, message=messages, weights=weights, threshold=numbers)
def test_what_words_must_be_worth(wanted: Wanted, message: Given, weights: dict[str, float], threshold: float) -> None:
    """Lemma 1: with a bound of the place, Equation 2 says what the words need at least."""
    pair = Pair(wanted, message, weights)
    if pair.score is None or pair.score < threshold:
        return

    needed = (threshold - wanted.alpha * pair.spatial) / (1.0 - wanted.alpha)
    assert pair.textual >= needed - CLOSE * (1.0 + wanted.alpha / (1.0 - wanted.alpha))
    if wanted.alpha > 0.01:
        assert pair.spatial >= (threshold - (1.0 - wanted.alpha)) / wanted.alpha - 1e-6, "Lemma 6"


@given(wanted=wanteds, message=messages, weights=weights)
def test_words_from_the_rarest_common_one_on(wanted: Wanted, message: Given, weights: dict[str, float]) -> None:
    """Theorems 5.1 and 5.2, Lemma 4, and Cauchy-Schwarz, which `blocks` goes by."""
    pair = Pair(wanted, message, weights)
    if not pair.common:
        return
    word = pair.common[0]
    s_from, m_from = behind(pair.s, word, itself=True), behind(pair.m, word, itself=True)
    s_after, m_after = behind(pair.s, word), behind(pair.m, word)
    first = pair.s[word] * pair.m[word]

    assert pair.textual <= sum(s_from) * max(m_from) + CLOSE
    assert pair.textual <= max(s_from) * sum(m_from) + CLOSE
    unseen = min(sum(s_after) * max(m_after, default=0.0), max(s_after, default=0.0) * sum(m_after))
    assert pair.textual <= first + unseen + CLOSE
    assert pair.textual <= first + math.hypot(*s_after) * math.hypot(*m_after) + CLOSE
    after = RANKED[RANKED.index(word) + 1 :]
    signature = {RANKED.index(one) % 3 for one in after if one in pair.s}
    told = [one for one in after if one in pair.m and RANKED.index(one) % 3 in signature]
    by_norms, factors = pair.s[word] / pair.m[word] * message.words[word], message.words
    told_adds = sum(by_norms * pair.m[one] ** 2 / factors[one] for one in told)
    assert pair.textual <= first + told_adds + CLOSE, "by signatures"
    if not set(pair.common[1:]):
        assert pair.textual == pytest.approx(first)


@given(wanted=wanteds, message=messages, left=numbers, lower=numbers, right=numbers, upper=numbers)
def test_inner_and_outer_distance(
    wanted: Wanted, message: Given, left: float, lower: float, right: float, upper: float
) -> None:
    """Definition 8: a way out of a cell and then to the message is no longer than the way between the two."""
    (x, y), (mx, my) = wanted.location, message.location
    left, right, lower, upper = min(left, x), max(right, x), min(lower, y), max(upper, y)
    outer = math.hypot(max(left - mx, mx - right, 0.0), max(lower - my, my - upper, 0.0))
    inner = min(x - left, right - x, y - lower, upper - y)
    if outer > 0.0:
        assert math.dist(wanted.location, message.location) >= inner + outer - CLOSE


@given(group=st.lists(st.tuples(wanteds, numbers), min_size=1, max_size=6), message=messages, weights=weights)
def test_a_group_and_its_end(group: list[tuple[Wanted, float]], message: Given, weights: dict[str, float]) -> None:
    """Theorems 5.3 and 5.4: where the bound of a suffix says so, nobody from there on is reached."""
    ordered = sorted(group, key=lambda one: one[1] / (1.0 - one[0].alpha))
    pairs = [Pair(wanted, message, weights) for wanted, _ in ordered]
    worth = max(pair.spatial for pair in pairs)
    for word in RANKED:
        if word not in pairs[0].m:
            continue
        own = [at for at, pair in enumerate(pairs) if pair.common[:1] == [word]]
        sums = sum(behind(pairs[0].m, word, itself=True))
        for first in range(len(own)):
            rest = own[first:]
            share = max(ordered[at][0].alpha / (1.0 - ordered[at][0].alpha) for at in rest)
            need = min(ordered[at][1] / (1.0 - ordered[at][0].alpha) for at in rest)
            most = max(max(behind(pairs[at].s, word, itself=True)) for at in rest)
            if need - share * worth - CLOSE * (1.0 + share) > sums * most:
                assert all((pairs[at].score or 0.0) < ordered[at][1] for at in rest)
