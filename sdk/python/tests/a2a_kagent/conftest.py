"""An agent of kagent 0.10.4, a server in front of it, and clients of A2A 0.3."""

import pytest

from a2a_kagent.sdk import Sdk
from support.governed import *  # noqa: F403 (fixtures are found by their names)
from support.governed import Framework
from support.peers import Bare


@pytest.fixture(scope="session")
def framework():
    return Framework("a2a_kagent.upstream", {"sdk": Sdk, "wire-0.3": lambda url, key: Bare(url, key, "0.3")})
