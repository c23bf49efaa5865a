"""Tokens: only a hash is stored, a wrong one is compared in the same way as a right one, and a revoked one ends."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.service.served import Served, events_of
from tests.waiting import HANG_S
from tocsin import writing
from tocsin.cli.main import main
from tocsin.errors import InvalidInput, StoreError
from tocsin.service.access import authentication, token_file, tokens
from tocsin.service.access.authentication import LiveTokens
from tocsin.service.access.token_file import TokenFile

TEXT = re.compile(r"tocsin_[0-9a-f]{12}_[0-9a-f]{64}")


def test_only_a_hash_is_stored_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    file = TokenFile(tmp_path)
    token, text = file.create("", ["read"], name="phone")
    stored = file.path.read_text()

    assert TEXT.fullmatch(text) and text.split("_")[1] == token.id
    assert text not in stored and text.rpartition("_")[2] not in stored
    assert file.read() == {token.id: token}
    if sys.platform != "win32":
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files to others")
def test_what_root_makes_belongs_to_the_user_of_the_service(tmp_path: Path) -> None:
    """Also folders and files that were not there; a file that is replaced keeps its owner, its group and its mode."""
    service = (54_321, 54_322)
    os.chown(tmp_path, *service)
    file = TokenFile(tmp_path / "srv" / "alerts")
    token, _ = file.create("", ["read"])

    def owners() -> set[tuple[int, int]]:
        statuses = [path.stat() for path in tmp_path.rglob("*")]
        return {(status.st_uid, status.st_gid) for status in statuses}

    assert owners() == {service}
    file.path.chmod(0o640)
    file.revoke(token.id)
    file.write_uses({token.id: 1})
    assert owners() == {service} and stat.S_IMODE(file.path.stat().st_mode) == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such owners there")
def test_the_owner_of_a_file_stays_or_the_command_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a user who may not give it back. The owner is injected, because the test may be run by root."""
    file = TokenFile(tmp_path)
    token, _ = file.create("", ["read"])
    owner, owners = file.path.stat().st_uid, list[tuple[int, int]]()
    fstat = os.fstat

    def of_another(number: int) -> os.stat_result:
        mode, place, device, links, _, group, *others = fstat(number)[:10]
        return os.stat_result((mode, place, device, links, owner + 1, group + 1, *others))

    monkeypatch.setattr(writing.os, "fstat", of_another)
    monkeypatch.setattr(writing.os, "fchown", lambda _, *ids: owners.append(ids))
    file.create("", ["read"])
    assert owners == [(owner, file.path.stat().st_gid)]

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    before = file.path.read_bytes()
    monkeypatch.setattr(writing.os, "fchown", refused)
    monkeypatch.setattr(token_file.os, "getuid", lambda: owner + 1)
    with pytest.raises(StoreError, match=r"it belongs to .*: sudo -u"):
        file.revoke(token.id)
    assert file.path.read_bytes() == before and len(list(file.path.parent.iterdir())) == 1


def test_texts_differ_and_have_256_bits() -> None:
    texts = {tokens.new_text()[1] for _ in range(200)}

    assert len(texts) == 200 and all(len(one.rpartition("_")[2]) * 4 == 256 for one in texts)


def wrong(text: str) -> list[str]:
    """Texts that are not the token, though some are near."""
    _, id, secret = text.split("_")
    other = f"{'0' if secret[-1] != '0' else '1'}"
    return [
        "",
        text[:-1],
        text + "0",
        text[:-1] + other,
        text.upper(),
        f"tocsin_{id}_{secret.upper()}" if secret.upper() != secret else f"tocsin_{id}_{secret}x",
        f"Tocsin_{id}_{secret}",
        f"tocsin_{'0' * 12}_{secret}",
        f"tocsin_{id}_{'0' * 64}",
        secret,
        text + "\n",
        f"{text} {text}",
        "\u0661" * 85,
    ]


def test_every_text_is_hashed_and_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether an id exists, and how much of a text is right, changes nothing that is done."""
    file = TokenFile(tmp_path)
    token, text = file.create("", ["read"])
    known, compared = file.read(), []
    compare = tokens.hmac.compare_digest

    def counted(left: bytes, right: bytes) -> bool:
        compared.append((len(left), len(right)))
        return compare(left, right)

    monkeypatch.setattr(tokens.hmac, "compare_digest", counted)

    assert tokens.found(text, known) == token
    for one in wrong(text):
        assert tokens.found(one, known) is None, one
    assert compared == [(32, 32)] * (1 + len(wrong(text)))


def test_wrong_tokens_are_refused_alike(server: Served) -> None:
    text = server.token()
    server.client.headers["X-Request-Id"] = "test"  # of which answers have a copy
    answers = []
    for one in wrong(text):
        if one != one.strip():  # the client, or the HTTP parser, takes white space away
            continue
        given = one.encode()
        answers.append(server.client.get("/v1/destinations", headers={b"Authorization": b"Bearer " + (given or b"x")}))
    answers += [
        server.client.get("/v1/destinations", headers={"Authorization": value})
        for value in (text, f"Basic {text}", "Bearer", f"Bearer  {text}x", "Bearer " + "a" * 60_000)
    ]
    both = [("Authorization", f"Bearer {text}"), ("Authorization", f"Bearer {text}")]
    answers.append(server.client.get("/v1/destinations", headers=both))
    wanted = server.client_of(text).get("/v1/destinations")

    assert wanted.status_code == 200
    assert {(one.status_code, one.text) for one in answers if one.status_code != 400} == {(401, answers[1].text)}
    assert sum(one.status_code == 400 for one in answers) <= 1  # a header of 60 kB is refused by the HTTP parser
    assert answers[1].headers["www-authenticate"] == 'Bearer realm="tocsin", error="invalid_token"'
    assert server.client.get("/v1/destinations").headers["www-authenticate"] == 'Bearer realm="tocsin"'


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_has_no_case(server: Served, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {server.token('read')}"}
    assert server.client.get("/v1/destinations", headers=headers).status_code == 200


def test_a_token_in_the_url_is_not_taken(server: Served) -> None:
    text = server.token()
    for name in ("access_token", "token"):
        assert server.client.get("/v1/destinations", params={name: text}).status_code == 401
        assert server.client_of(text).get("/v1/destinations", params={name: text}).status_code == 400


def test_an_expired_token_is_refused(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = TokenFile(server.folder).create("", ["read"], lasts_s=3600)
    client = server.client_of(text)
    statuses = [client.get("/v1/destinations").status_code]
    for later in (3590, 3600):
        now = time.time() + later
        monkeypatch.setattr(authentication, "time", SimpleNamespace(time=lambda now=now: now))
        statuses.append(client.get("/v1/destinations").status_code)

    assert statuses == [200, 200, 401]


def test_the_first_token_closes_the_server_and_no_revocation_opens_it(server: Served) -> None:
    assert server.client.get("/v1/destinations").status_code == 200
    file = TokenFile(server.folder)
    token, text = file.create("", ["read"])
    statuses = [server.client.get("/v1/destinations").status_code, server.client_of(text).get("/docs").status_code]
    file.revoke(token.id)
    statuses += [one.get("/v1/destinations").status_code for one in (server.client, server.client_of(text))]
    file.path.unlink()
    statuses.append(server.client.get("/v1/destinations").status_code)

    assert statuses == [401, 200, 401, 401, 401]


def test_open_streams_and_polls_end_when_the_token_is_revoked(server: Served) -> None:
    admin = server.client = server.client_of(server.token())
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    reader, text = TokenFile(server.folder).create("", ["read"])
    client = server.client_of(text)
    polled: list[int] = []

    def poll() -> None:
        polled.append(client.get("/v1/destinations/d/deliveries", params={"wait": 30}).status_code)

    polling = threading.Thread(target=poll)
    with client.stream("GET", "/v1/destinations/d/stream") as response:
        events = events_of(response)
        next(events)
        polling.start()
        time.sleep(0.3)
        TokenFile(server.folder).revoke(reader.id)
        assert admin.post("/v1/events", json={"n": 1}).status_code == 202

        assert list(events) == []  # it ends, and tells nothing of what came after
    polling.join(HANG_S)
    assert polled == [401]


def test_changes_within_one_tick_are_seen(tmp_path: Path) -> None:
    """A file system's clock may be too coarse to tell two changes apart."""
    file = TokenFile(tmp_path)
    live = LiveTokens(file)
    for _ in range(20):
        token, _ = file.create("", ["read"])
        assert token.id in live.look()
        file.revoke(token.id)
        assert live.look()[token.id].revoked is not None


def test_the_last_use_is_written_at_the_end(server: Served) -> None:
    token, text = TokenFile(server.folder).create("", ["read"])
    server.client_of(text).get("/v1/destinations")
    before = TokenFile(server.folder).uses()
    server.server.authentication.write_uses()

    assert before == {} and abs(TokenFile(server.folder).uses()[token.id] - time.time() * 1000) < 60_000


@pytest.mark.parametrize(
    ("scopes", "tenant", "name"),
    [
        ([], "", ""),
        (["root"], "", ""),
        (["read", ""], "", ""),
        (["READ"], "", ""),
        (["read"], "..", ""),
        (["read"], "a/b", ""),
        (["read"], "A", ""),
        (["read"], "-a", ""),
        (["read"], "con", ""),
        (["read"], "x" * 64, ""),
        (["read"], "ä", ""),
        (["read"], "a\n", ""),
        (["read"], "", "a\x1b[0m"),
        (["read"], "", "x" * 101),
    ],
)
def test_names_and_scopes_are_checked(tmp_path: Path, scopes: list[str], tenant: str, name: str) -> None:
    with pytest.raises(InvalidInput):
        TokenFile(tmp_path).create(tenant, scopes, name=name)
    assert not (tmp_path / "access").exists()


def test_commands_work_while_the_server_runs(server: Served, capsys: Any) -> None:
    folder = str(server.folder)
    assert main(["token", "create", folder, "--scope", "read, publish", "--name", "phone", "--expires", "90d"]) == 0
    text, told = capsys.readouterr()
    id = text.split("_")[1]
    assert server.client_of(text.strip()).get("/v1/destinations").status_code == 200
    assert TEXT.fullmatch(text.strip()) and id in told

    assert main(["token", "list", folder]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"^{id}  valid until .*  -  +publish,read  +-  +phone$", shown, re.MULTILINE)
    assert text.strip() not in shown
    assert main(["token", "list", folder, "--json"]) == 0
    assert "sha256" not in json.loads(capsys.readouterr().out)

    assert main(["token", "revoke", folder, id]) == 0
    assert server.client_of(text.strip()).get("/v1/destinations").status_code == 401
    assert main(["token", "list", folder]) == 0
    assert f"{id}  revoked " in capsys.readouterr().out
    for wrong in (["revoke", folder, "x"], ["create", folder, "--scope", "all"], ["revoke", folder + "x", id]):
        assert main(["token", *wrong]) == 2
    assert main(["token", "create", folder, "--scope", "read", "--expires", "soon"]) == 2
    assert not os.path.exists(folder + "x")  # noqa: PTH110
