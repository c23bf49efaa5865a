"""Webhooks reach no address that they must not: whatever the URL says, and wherever its name leads."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import certifi
import pytest

from tests.service.receivers import receiver
from tocsin.service.deliver import certificates
from tocsin.service.deliver.addresses import refusal
from tocsin.service.deliver.resolver import Resolver, Unreachable
from tocsin.service.deliver.webhook.endpoint import Endpoint
from tocsin.service.deliver.webhook.urls import checked_url, parsed_url
from tocsin.service.problems import Problem

CERTIFICATE = Path(__file__).parent / "data" / "hook.example.pem"

PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1"]
PRIVATE = ["127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
           "198.18.0.1", "::1", "fc00::1", "fdff::1"]  # fmt: skip
NEVER = [
    "0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "fe80::a9fe:a9fe", "224.0.0.1", "239.1.1.1",
    "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "192.0.0.8",
    "::", "ff02::1", "2001:db8::1", "2001::1", "3fff::1", "fec0::1", "4000::1", "100::1", "64:ff9b:1::1",
    "::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "::ffff:0:169.254.169.254", "2606:4700::5efe:a9fe:a9fe", "::ffff:0.0.0.0", "nonsense", "",
]  # fmt: skip
INSIDE = ["::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "64:ff9b::a00:1",
          "::ffff:0:10.0.0.1", "2606:4700::5efe:a00:1", "::ffff:192.168.0.1"]  # fmt: skip


def test_public_addresses_are_reached() -> None:
    assert [refusal(one, allow_private=False) for one in PUBLIC] == [""] * len(PUBLIC)


def test_private_ones_only_by_permission() -> None:
    assert all(refusal(one, allow_private=False) for one in [*PRIVATE, *INSIDE])
    assert [refusal(one, allow_private=True) for one in PRIVATE] == [""] * len(PRIVATE)


@pytest.mark.parametrize("allow_private", [False, True])
def test_metadata_and_reserved_ones_never(allow_private: bool) -> None:
    assert [one for one in NEVER if not refusal(one, allow_private=allow_private)] == []


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "ftp://example.org", "file:///etc/passwd", "https:///x", "https://", "http:example.org",
        "https://user@example.org", "https://user:secret@example.org", "https://example.org@127.0.0.1/",
        "https://example.org#part", "https://example.org:0", "https://example.org:65536", "https://example.org:080",
        "https://example.org:", "https://example.org:22", "https://example.org:+443", "https://exa mple.org",
        "https://example.org\\@127.0.0.1", "https://example.org\n", "https://example.org/\x00", "https://example.org/ö",
        "https://ｅxample.org", "https://１27.0.0.1", "https://example..org", "https://example.org.", "https://-a.org",
        "https://a-.org", f"https://{'a' * 64}.org", f"https://{'a.' * 130}org", f"https://example.org/{'a' * 2048}",
        "http://0x7f.1", "http://2130706433", "http://0x7f000001", "http://127.1", "http://0177.0.0.1",
        "http://127.0.0.01", "http://127.0.0.1.", "http://1.1.1.256", "http://1.2.3.4.5", "http://example.0x1",
        "http://0", "http://0x", "http://%31%32%37.0.0.1", "http://[::1", "http://[::1]x", "http://[1.2.3.4]",
        "http://[fe80::1%25eth0]", "http://[::g]", "http://a[::1]", "https://example.org/%zz", "https://example.org/<a>",
        "http://127.0.0.1", "http://[::1]:8080", "http://[::ffff:7f00:1]", "http://169.254.169.254/latest",
        "http://[64:ff9b::7f00:1]", "http://0.0.0.0", None, 7, ["https://example.org"],
    ],
)  # fmt: skip
def test_urls_that_are_refused(url: Any) -> None:
    with pytest.raises(Problem) as raised:
        checked_url(url, allow_private=False)
    assert raised.value.status == 422 and raised.value.more["field"] == "url"


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("HTTPS://Example.ORG", "https://example.org/"),
        ("http://example.org:80/a%20b?c=d&e=[]".replace("[]", ""), "http://example.org/a%20b?c=d&e="),
        ("https://xn--bcher-kva.example:8443?x", "https://xn--bcher-kva.example:8443/?x"),
        ("https://1.1.1.1/", "https://1.1.1.1/"),
        ("https://[2606:4700:0::1111]:9000/", "https://[2606:4700::1111]:9000/"),
        ("https://my_host.example/", "https://my_host.example/"),
    ],
)
def test_urls_that_are_taken(url: str, stored: str) -> None:
    assert checked_url(url, allow_private=False) == stored
    assert str(parsed_url(stored)) == stored


def test_metadata_is_refused_by_address_even_for_admins() -> None:
    for host in ("169.254.169.254", "[fd00:ec2::254]", "[::ffff:a9fe:a9fe]", "100.100.100.200"):
        with pytest.raises(Problem):
            checked_url(f"http://{host}/", allow_private=True)


def found(*addresses: str) -> list[Any]:
    """What a look-up gives."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]


def posted(endpoint: Endpoint) -> int:
    async def post() -> int:
        try:
            return (await endpoint.post({}, b"{}")).status
        finally:
            await endpoint.close()

    return asyncio.run(post())


def test_all_addresses_of_a_name_are_checked() -> None:
    resolver = Resolver(lambda host, port, **more: found("93.184.216.34", "10.0.0.1"))
    with pytest.raises(Unreachable, match=r"leads to 10\.0\.0\.1, which is private"):
        posted(Endpoint("http://two.example/", resolver))


def test_a_name_that_leads_to_metadata_is_never_reached() -> None:
    resolver = Resolver(lambda host, port, **more: found("169.254.169.254"))
    with pytest.raises(Unreachable, match="serves metadata"):
        posted(Endpoint("http://meta.example/", resolver, allow_private=True))


def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    """A name that leads elsewhere a moment later is not asked a second time."""
    with receiver() as one:
        answers = [found("127.0.0.1"), found("169.254.169.254")]
        asked = []

        def lookup(host: str, port: int, **more: Any) -> list[Any]:
            asked.append(host)
            return answers[len(asked) - 1]

        endpoint = Endpoint(f"http://twice.example:{one.port}/x", Resolver(lookup), allow_private=True)

        async def twice() -> int:
            first = (await endpoint.post({}, b"{}")).status
            with pytest.raises(Unreachable, match="metadata"):  # though a connection to the first one is open
                await endpoint.post({}, b"{}")
            await endpoint.close()
            return first

        assert asyncio.run(twice()) == 204 and asked == ["twice.example"] * 2
        assert [each.headers["host"] for each in one.got] == [f"twice.example:{one.port}"]


def test_another_address_is_tried_if_one_does_not_answer() -> None:
    with receiver() as one:
        resolver = Resolver(lambda host, port, **more: found("127.9.9.9", "127.0.0.1"))
        assert posted(Endpoint(f"http://two.example:{one.port}/", resolver, allow_private=True)) == 204


def test_certificates_are_those_of_the_name() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    names: list[str | None] = []
    context.sni_callback = lambda connection, name, _: names.append(name)
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    resolver = Resolver(lambda host, port, **more: found("127.0.0.1"))
    with receiver(context=context) as one:

        def at(host: str) -> Endpoint:
            return Endpoint(f"https://{host}:{one.port}/", resolver, allow_private=True, context=trusting)

        assert posted(at("hook.example")) == 204
        with pytest.raises(Unreachable, match="certificate"):
            posted(at("other.example"))
        with pytest.raises(Unreachable, match="certificate"):  # nobody vouches for it
            posted(Endpoint(f"https://hook.example:{one.port}/", resolver, allow_private=True))

    assert names[:2] == ["hook.example", "other.example"] and len(one.got) == 1


def test_changed_certificates_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before stay in use while the file cannot be read, and no failure is remembered."""
    file = tmp_path / "trusted.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    certificates._trusted.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    resolver = Resolver(lambda host, port, **more: found("127.0.0.1"))
    with receiver(context=context) as one:

        def answer() -> int | str:
            try:
                return posted(Endpoint(f"https://hook.example:{one.port}/", resolver, allow_private=True))
            except Unreachable as error:
                return "certificate" if "certificate" in str(error) else "no file"

        answers = [answer()]
        for source in (Path(certifi.where()), CERTIFICATE):
            file.write_bytes(source.read_bytes())
            answers.append(answer())
        file.write_bytes(b"damaged")
        answers.append(answer())
        file.unlink()
        answers.append(answer())

    certificates._trusted.cache_clear()
    assert answers == ["no file", "certificate", 204, 204, 204]


def test_a_name_without_address_is_told() -> None:
    def lookup(host: str, port: int, **more: Any) -> list[Any]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(Unreachable, match="has no address"):
        posted(Endpoint("http://none.example/", Resolver(lookup)))
