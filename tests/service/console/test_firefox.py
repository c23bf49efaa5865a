"""The flows of the console in Firefox: the same tests as in Chromium, with another browser."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect

from tests.service.console import relay
from tests.service.console.test_attempts import test_attempts_are_shown_and_a_test_is_sent  # noqa: F401
from tests.service.console.test_browser import (  # noqa: F401
    opened,
    shown,
    test_a_dead_letter_is_retried,
    test_a_list_of_a_window_changes_while_it_is_watched,
    test_a_login_and_a_logout,
    test_a_subscription_from_a_mistake_to_a_match,
    test_explain_shows_trees_and_near_misses,
    test_the_map_shows_what_a_fence_tells,
)
from tests.service.console.test_support import (  # noqa: F401
    test_a_person_is_found_and_told_why_nothing_came,
    test_columns_are_chosen_in_live,
    test_every_field_is_kept_by_a_save,
    test_nothing_is_published_by_mistake,
    test_the_map_shows_all_objects_with_their_names,
)
from tests.service.served import Served
from tests.waiting import HANG_S

pytestmark = pytest.mark.long("a second browser takes every flow")
_NAMES = ("firefox-esr", "firefox")
_STILL = {"ui.prefersReducedMotion": 1}


@pytest.fixture(scope="module")
def browser(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Firefox in place of Chromium."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None and not os.environ.get("CI"):
        pytest.skip("there is no Firefox here; on Debian or Ubuntu: sh scripts/firefox.sh")
    script = tmp_path_factory.mktemp("firefox") / "firefox"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(relay.__file__)}" "{path}" "$@"\n')
    script.chmod(0o755)
    one = playwright.firefox.launch(executable_path=script, channel="moz-firefox", firefox_user_prefs=_STILL)
    yield one
    one.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    one = browser.new_context(viewport={"width": 1280, "height": 800})
    one.set_default_timeout(HANG_S * 1000)
    yield one
    one.close()


def test_it_is_firefox(page: Page, server: Served) -> None:
    opened(page, server, "overview")
    shown(page, "No destination yet")

    assert "Firefox" in page.evaluate("navigator.userAgent")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
