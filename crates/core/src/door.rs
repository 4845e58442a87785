//! Doors: the ways in. This file declares what each door does. Other files ask it, and never compare names.
//!
//! A door's name is stored with each of its requests, as `source`. An unknown name is the strictest door: its callers
//! need keys, no agent is called back, and what it says about files does not count.

use serde::{Deserialize, Serialize};

use crate::Request;

/// Plain calls. Most requests come this way, so the name is left out on the wire.
pub const REST: &str = "rest";
/// The hook program of coding agents.
pub const HOOK_PROGRAM: &str = "hook-program";
/// Hooks that send their calls over HTTP themselves.
pub const HOOK: &str = "hook";
/// The approval gateway of the ADK community.
pub const COMMUNITY: &str = "community";
/// Events of agents that are observed.
pub const EVENTS: &str = "events";
/// The approval desk, which other agents call over A2A.
pub const DESK: &str = "a2a";
/// The prefix of names of agents behind the A2A proxy.
const BEHIND: &str = "a2a/";
/// The channel that posts news of A2A tasks, and the kind of the notes that ask for it.
pub const PUSH: &str = "a2a.push";

/// The name of the door of an agent behind the A2A proxy.
pub fn behind(namespace: &str, agent: &str) -> String {
    format!("{BEHIND}{namespace}/{agent}")
}

/// What a task of the desk is called among the tasks of all A2A agents.
pub fn desk_task(task: &str) -> String {
    format!("placet/desk/{task}")
}

/// A door, and what it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Door<'n> {
    name: &'n str,
    way: DoorKind<'n>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DoorKind<'n> {
    Rest,
    HookProgram,
    Hook,
    Community,
    Events,
    Desk,
    /// The agent, as `namespace/agent`.
    Behind(&'n str),
    Unknown,
}

/// How the answer reaches an agent that cannot ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerBack {
    /// Once, after the decision, to the address that the request names.
    Callback,
    /// At every end of a request. The agent has paused, and resumes when all its requests are decided.
    Resume,
}

impl AnswerBack {
    /// The name of the channel.
    pub fn channel(self) -> &'static str {
        match self {
            Self::Callback => "callback",
            Self::Resume => "a2a",
        }
    }
}

impl<'n> Door<'n> {
    /// The door of this name.
    pub fn named(name: &'n str) -> Self {
        let way = match name {
            REST => DoorKind::Rest,
            HOOK_PROGRAM => DoorKind::HookProgram,
            HOOK => DoorKind::Hook,
            COMMUNITY => DoorKind::Community,
            EVENTS => DoorKind::Events,
            DESK => DoorKind::Desk,
            _ => name.strip_prefix(BEHIND).map_or(DoorKind::Unknown, DoorKind::Behind),
        };
        Self { name, way }
    }

    /// The name, where it is written on the wire.
    pub fn written(self) -> Option<&'n str> {
        (!self.is_plain()).then_some(self.name)
    }

    /// Whether calls are plain: the door adds nothing to the answer.
    pub fn is_plain(self) -> bool {
        self.way == DoorKind::Rest
    }

    /// The other door that rules on this door also mean: the hook program makes plain calls like other clients.
    pub fn part_of(self) -> Option<&'static str> {
        (self.way == DoorKind::HookProgram).then_some(REST)
    }

    /// Whether its clients have no keys. A development server may decide such requests without one.
    pub fn is_keyless(self) -> bool {
        matches!(self.way, DoorKind::Community | DoorKind::Events)
    }

    /// Whether it resolves links, so that its calls can be known to happen in a workspace. Such a door also asks
    /// about folders, and can confine calls.
    pub fn resolves_paths(self) -> bool {
        self.way == DoorKind::HookProgram
    }

    /// Whether a group is one turn of a coding agent. Then only requests that waited at the same time belong
    /// together, and each is approved alone.
    pub fn groups_turns(self) -> bool {
        matches!(self.way, DoorKind::HookProgram | DoorKind::Hook)
    }

    /// How the answer goes back.
    pub fn answers_back(self) -> Option<AnswerBack> {
        match self.way {
            DoorKind::Events => Some(AnswerBack::Callback),
            DoorKind::Behind(_) => Some(AnswerBack::Resume),
            DoorKind::Rest
            | DoorKind::HookProgram
            | DoorKind::Hook
            | DoorKind::Community
            | DoorKind::Desk
            | DoorKind::Unknown => None,
        }
    }

    /// The agent behind the proxy, as `namespace/agent`. Placet itself wrote the context of its requests, which
    /// belong to a pause.
    pub fn agent_behind(self) -> Option<&'n str> {
        match self.way {
            DoorKind::Behind(agent) => Some(agent),
            _ => None,
        }
    }

    /// What people see of the door, if there is anything to say.
    pub fn origin(self) -> Option<Origin> {
        let nothing =
            Origin { agent: None, desk: false, turn: self.groups_turns(), paths: self.resolves_paths() };
        match self.way {
            DoorKind::Behind(agent) => Some(Origin { agent: Some(agent.to_owned()), ..nothing }),
            DoorKind::Desk => Some(Origin { desk: true, ..nothing }),
            DoorKind::HookProgram | DoorKind::Hook => Some(nothing),
            DoorKind::Rest | DoorKind::Community | DoorKind::Events | DoorKind::Unknown => None,
        }
    }
}

/// What a page shows of the door. The server sets it, so it is true even where the context is only stated by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Origin {
    /// The agent behind the A2A proxy, as `namespace/agent`. Placet wrote the context, and brings this agent the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// It came in at the approval desk, over A2A.
    #[serde(default)]
    pub desk: bool,
    /// Its group is one turn of a coding agent.
    #[serde(default)]
    pub turn: bool,
    /// It resolves paths, so its commands can be remembered by their form.
    #[serde(default)]
    pub paths: bool,
}

impl Request {
    /// The door it came in by.
    pub fn door(&self) -> Door<'_> {
        Door::named(&self.source)
    }

    /// Who else is to hear of its changes: a channel, and what its followers follow. A task of the desk is a group of requests.
    pub fn followed(&self) -> Option<(&'static str, String)> {
        let task = self.group.as_ref().filter(|_| self.door().way == DoorKind::Desk)?;
        Some((PUSH, desk_task(task)))
    }

    /// Whether it came in by the door of this name: what a door asks about its own requests.
    pub fn came_by(&self, door: &str) -> bool {
        self.source == door
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_that_nobody_declared_is_the_strictest() {
        for name in ["mcp", "", "a2a-", "A2A", "hook-program2", "Rest", "events/x"] {
            let door = Door::named(name);
            assert_eq!(door.written(), Some(name));
            assert!(!door.is_plain() && !door.is_keyless() && !door.resolves_paths() && !door.groups_turns());
            assert_eq!(
                (door.answers_back(), door.agent_behind(), door.origin()),
                (None, None, None),
                "{name}"
            );
        }
    }

    #[test]
    fn each_door_declares_what_it_is() {
        let keyless = |name| Door::named(name).is_keyless();
        assert_eq!(
            [REST, HOOK, HOOK_PROGRAM, DESK, COMMUNITY, EVENTS].map(keyless),
            [false, false, false, false, true, true]
        );
        let resolves = |name| Door::named(name).resolves_paths();
        assert_eq!(
            [REST, HOOK, HOOK_PROGRAM, DESK, COMMUNITY, EVENTS].map(resolves),
            [false, false, true, false, false, false]
        );
        assert_eq!(Door::named(REST).written(), None);
        assert_eq!(Door::named(EVENTS).answers_back().map(AnswerBack::channel), Some("callback"));
        let name = behind("demo", "ops");
        let door = Door::named(&name);
        assert_eq!((door.written(), door.agent_behind()), (Some("a2a/demo/ops"), Some("demo/ops")));
        assert_eq!(door.answers_back().map(AnswerBack::channel), Some("a2a"));
        assert_eq!(
            door.origin(),
            Some(Origin { agent: Some("demo/ops".into()), desk: false, turn: false, paths: false })
        );
        assert!(Door::named(HOOK).origin().unwrap().turn && Door::named(HOOK_PROGRAM).origin().unwrap().turn);
        assert!(Door::named(DESK).origin().unwrap().desk);
    }
}
