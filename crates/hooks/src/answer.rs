//! One decision of the hook, independent of the agent's dialect.

use serde_json::{Map, Value};

use crate::ApprovedCall;

/// What the agent is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Run it, with these arguments.
    Allow(ApprovedCall),
    /// A question was answered: run the tool that asks it, with the answer in its input.
    Answered(Map<String, Value>),
    /// A person or policy denied it.
    Deny(String),
    /// There was no decision. It must not run.
    Block(String),
    /// No decision yet. The agent ends, and asks again when it is resumed (Claude Code without a terminal).
    Defer,
    /// No opinion: the person at the terminal decides. Only for events where the agent asks one.
    Pass(Option<String>),
}

/// The result of a hook process: two streams and an exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// For the agent's parser.
    pub stdout: String,
    /// For people, and for the agents that take their reason from here.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}
