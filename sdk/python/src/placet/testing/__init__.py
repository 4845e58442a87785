"""For tests of agents: a gateway in memory that speaks as a Placet server does, and a pytest fixture for it.

def test_my_agent(placet_gateway):
    placet_gateway.always("approve")
    ...
"""

from .gateway import Gateway

__all__ = ["Gateway"]
