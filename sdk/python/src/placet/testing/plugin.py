"""The pytest plugin that comes with the package: the fixture `placet_gateway`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .gateway import Gateway


@pytest.fixture
def placet_gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """A gateway in memory. Every client made during the test without a transport of its own talks to it."""
    # Imported here: a test run that does not use it pays nothing.
    from .. import base, gating
    from .gateway import URL, Gateway

    gateway = Gateway()
    monkeypatch.setenv("PLACET_URL", URL)
    monkeypatch.setenv("PLACET_TOKEN", gateway.token)
    monkeypatch.setattr(base, "default_transport", lambda kind: getattr(gateway, kind))
    gating.forget_defaults()
    yield gateway
    gating.forget_defaults()
