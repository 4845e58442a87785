//! What comes in and what goes out, agent by agent.
