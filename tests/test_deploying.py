"""The files in `examples/deploy` fit each other."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

DEPLOY = Path(__file__).parents[1] / "examples" / "deploy"


def test_the_cluster_runs_the_user_of_the_image() -> None:
    """`runAsNonRoot` can only be checked for a user that is a number, and volumes must belong to it."""
    _, stateful = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
    security = stateful["spec"]["template"]["spec"]["securityContext"]
    (user,) = re.findall(r"^USER (\S+)$", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)

    assert security["runAsNonRoot"]
    assert user.isdigit()
    assert int(user) == security["runAsUser"] == security["fsGroup"] > 0


def test_the_service_that_names_the_pod_is_there() -> None:
    """It is headless, and selects the pod."""
    service, stateful = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))

    assert service["metadata"]["name"] == stateful["spec"]["serviceName"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == stateful["spec"]["template"]["metadata"]["labels"]
