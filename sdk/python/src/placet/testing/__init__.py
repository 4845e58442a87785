"""For tests of agents: a gateway in memory that speaks as a Placet server does."""
