"""What a store of templates remembers: each skeleton is parsed once, by any thread, and their number is bounded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tocsin.language import Templates, parse
from tocsin.language.templates import learning, templates
from tocsin.model.expression import Expression


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed to learn a template."""
    texts: list[str] = []

    def counted(text: str) -> Expression:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(learning, "parse", counted)
    return texts


def test_equal_templates_are_parsed_once(parses: list[str]) -> None:
    """A thousand texts of one skeleton cost one parse."""
    fresh = Templates()
    answers = [fresh.instance(f"a{i} = {i} AND b IN ('{i}')") for i in range(1000)]

    assert len({answer.template for answer in answers if answer}) == len(parses) == 1


def test_a_text_without_template_is_tried_once(parses: list[str]) -> None:
    """That a skeleton has no template is remembered as well."""
    fresh = Templates()
    answers = [fresh.instance(f"A_CONTAINS(a{i}, (CASEI('{i}')))") for i in range(10, 30)]

    assert not any(answers) and len(parses) == 1


@pytest.mark.parametrize(("name", "limit"), [("MOST_TEMPLATES", 3), ("MOST_CHARACTERS", 100)])
def test_a_full_store_forgets_and_goes_on(monkeypatch: pytest.MonkeyPatch, name: str, limit: int) -> None:
    """What is remembered is bounded by number and by length, and no answer depends on it."""
    monkeypatch.setattr(templates, name, limit)
    fresh = Templates()
    texts = [" AND ".join(["a = 1"] * count) for count in (1, 2, 3, 4, 5, 1, 2, 3)]
    answers = [fresh.instance(text) for text in texts]

    assert [answer.tree() for answer in answers if answer] == [parse(text) for text in texts]
    assert len(fresh._known) <= 3


def test_many_threads_may_share_templates() -> None:
    """Threads that learn and read at once all get the trees of their own texts."""
    fresh = Templates()
    texts = [" OR ".join([f"a{i} = {i}"] * (i % 7 + 1)) for i in range(300)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(fresh.instance, texts))

    assert [answer.tree() for answer in answers if answer] == [parse(text) for text in texts]
