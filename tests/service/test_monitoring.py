"""The dashboard and the alerts in `examples/deploy` ask for metrics, and labels, that a server has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import yaml

from tests.service.receivers import hook, publish, receiver
from tests.service.served import Served

DEPLOY: Final = Path(__file__).parents[2] / "examples" / "deploy"
NAME: Final = re.compile(r"\b(?:tocsin|process)_\w+")
GROUPED: Final = re.compile(r"\bby \(([\w, ]+)\)")
LABELLED: Final = re.compile(r"\{(\w+)=")
OF_PROMETHEUS: Final = {"le", "job", "tenant"}
"""Labels that are not in the answer of a server whose only tenant is the default one."""


def expressions() -> dict[str, str]:
    """All that the files ask Prometheus, by title."""
    dashboard = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]
    asked = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in dashboard["panels"]
        for target in panel["targets"]
    }
    return asked | {rule["alert"]: rule["expr"] for rule in rules}


def test_every_name_and_label_is_there(server: Served) -> None:
    with receiver() as endpoint:
        hook(server, endpoint.url)
        publish(server, 1)
        endpoint.await_numbers(1)
    text = server.client_of(server.token("operate")).get("/metrics").text
    names = {*re.findall(r"^(\w+)", text, re.MULTILINE), *re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)}
    labels = set(re.findall(r"[{,](\w+)=\"", text)) | OF_PROMETHEUS

    for title, asked in expressions().items():
        used = [label for group in GROUPED.findall(asked) for label in group.split(", ")] + LABELLED.findall(asked)
        assert NAME.search(asked) or asked.startswith("up{"), title
        assert not {*NAME.findall(asked)} - names, title
        assert not {*used} - labels, title


def test_panels_do_not_overlap() -> None:
    dashboard: Any = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]

    assert len(set(places)) == len(places) == len({panel["id"] for panel in dashboard["panels"]})
