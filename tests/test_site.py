"""The search of the site, driven by the script that runs in browsers: what people ask leads to the page for it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from tests.pages import ROOT

PAGES: Final = {
    "throttle alerts": "service.html",
    "docker": "operations/deploy.html",
    "upgrade": "operations/upgrades.html",
    "delete a user": "service.html",
    "two replicas": "operations/two-machines.html",
    "no event for ten minutes": "does-not-do.html",
    "ten million subscriptions": "operations/sizing.html",
    "backup": "operations/backups.html",
    "typo tolerance": "does-not-do.html",
    "grafana": "operations/monitoring.html",
}
"""What people type, and a page that is to be among the first three."""

WORKER: Final = """
const [, worker, index, ...queries] = process.argv, fs = require("fs"), answers = []
const wait = []
globalThis.self = globalThis
globalThis.location = {href: "http://localhost/"}
globalThis.importScripts = () => {}
globalThis.addEventListener = (type, listener) => wait.push(listener)
globalThis.postMessage = message => {
  if (message.type === 3) answers.push(message.data.items.map(pages => pages[0].location))
  if (message.type !== 1 && message.type !== 3) return
  if (answers.length < queries.length) send({type: 2, data: queries[answers.length]})
  else console.log(JSON.stringify(answers))
}
const send = message => setImmediate(() => wait.forEach(listener => listener({data: message})))
require(worker)
const documents = JSON.parse(fs.readFileSync(index))
send({type: 0, data: {...documents, options: {suggest: false}}})
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without its reference of Python, which takes long."""
    config = pytest.importorskip("mkdocs.config", reason="mkdocs is of the extra `docs`")
    build = pytest.importorskip("mkdocs.commands.build")
    folder = tmp_path_factory.mktemp("site")
    loaded = config.load_config(str(ROOT / "mkdocs.yml"), plugins=["search"], site_dir=str(folder), strict=False)
    build.build(loaded)
    return folder


@pytest.mark.parametrize(
    ("html", "name"),
    [
        ("<p><code>tocsin.match</code></p>", "tocsin.match"),
        ("<code>Engine.match_batch</code>", "tocsin.Engine.match_batch"),
        ("<code>Top(k)</code>", "tocsin.Top"),
        ("<code>spark.match(events, &quot;index&quot;)</code>", "tocsin.spark.match"),
        ("<code>TEXT(title, 'a')</code> <code>price &lt; 5</code> <code>match</code>", None),
        ('<a href="engine.html"><code>tocsin.Engine</code></a>', None),
        ("<pre><code>tocsin.match(subscriptions, events)\ntocsin.Engine()</code></pre>", None),
    ],
)
def test_public_names_lead_to_the_reference(html: str, name: str | None) -> None:
    """In the text of pages and docstrings; not in blocks of code, and not in a link."""
    pytest.importorskip("mkdocs", reason="mkdocs is of the extra `docs`")
    from scripts import site as hooks

    written = hooks.on_page_content(html, None, SimpleNamespace(plugins={"autorefs": None}), None)

    assert re.findall(r'<autoref identifier="([^"]+)" optional><code>', written) == ([name] if name else [])
    assert hooks.on_page_content(html, None, SimpleNamespace(plugins={}), None) == html


@pytest.fixture(scope="module")
def found(site: Path) -> Any:
    """The pages that the search finds, by query, the best first."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node here")
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    command = [node, "-e", WORKER, str(worker), str(site / "search" / "search_index.json"), *PAGES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return dict(zip(PAGES, json.loads(done.stdout), strict=True))


@pytest.mark.slow("the site is built")
@pytest.mark.parametrize("query", PAGES)
def test_a_query_finds_its_page_among_the_first_three(query: str, found: Any) -> None:
    first = [location.partition("#")[0] for location in found[query][:3]]

    assert PAGES[query] in first
    assert not first[0].startswith(("decisions/", "papers/", "benchmarks", "roadmap"))
