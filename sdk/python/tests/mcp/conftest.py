"""A reviewer for tests that start a process each."""

from __future__ import annotations

import pytest

from support import Reviewer


class Patient(Reviewer):
    """Waits longer: an MCP server takes its time to start on a busy machine."""

    def next(self, tool=None, within=120.0, **query):
        return super().next(tool, within, **query)

    def wait_for(self, count, within=120.0, **query):
        return super().wait_for(count, within, **query)


@pytest.fixture
def reviewer(server):
    with Patient(server.url, server.ann) as ann:
        yield ann
