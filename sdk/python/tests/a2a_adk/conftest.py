"""An agent of google-adk, a server in front of it, and clients of three kinds."""

import pytest

from a2a_adk.sdk import Sdk
from support.governed import *  # noqa: F403 (fixtures are found by their names)
from support.governed import Framework
from support.peers import Bare

BOTH = 'versions = ["1.0", "0.3"]'
"""`to_a2a` speaks 0.3 as well, and does not say so in its card."""


@pytest.fixture(scope="session")
def framework():
    clients = {
        "sdk": Sdk,
        "sdk-http": lambda url, key: Sdk(url, key, "HTTP+JSON"),
        "wire-1.0": lambda url, key: Bare(url, key, "1.0"),
        "wire-0.3": lambda url, key: Bare(url, key, "0.3"),
    }
    return Framework("a2a_adk.upstream", clients, BOTH)
