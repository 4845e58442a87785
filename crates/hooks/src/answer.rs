//! One internal decision, whatever the agent's dialect.

use serde_json::{Map, Value};

use crate::Approved;

/// What the agent is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Run it, with these arguments.
    Allow(Approved),
    /// A question was answered: run the tool that asks it, with the answer in its input.
    Answered(Map<String, Value>),
    /// Somebody, or policy, said no.
    Deny(String),
    /// No decision could be had: as good as a no.
    Block(String),
    /// Not decided yet. The agent ends, and asks again when it is resumed (Claude Code without a terminal).
    Defer,
    /// No opinion: the person at the terminal decides. Only for events where the agent asks one.
    Pass(Option<String>),
}

/// What a hook process leaves behind: two streams and an exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// For the agent's parser.
    pub stdout: String,
    /// For people, and for the agents that take their reason from here.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}
