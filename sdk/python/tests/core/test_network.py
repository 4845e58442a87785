"""Servers behind a CA of their own, and behind proxies."""

from __future__ import annotations

import asyncio
import ssl
from concurrent.futures import ThreadPoolExecutor

import pytest

import placet
from placet import AsyncClient, Call, Client
from support import Reviewer, Server
from support.secure import CA, Connect, Secure

INSIDE = "placet.internal"
"""A name that is resolved by nobody but the proxy."""


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("placet") / "data", settings=(f"server.hosts={INSIDE}",)) as running:
        yield running


@pytest.fixture
def reviewer(inside):
    with Reviewer(inside.url, inside.ann) as ann:
        yield ann


@pytest.fixture
def tls(inside, monkeypatch):
    monkeypatch.setenv("PLACET_TOKEN", inside.agent)
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with Secure(inside.url) as secure:
        yield secure


def held_by(kind, reviewer, url, **options):
    """What comes of a call that a person approves, with this client."""
    call = Call("delete_files", {}, "s1")
    with ThreadPoolExecutor(1) as pool:
        if kind is Client:
            client = Client(url, outage_budget=0.2, **options)
            waiting = pool.submit(client.hold, call)
        else:

            async def hold():
                async with AsyncClient(url, outage_budget=0.2, **options) as client:
                    return await client.hold(call)

            waiting = pool.submit(asyncio.run, hold())
        with reviewer.always():
            held = waiting.result(60)
        if kind is Client:
            client.close()
        return held


both = pytest.mark.parametrize("kind", [Client, AsyncClient])


@both
@pytest.mark.parametrize("how", ["SSL_CERT_FILE", "verify", "a path", "a context"])
def test_a_ca_of_ones_own_is_trusted_by(kind, how, tls, reviewer, monkeypatch):
    options = {"verify": str(CA), "a path": CA, "a context": ssl.create_default_context(cafile=str(CA))}
    if how == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", str(CA))
    given = {"verify": options[how]} if how in options else {}
    assert held_by(kind, reviewer, f"https://localhost:{tls.port}", **given).go


@both
def test_a_ca_that_nobody_named_is_not_trusted(kind, tls, reviewer):
    before = len(reviewer.client.list())
    held = held_by(kind, reviewer, f"https://localhost:{tls.port}")
    assert held.status == "unreachable"
    assert "certificate" in held.reason
    assert len(reviewer.client.list()) == before


def test_certificates_cannot_be_left_unchecked(tmp_path):
    with pytest.raises(placet.ConfigError, match="always checked"):
        Client("https://localhost", "key", verify=False)
    with pytest.raises(placet.ConfigError, match="the file of a CA is expected"):
        Client("https://localhost", "key", verify=tmp_path / "missing.pem").get("req_1")


@both
def test_a_proxy_of_the_environment_is_used_for_calls_and_for_the_stream(kind, tls, reviewer, monkeypatch):
    with Connect(tls.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        assert held_by(kind, reviewer, f"https://{INSIDE}:{tls.port}", verify=CA).go
        # One connection for the calls, one for the stream.
        assert set(proxy.seen) == {f"{INSIDE}:{tls.port}"}
        assert len(proxy.seen) >= 2


@both
def test_no_proxy_is_kept(kind, tls, reviewer, monkeypatch):
    with Connect(tls.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", f"localhost,{INSIDE}")
        assert held_by(kind, reviewer, f"https://{INSIDE}:{tls.port}", verify=CA).status == "unreachable"
        assert proxy.seen == []


@both
def test_nothing_on_this_machine_is_behind_a_proxy(kind, tls, reviewer, monkeypatch):
    with Connect(tls.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        assert held_by(kind, reviewer, f"https://localhost:{tls.port}", verify=CA).go
        assert proxy.seen == []
