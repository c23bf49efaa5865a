"""Secrets of webhooks in the store, encrypted with a key that is not in it."""

from __future__ import annotations

import base64
import secrets
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from standardwebhooks import Webhook

from tests.service.receivers import hook, publish, receiver
from tests.service.served import served
from tests.waiting import HANG_S
from tocsin.errors import InvalidInput, StoreError
from tocsin.service.deliver.encryption import Keys, read_keys
from tocsin.service.deliver.webhook.signing import Secret, new_secret

pytest.importorskip("cryptography", reason="it is of the extra `service`, and encrypts")

KEYS: Final = [base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(3)]
SECRET: Final = new_secret()


def stored(folder: Path) -> list[str]:
    with sqlite3.connect(f"file:{folder / 'store.db'}?mode=ro", uri=True) as connection:
        return [text for (text,) in connection.execute("SELECT secrets FROM service_webhooks ORDER BY destination")]


def every_byte(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())


def options(*keys: str) -> dict[str, Any]:
    return {"secret_keys": Keys(keys)}


def test_no_secret_is_in_the_store_and_requests_are_signed(tmp_path: Path) -> None:
    with receiver() as one:
        for _ in range(2):  # the second server reads what the first one wrote
            with served(tmp_path, options=options(KEYS[0])) as server:
                hook(server, one.url, secret=SECRET)
                publish(server, 1)
            assert Webhook(SECRET).verify(one.got[-1].body, dict(one.got[-1].headers))
        assert len(one.got) == 2
        with served(tmp_path, options=options(KEYS[0])) as server:
            new = server.client.post("/v1/destinations/w/rotate-secret", json={}).json()["secret"]
            publish(server, 1)
        for secret in (new, SECRET):
            assert Webhook(secret).verify(one.got[-1].body, dict(one.got[-1].headers))

    assert all(text.startswith("fernet:") for text in stored(tmp_path))
    content = every_byte(tmp_path)
    assert not any(secret.removeprefix("whsec_").encode() in content for secret in (new, SECRET))


def test_keys_are_rotated_when_the_server_starts(tmp_path: Path) -> None:
    with served(tmp_path) as server:  # as an older release, or a server without a key
        hook(server, "http://127.0.0.1:9/", where=None, secret=SECRET)
    assert SECRET in stored(tmp_path)[0]
    seen = []
    for keys in (KEYS[:1], [KEYS[1], KEYS[0]], [KEYS[1]], [KEYS[2], KEYS[1], KEYS[0]], [KEYS[2]]):
        with served(tmp_path, options=options(*keys)) as server:
            (webhook,) = server.service.outlets.known.values()
            assert webhook.secrets == (Secret(SECRET),)
        seen.append(stored(tmp_path)[0])

    assert seen[1] == seen[2] and seen[3] == seen[4] and len(set(seen)) == 3
    assert SECRET.removeprefix("whsec_").encode() not in every_byte(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "are encrypted; give their key"), (("--secrets-key-file", "FILE"), "not among those")],
)
def test_a_server_without_the_key_does_not_start(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    folder, file = tmp_path / "alerts", tmp_path / "key"
    file.write_text(KEYS[1])
    with served(folder, options=options(KEYS[0])) as server:
        hook(server, "http://127.0.0.1:9/", where=None, secret=SECRET)
    before = stored(folder)
    command = [sys.executable, "-m", "tocsin", "serve", str(folder), "--port", "0"]
    command += [str(file) if one == "FILE" else one for one in arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)

    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not any(text in done.stderr for text in (SECRET, *KEYS)) and stored(folder) == before
    with served(folder, options=options(KEYS[0])) as server:
        assert server.client.get("/v1/destinations/w").status_code == 200


def test_a_row_is_bound_to_its_destination(tmp_path: Path) -> None:
    with served(tmp_path, options=options(KEYS[0])) as server:
        for name in ("w", "v"):
            hook(server, "http://127.0.0.1:9/", name, where=None)
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE service_webhooks SET secrets = (SELECT max(secrets) FROM service_webhooks)")
    connection.close()
    with pytest.raises(StoreError, match="are those of"), served(tmp_path, options=options(KEYS[0])):
        pass


def test_keys_come_from_a_file_or_a_variable(tmp_path: Path) -> None:
    file, urlsafe = tmp_path / "keys", KEYS[1].replace("+", "-").replace("/", "_")
    file.write_text(f"# the first one encrypts\n{KEYS[0]}\n\n  {urlsafe}\n")
    closed = Keys(KEYS[1:2]).closed(1, [Secret(SECRET)])
    for keys in (read_keys(file, None, "V"), read_keys(None, f"{KEYS[0]},{KEYS[1]}", "V"), Keys(KEYS[:2])):
        assert keys.opened(1, closed) == [Secret(SECRET)] and not keys.is_current(closed)
        assert keys.is_current(keys.closed(1, [Secret(SECRET)]))
    assert not read_keys(None, None, "V") and not read_keys(None, "", "V")
    with pytest.raises(InvalidInput, match="given twice"):
        read_keys(file, KEYS[0], "V")


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "short", "a" * 43 + "!", base64.b64encode(bytes(31)).decode(), "\xff"]
)
def test_a_wrong_key_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    file = tmp_path / "keys"
    file.write_bytes(text.encode("latin-1"))
    for path in (file, tmp_path / "none", tmp_path):
        with pytest.raises(InvalidInput) as refused:
            read_keys(path, None, "V")
        assert len(text) < 5 or text not in str(refused.value)
    file.write_text("\n".join(KEYS[:1] * 101))
    with pytest.raises(InvalidInput, match="101 keys"):
        read_keys(file, None, "V")


def test_the_process_takes_the_variable(tmp_path: Path) -> None:
    program = """
import os, sys
from tocsin.cli.main import make_parser
from tocsin.service import serving
serving.serve = lambda options, ready: print(bool(options.secret_keys), "TOCSIN_SERVE_SECRETS_KEY" in os.environ)
given = make_parser().parse_args(["serve", sys.argv[1]])
given.run(given)
"""
    for key, shown in ((KEYS[0], "True False\n"), ("", "False False\n")):
        environment = {"TOCSIN_SERVE_SECRETS_KEY": key, "PYTHONPATH": ":".join(sys.path)}
        command = [sys.executable, "-c", program, str(tmp_path / "alerts")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout == shown, done.stderr
