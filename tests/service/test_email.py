"""Destinations of kind `email`, with a mail server."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tests.service.killed import free_port
from tests.service.mail_server import document, parsed
from tests.service.receivers import Clock, dead_letters, publish, shown
from tests.service.served import Served
from tests.service.survival import Got, Process, check_nothing_is_lost, module
from tests.waiting import awaited
from tocsin.errors import missing_extra
from tocsin.service.deliver.email.composing import composed
from tocsin.service.deliver.email.kind import Email
from tocsin.service.deliver.protocols import DELIVERY, DIGEST, Message

CERTIFICATE = Path(__file__).parent / "data" / "hook.example.pem"
PASSWORD = "a-password-that-nobody-sees"
SENDER, RECEIVER = "alerts@tocsin.example", "night@desk.example"


class Desk:
    """Takes mails. `answers` has what some receivers, or `DATA`, are answered instead."""

    def __init__(self) -> None:
        self.got: list[tuple[list[str], EmailMessage]] = []
        self.answers: dict[str, str] = {}
        self.logins: list[tuple[str, str]] = []
        self.ciphers: list[object] = []

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 known"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        if "DATA" in self.answers:
            return self.answers["DATA"]
        self.ciphers.append(session.ssl)
        self.got.append((list(envelope.rcpt_tos), parsed(envelope.content)))
        return "250 taken"

    def login(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password.decode() == PASSWORD)


@contextmanager
def mail_server(**options: Any) -> Iterator[tuple[Desk, int]]:
    desk = Desk()
    controller = Controller(desk, hostname="127.0.0.1", port=free_port(), ready_timeout=30, **options)
    controller.start()
    try:
        yield desk, controller.port
    finally:
        controller.stop()


def mail(server: Served, port: int, **options: Any) -> Any:
    """Make a destination of this kind, and a subscription for it; returns its document."""
    record = {"kind": "email", "host": "127.0.0.1", "port": port, "tls": "none", "allow_private": True}
    record |= {"from": SENDER, "to": [RECEIVER], **options}
    answer = server.client.put("/v1/destinations/w", json=record)
    assert answer.status_code in (200, 201), answer.text
    assert server.subscribe("s", "n >= 0", destination="w", payload={"note": "<b>call</b>"}).is_success
    return answer.json()


def test_a_mail_has_the_delivery_as_text_as_html_and_whole(server: Served) -> None:
    with mail_server() as (desk, port):
        mail(server, port, subject="Pumps")
        publish(server, 1)
        awaited(lambda: shown(server)["waiting"] == 0)

        ((receivers, got),) = desk.got
        data = document(got)["data"]
        assert receivers == [RECEIVER] and got["From"] == SENDER and got["Subject"] == "Pumps: s"
        assert data["event"] == {"n": 0} and got["X-Tocsin-Key"] == data["key"]
        assert got["Message-ID"] == f"<{data['key']}@tocsin.example>" and got["Auto-Submitted"] == "auto-generated"
        text, html = (got.get_body((form,)) for form in ("plain", "html"))
        assert text is not None and "n: 0" in text.get_content()
        assert html is not None and "&lt;b&gt;call" in html.get_content() and "<b>call" not in html.get_content()


def test_a_digest_is_one_mail_that_shows_the_first_deliveries(server: Served) -> None:
    clock = Clock(server)
    with mail_server() as (desk, port):
        mail(server, port, digest_s=60)
        publish(server, 70)
        clock.advance(61)
        awaited(lambda: shown(server)["waiting"] == 0)

        ((_, got),) = desk.got
        text = got.get_body(("plain",))
        assert got["Subject"] == "tocsin: 70 deliveries" and len(document(got)["data"]["deliveries"]) == 70
        assert text is not None and "20 further deliveries are attached" in text.get_content()


def test_a_template_gives_subject_and_text(server: Served) -> None:
    """The document stays attached. A subject is one line, and without one the mail is plain."""
    template = {"subject": "Pump {{ event.n }}\n {{ event.odd }}", "body": "{{ subscriptions[0].payload.note }}"}
    with mail_server() as (desk, port):
        mail(server, port, template=template)
        server.publish({"n": 1, "odd": "\r\nBcc: x@y.example"})
        awaited(lambda: shown(server)["waiting"] == 0)
        server.client.patch("/v1/destinations/w", json={"template": {"subject": "{{ event.no }}"}}).raise_for_status()
        publish(server, 1)
        awaited(lambda: shown(server)["waiting"] == 0)

        (_, got), (_, plain) = desk.got
        text = got.get_body(("plain",))
        assert got["Subject"] == "Pump 1 Bcc: x@y.example" and got["Bcc"] is None
        assert text is not None and text.get_content().strip() == "<b>call</b>" and got.get_body(("html",)) is None
        assert document(got)["data"]["event"]["n"] == 1
        assert plain["Subject"] == "tocsin: s" and plain.get_body(("html",)) is not None
        assert "subject" in shown(server)["template_error"]


def test_a_password_is_sent_by_tls_alone_to_the_server_of_the_name(server: Served) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.service.senders.context = ssl.create_default_context(cafile=str(CERTIFICATE))
    server.service.senders.resolver.lookup = lambda host, port, **more: [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
    ]
    desk = Desk()
    with mail_server(tls_context=context, require_starttls=True, authenticator=desk.login, auth_required=True) as (
        got,
        port,
    ):
        document = mail(server, port, host="hook.example", tls="starttls", user="tocsin", password=PASSWORD)
        assert "password" not in document and document["user"] == "tocsin"
        publish(server, 1)
        awaited(lambda: shown(server)["waiting"] == 0)
        assert desk.logins == [("tocsin", PASSWORD)] and got.ciphers[0] is not None

        moved = server.client.patch("/v1/destinations/w", json={"host": "other.example"})
        assert moved.status_code == 422 and moved.json()["field"] == "password"
        mail(server, port, host="other.example", tls="starttls", user="tocsin", password=PASSWORD)
        publish(server, 1)
        awaited(lambda: shown(server)["state"] == "failing")  # the certificate is of another name
        assert "certificate" in shown(server)["reason"] and len(desk.logins) == 1
    for path in ("destinations", "destinations/w", "destinations/w/attempts", "audit"):
        assert PASSWORD not in server.client.get(f"/v1/{path}").text


def test_a_server_without_tls_gets_nothing(server: Served) -> None:
    with mail_server() as (desk, port):
        mail(server, port, tls="starttls", user="tocsin", password=PASSWORD)
        publish(server, 1)
        awaited(lambda: shown(server)["state"] == "failing")

        assert "STARTTLS" in shown(server)["reason"] and not desk.got and not desk.logins


@pytest.mark.parametrize(
    ("answers", "outcome", "cause"),
    [
        ({RECEIVER: "550 no such desk"}, "refused", "refused"),
        ({"DATA": "554 it looks like spam"}, "refused", "refused"),
        ({"DATA": "451 later"}, "failed", "attempts"),
        ({RECEIVER: "450 come again"}, "failed", "attempts"),
    ],
)
def test_answers_of_the_server_decide_what_follows(
    server: Served, answers: dict[str, str], outcome: str, cause: str
) -> None:
    with mail_server() as (desk, port):
        desk.answers = answers
        mail(server, port, max_attempts=1)
        publish(server, 1)
        awaited(lambda: shown(server)["waiting"] == 0)

        (attempt,) = server.client.get("/v1/destinations/w/attempts").json()["attempts"]
        (answer,) = answers.values()
        assert (attempt["outcome"], attempt["status"]) == (outcome, int(answer[:3])) and answer[4:] in attempt["reason"]
        assert dead_letters(server)[0]["cause"] == cause


def test_a_receiver_that_is_unknown_does_not_hold_up_the_others(server: Served) -> None:
    """The attempt names it. If the server wants one later, all get the mail later, and nobody twice."""
    clock = Clock(server)
    others = ["a@desk.example", "b@desk.example"]
    with mail_server() as (desk, port):
        desk.answers = {others[0]: "550 unknown", others[1]: "450 grey"}
        mail(server, port, to=[*others, RECEIVER])
        publish(server, 1)
        awaited(lambda: shown(server)["state"] == "failing")
        assert not desk.got
        del desk.answers[others[1]]
        clock.advance(6)
        awaited(lambda: shown(server)["waiting"] == 0)

        ((receivers, _),) = desk.got
        last, _ = server.client.get("/v1/destinations/w/attempts").json()["attempts"]
        assert receivers == [others[1], RECEIVER] and "550: unknown" in last["reason"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"host": None}, "host"),
        ({"host": "10.0.0.1"}, "host"),
        ({"host": "mail.example", "port": 22}, "port"),
        ({"tls": "none"}, "tls"),
        ({"tls": "ssl"}, "tls"),
        ({"from": "Desk <a@b.example>"}, "from"),
        ({"to": []}, "to"),
        ({"to": ["a@b.example\r\nBcc: c@d.example"]}, "to"),
        ({"to": [f"a{number}@b.example" for number in range(51)]}, "to"),
        ({"subject": "a\r\nBcc: c@d.example"}, "subject"),
        ({"user": ""}, "user"),
        ({"password": 1}, "password"),
        ({"url": "http://good.example/"}, "url"),
    ],
)
def test_options_that_are_wrong(server: Served, options: dict[str, Any], field: str) -> None:
    record = {"kind": "email", "host": "mail.example", "from": SENDER, "to": [RECEIVER], **options}
    answer = server.client.put("/v1/destinations/w", json=record)
    assert answer.status_code == 422 and answer.json()["field"] == field, answer.text


def test_without_its_library_the_server_says_which_extra_it_needs(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(self: Email) -> None:
        raise missing_extra("email", "aiosmtplib is not installed")

    monkeypatch.setattr(Email, "require_libraries", without)
    record = {"kind": "email", "host": "mail.example", "from": SENDER, "to": [RECEIVER]}
    answer = server.client.put("/v1/destinations/w", json=record)
    assert answer.status_code == 422 and "tocsin[email]" in answer.json()["detail"]


def test_a_mail_is_the_same_each_time_and_has_no_line_of_others() -> None:
    """Values and names of subscriptions cannot add headers."""
    subscription = {"id": "a\r\nBcc: c@d.example", "score": 1.0, "payload": None}
    data = {"sequence": 1, "key": "k-1-1", "event": {"x": "\r\n.\r\nQUIT"}, "published": "2026-11-29T08:00:00.000Z"}
    data |= {"subscriptions": [subscription] * 30, "count": 5000, "destination": "w"}
    options = {"from": SENDER, "to": [RECEIVER]}
    body = json.dumps({"type": DELIVERY, "timestamp": data["published"], "data": data}).encode()
    message = Message("k-1-1", DELIVERY, 1_795_939_200_000, body, "w")
    first = composed(message, options)

    assert first == composed(message, options)
    assert parsed(first)["Bcc"] is None and "and 4,997 more" in parsed(first)["Subject"].replace("\n", "")
    digest = json.dumps({"type": DIGEST, "timestamp": "", "data": {"deliveries": [data, data]}}).encode()
    assert parsed(composed(message._replace(type=DIGEST, body=digest), options))["Subject"] == "tocsin: 2 deliveries"


@pytest.mark.slow("two servers are killed")
def test_nothing_is_lost_when_servers_are_killed(tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "mails"

    def is_ready() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def got() -> list[Got]:
        lines = file.read_text().splitlines() if file.exists() else []
        return [Got(*json.loads(line)) for line in lines]

    receiver = Process(module("tests.service.mail_server", str(port), str(file)), is_ready, got)
    record = {"kind": "email", "host": "127.0.0.1", "port": port, "tls": "none", "from": SENDER, "to": [RECEIVER]}
    check_nothing_is_lost(tmp_path, record, receiver)
