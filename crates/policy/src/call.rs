//! What policy looks at: the call itself, and beside it, apart, what the agent merely claims about it.

use placet_core::{Body, Covered, Kind, Risk, Step, Time};
use serde_json::{Map, Value};

use crate::Place;

/// One request, as policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// What is asked for.
    pub kind: Kind,
    /// The tool of an action.
    pub tool: Option<&'a str>,
    /// The arguments of an action.
    pub arguments: Option<&'a Map<String, Value>>,
    /// The steps of a plan.
    pub steps: &'a [Step],
    /// The authenticated agent.
    pub agent: &'a str,
    /// The door it came in by, such as `rest`.
    pub source: &'a str,
    /// When it came in.
    pub time: Time,
    /// What the agent says about it: may make the outcome stricter, never looser.
    pub claims: Claims<'a>,
    /// Where it happens, if the hook program found out and a person opened folders to the agent.
    pub place: Option<Place<'a>>,
    /// What the agent's own reports come to. Nothing here is proven either.
    pub covered: Covered,
}

/// What an agent claims beyond tool and arguments. Nothing here is proven.
#[derive(Debug, Clone, Copy)]
pub struct Claims<'a> {
    /// The agent's session.
    pub session: &'a str,
    /// Where the call comes from; `lineage` is an array of strings.
    pub context: &'a Map<String, Value>,
    /// What the agent thinks of the risk.
    pub risk: Option<Risk>,
    /// The person behind the agent.
    pub on_behalf_of: Option<&'a str>,
    /// The pause it belongs to.
    pub group: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// A request's own fields, with who sent it, through which door, when, and with which claims.
    pub fn new(body: &'a Body, agent: &'a str, source: &'a str, time: Time, claims: Claims<'a>) -> Self {
        let steps: &[Step] = match body {
            Body::Plan(plan) => &plan.steps,
            _ => &[],
        };
        Self {
            kind: body.kind(),
            tool: body.tool(),
            arguments: body.arguments(),
            steps,
            agent,
            source,
            time,
            claims,
            place: None,
            covered: Covered::Unknown,
        }
    }

    /// The same call, of an agent whose reports come to this.
    #[must_use]
    pub fn covered(self, covered: Covered) -> Self {
        Self { covered, ..self }
    }

    /// The same call, with where it happens.
    #[must_use]
    pub fn at(self, place: Option<Place<'a>>) -> Self {
        Self { place, ..self }
    }
}

/// The server part of a tool's name: `mcp__SERVER__TOOL`, else what stands before the first `/` or `:`.
pub(crate) fn server_of(tool: &str) -> Option<&str> {
    if let Some(rest) = tool.strip_prefix("mcp__") {
        return rest.split_once("__").map(|(server, _)| server).filter(|server| !server.is_empty());
    }
    tool.split_once(['/', ':']).map(|(server, _)| server).filter(|server| !server.is_empty())
}

/// Whether a name is one a tool may have; anything else is a tool nobody knows.
pub(crate) fn tool_shaped(tool: &str) -> bool {
    (1..=200).contains(&tool.len())
        && tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_from_the_three_ways_tools_are_named() {
        assert_eq!(server_of("mcp__github__create_issue"), Some("github"));
        assert_eq!(server_of("github/create_issue"), Some("github"));
        assert_eq!(server_of("github:create/issue"), Some("github"));
        assert_eq!(server_of("Bash"), None);
        assert_eq!(server_of("/x"), None);
        assert_eq!(server_of("mcp__github"), None);
        assert_eq!(server_of("mcp____x"), None);
    }

    #[test]
    fn a_name_with_anything_unusual_in_it_is_no_tool() {
        assert!(tool_shaped("mcp__a__b.c/d:e-f"));
        for bad in ["", "a b", "a%2fb", "ｒead", "reаd", "a\u{200b}", "a\n", &"x".repeat(201)] {
            assert!(!tool_shaped(bad), "{bad}");
        }
    }
}
